/// Names a native wherever it goes: who sent it into the mesh, and its number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PacketId {
    /// Who sent it first.
    pub source: u16,
    /// Its number there.
    pub number: u32,
}
