//! The options: section, name, and the type that the TOML file needs. A test compares them with the reference
//! of configuration.

use super::{absolute, quoted};

/// The type of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    One(Type),
    List(Type),
}

/// The type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    Text,
    /// A file, relative to the folder of keys.
    File,
    Flag,
    Number,
    Fraction,
}

/// The table of an option of section `tunnel`, or the section's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// At the top of the file.
    Top,
    /// `[node]`
    Node,
    /// `[tunnel]`
    Tunnel,
    /// The table of the section's name.
    Table,
}

/// An option.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    pub section: &'static str,
    pub name: &'static str,
    pub place: Place,
    pub kind: Kind,
}

impl Key {
    /// The key of the TOML file, as the reference writes it: `"[table] key"`.
    #[must_use]
    pub fn written(&self) -> String {
        let Key { section, name, .. } = *self;
        match self.place {
            Place::Top => format!(" {name}"),
            Place::Node => format!("[node] {name}"),
            Place::Tunnel => format!("[tunnel] {name}"),
            Place::Table if repeats(section) => format!("[[{section}]] {name}"),
            Place::Table => format!("[{section}] {name}"),
        }
    }
}

impl Type {
    /// The TOML form of a value, or what is wrong with it.
    pub fn value(self, text: &str) -> Result<String, String> {
        match self {
            Type::Text => Ok(quoted(text)),
            Type::File => Ok(quoted(&absolute(text))),
            Type::Flag => match text {
                "1" | "on" | "true" | "yes" | "enabled" => Ok("true".to_owned()),
                "0" | "off" | "false" | "no" | "disabled" => Ok("false".to_owned()),
                _ => Err(format!("{text:?} is neither on nor off; write '1' or '0'")),
            },
            Type::Number => {
                let number = match text.strip_prefix("0x") {
                    Some(digits) => i64::from_str_radix(digits, 16),
                    None => text.parse(),
                };
                number
                    .map(|it| it.to_string())
                    .map_err(|_| format!("{text:?} is no whole number; write digits"))
            }
            Type::Fraction => {
                let number = text.parse::<f64>().ok().filter(|it| it.is_finite());
                number
                    .map(|it| format!("{it:?}"))
                    .ok_or_else(|| format!("{text:?} is no number; write digits"))
            }
        }
    }
}

const fn key(section: &'static str, name: &'static str, place: Place, kind: Kind) -> Key {
    Key { section, name, place, kind }
}

const fn node(name: &'static str, of: Type) -> Key {
    key("tunnel", name, Place::Node, Kind::One(of))
}

const fn tunnel(name: &'static str, of: Type) -> Key {
    key("tunnel", name, Place::Tunnel, Kind::One(of))
}

const fn one(section: &'static str, name: &'static str, of: Type) -> Key {
    key(section, name, Place::Table, Kind::One(of))
}

const fn list(section: &'static str, name: &'static str, of: Type) -> Key {
    key(section, name, Place::Table, Kind::List(of))
}

use Type::{File, Flag, Fraction, Number, Text};

/// All options, except `[tunnel] interface`: that is the name of the section.
pub const KEYS: &[Key] = &[
    key("tunnel", "sandbox", Place::Top, Kind::One(Flag)),
    node("role", Text),
    node("private_key_file", File),
    node("network_key_file", File),
    node("previous_network_key_file", File),
    node("revoked_file", File),
    node("listen", Text),
    node("source_ports", Number),
    node("threads", Number),
    node("status_socket", File),
    key("tunnel", "addresses", Place::Tunnel, Kind::List(Text)),
    tunnel("mtu", Number),
    tunnel("routes", Flag),
    tunnel("when_down", Text),
    tunnel("copy_dscp", Flag),
    tunnel("mss_clamp", Flag),
    tunnel("boost", Flag),
    tunnel("boost_control", Text),
    one("peer", "name", Text),
    one("peer", "public_key", Text),
    one("peer", "endpoint", Text),
    list("peer", "allowed_ips", Text),
    one("peer", "preshared_key_file", File),
    one("peer", "relays", Flag),
    one("peer", "keepalive_seconds", Number),
    one("peer", "rate", Text),
    one("gateway", "name", Text),
    one("gateway", "public_key", Text),
    one("gateway", "endpoint", Text),
    one("gateway", "preshared_key_file", File),
    list("gateway", "allowed_ips", Text),
    one("gateway", "keepalive_seconds", Number),
    one("routing", "source", Text),
    one("routing", "file", File),
    one("routing", "socket", Text),
    one("routing", "refresh_seconds", Number),
    one("destination", "address", Text),
    list("destination", "allowed_ips", Text),
    one("link", "kind", Text),
    one("link", "fec", Text),
    one("link", "control", Text),
    one("link", "rate", Text),
    one("reduce", "policy", Text),
    one("reduce", "k", Number),
    one("reduce", "form", Text),
    one("reduce", "sharing", Text),
    one("reduce", "window_bytes", Number),
    one("reduce", "sample_bits", Number),
    one("reduce", "store_mib", Number),
    one("reduce", "spare_processor", Flag),
    one("memory", "mib", Number),
    one("shorten", "headers", Flag),
    one("shorten", "literals", Flag),
    one("shorten", "packing", Flag),
    one("snoop", "buffer_packets", Number),
    one("snoop", "replacement", Text),
    one("snoop", "degree", Number),
    one("snoop", "distance", Number),
    one("snoop", "adaptive", Flag),
    one("snoop", "reed_solomon", Flag),
    one("streams", "answer_early", Flag),
    one("streams", "memory_mib", Number),
    one("streams", "connections", Number),
    list("split", "ports", Number),
    one("split", "connections", Number),
    one("split", "idle_seconds", Number),
    one("split", "port", Number),
    one("split", "mark", Number),
    one("split", "table", Number),
    one("split", "rules", Flag),
    one("overhear", "interface", Text),
    one("overhear", "slot_bits", Number),
    one("overhear", "rate_mbps", Fraction),
    one("overhear", "network_coding", Flag),
    one("dashboard", "listen", Text),
    one("dashboard", "token_file", File),
];

/// The option of a section.
pub fn find(section: &str, name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.section == section && key.name == name)
}

/// The options of a section.
pub fn of_section(section: &str) -> impl Iterator<Item = &'static str> {
    KEYS.iter().filter(move |key| key.section == section).map(|key| key.name)
}

/// All sections.
pub fn tables() -> Vec<&'static str> {
    let mut all: Vec<&str> = KEYS.iter().map(|key| key.section).collect();
    all.dedup();
    all
}

/// Whether the section is a table of the TOML file.
pub fn is_table(section: &str) -> bool {
    section != "tunnel" && KEYS.iter().any(|key| key.section == section)
}

/// Whether a tunnel may have several sections of this kind.
pub fn repeats(section: &str) -> bool {
    ["peer", "gateway", "destination"].contains(&section)
}
