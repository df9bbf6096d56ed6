/// Name of a native in the whole mesh: its first sender, and its number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PacketId {
    /// The first sender.
    pub source: u16,
    /// Its number at the source.
    pub number: u32,
}
