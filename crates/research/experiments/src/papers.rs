//! The papers' values: the only source of them in the code, read from `papers/*.toml` (see its README).
//!
//! Code names a value by paper and id, `papers::BYTE_CACHING.value("table-2/tcp-seq/bytes/loss-5")`, and gets
//! a [`Stated`], which nothing else makes. Remarks print values by [`told`]. Tests look up every id that the
//! sources name.

mod paper;
#[cfg(test)]
mod settings;
#[cfg(test)]
mod sources;
mod stated;
mod telling;
mod value;

pub use paper::{Paper, Unusable};
pub use stated::Stated;
pub use telling::told;
pub use value::{Content, Read, Value};

/// Byte Caching in Wireless Networks.
pub static BYTE_CACHING: Paper = Paper::new("byte-caching", include_str!("../papers/byte-caching.toml"));
/// Transparent cooperative caching in mesh networks.
pub static MESHCACHE: Paper = Paper::new("meshcache", include_str!("../papers/meshcache.toml"));
/// TCP that knows of redundancy elimination.
pub static REBOOST: Paper = Paper::new("reboost", include_str!("../papers/reboost.toml"));
/// Content overhearing.
pub static REFACTOR: Paper = Paper::new("refactor", include_str!("../papers/refactor.toml"));
/// XOR-based buffer coding.
pub static XBC: Paper = Paper::new("xbc", include_str!("../papers/xbc.toml"));

/// All of them.
pub static ALL: [&Paper; 5] = [&BYTE_CACHING, &MESHCACHE, &REBOOST, &REFACTOR, &XBC];

/// The paper of this name, as its file has it.
#[must_use]
pub fn named(name: &str) -> Option<&'static Paper> {
    ALL.into_iter().find(|paper| paper.name() == name)
}
