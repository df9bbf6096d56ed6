//! What must hold of every parser on any bytes.
//!
//! Each module is one *target*. `check` takes arbitrary bytes and asserts their invariants: not only that
//! nothing panics, but also that parsed input is emitted equally, bounds hold, and refused input changes
//! nothing. It returns whether the bytes were accepted. `seeds` are well-formed inputs from the crates' own
//! emitters, as starting points of a search.
//!
//! The targets have three uses. This crate's tests replay the stored seeds and many mutations of them in
//! seconds; `make check` continues with others for a minute. `cargo fuzz` searches by coverage without a time
//! limit; its programs in `fuzz/fuzz_targets` are one line each. The example `executions` needs no nightly
//! Rust: it mutates ([`search`]) in pieces and counts. Faults found are in `fuzz/regressions` and are
//! replayed as well.

#![forbid(unsafe_code)]

pub mod babeld_dump;
pub mod cache_fields;
pub mod cache_heads;
pub mod cache_index;
pub mod cache_message;
pub mod capacity_trace;
pub mod capture_file;
pub mod chunk_reply;
pub mod chunk_request;
pub mod coded;
pub mod compact_shim;
pub mod cope_frames;
pub mod datagrams;
pub mod exor_frames;
pub mod frames;
pub mod gateway_frames;
pub mod handshakes;
pub mod hashed_shim;
pub mod headers;
pub mod hello;
pub mod icp;
pub mod inner;
pub mod insider;
pub mod link_config;
pub mod literals;
pub mod medium_config;
pub mod mutation;
pub mod named_chunks;
pub mod natives;
pub mod neighbours;
pub mod notice;
pub mod olsrv2_routes;
pub mod overheard_frames;
pub mod overhearing;
mod pair;
pub mod paper_shim;
pub mod peer_frames;
pub mod receipt;
pub mod recorded_paths;
pub mod reduction;
pub mod repair;
pub mod request;
pub mod restore;
mod road;
pub mod search;
pub mod slots_shim;
pub mod snoop;
pub mod stream_frames;
pub mod stream_records;
pub mod super_segments;
pub mod too_large;
pub mod unit;
pub mod unit_contents;
pub mod varint;

/// A well-formed input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seed {
    /// Its name, which is that of its file.
    pub name: &'static str,
    /// The input.
    pub bytes: Vec<u8>,
}

impl Seed {
    /// A seed that `write` appends to an empty buffer.
    fn of(name: &'static str, write: impl FnOnce(&mut Vec<u8>)) -> Self {
        let mut bytes = Vec::new();
        write(&mut bytes);
        Seed { name, bytes }
    }
}

/// One parser under attack.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Its name: of its module, of its fuzzing program and of its folder of seeds.
    pub name: &'static str,
    /// Asserts the invariants for any bytes; returns whether they were accepted.
    pub check: fn(&[u8]) -> bool,
    /// Well-formed inputs.
    pub seeds: fn() -> Vec<Seed>,
    /// Number of mutations in the tests: about a second's worth.
    pub mutations: usize,
}

/// Targets that drive whole nodes, or a group of codecs with the air between them.
const WHOLE_NODES: [&str; 7] =
    ["datagrams", "gateway_frames", "handshakes", "insider", "overhearing", "peer_frames", "too_large"];

impl Target {
    /// Number of inputs to try before a release.
    #[must_use]
    pub fn goal(&self) -> u64 {
        if WHOLE_NODES.contains(&self.name) { 1_000_000 } else { 10_000_000 }
    }
}

/// The targets, each with how many mutations take the tests about a second.
macro_rules! targets {
    ($($name:ident: $mutations:literal,)*) => {
        /// All targets.
        pub const TARGETS: &[Target] = &[$(Target {
            name: stringify!($name),
            check: $name::check,
            seeds: $name::seeds,
            mutations: $mutations,
        },)*];
    };
}

targets! {
    babeld_dump: 20_000,
    cache_fields: 50_000,
    cache_heads: 100_000,
    cache_index: 50_000,
    cache_message: 10_000,
    capacity_trace: 200_000,
    capture_file: 2_000,
    chunk_reply: 100_000,
    chunk_request: 200_000,
    coded: 20_000,
    compact_shim: 200_000,
    cope_frames: 50_000,
    datagrams: 300,
    exor_frames: 100_000,
    frames: 200_000,
    gateway_frames: 300,
    handshakes: 200,
    hashed_shim: 200_000,
    headers: 100_000,
    hello: 200_000,
    icp: 200_000,
    inner: 200_000,
    insider: 200,
    link_config: 20_000,
    literals: 20_000,
    medium_config: 1_000,
    named_chunks: 100_000,
    natives: 100_000,
    neighbours: 1_000,
    notice: 200_000,
    olsrv2_routes: 20_000,
    overheard_frames: 100_000,
    overhearing: 300,
    paper_shim: 200_000,
    peer_frames: 300,
    receipt: 150_000,
    recorded_paths: 150_000,
    reduction: 4_000,
    repair: 20_000,
    request: 200_000,
    restore: 20_000,
    slots_shim: 200_000,
    snoop: 3_000,
    stream_frames: 20_000,
    stream_records: 20_000,
    super_segments: 50_000,
    too_large: 300,
    unit: 200_000,
    unit_contents: 20_000,
    varint: 200_000,
}
