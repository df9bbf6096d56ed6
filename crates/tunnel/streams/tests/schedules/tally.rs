//! Counts over schedules.

use std::fmt;

#[derive(Debug, Default, Clone, Copy)]
pub struct Tally {
    pub schedules: u64,
    pub conversations: u64,
    /// Streams that the engines opened.
    pub streams: u64,
    /// Connections that ended in order at both hosts.
    pub clean: u64,
    pub resets: u64,
    /// Connections of which a packet crossed the hop as it is.
    pub passed: u64,
    /// Bytes that hosts read, all of them right.
    pub bytes: u64,
    /// Bytes of hosts that left, and the bytes as which they did.
    pub taken_bytes: u64,
    pub sent_bytes: u64,
    pub resent_bytes: u64,
    pub most_memory_bytes: u64,
    /// The most streams that were seen open at once, at one end.
    pub most_open: u64,
}

impl Tally {
    pub fn add(&mut self, other: &Tally) {
        self.schedules += other.schedules;
        self.conversations += other.conversations;
        self.streams += other.streams;
        self.clean += other.clean;
        self.resets += other.resets;
        self.passed += other.passed;
        self.bytes += other.bytes;
        self.taken_bytes += other.taken_bytes;
        self.sent_bytes += other.sent_bytes;
        self.resent_bytes += other.resent_bytes;
        self.most_open = self.most_open.max(other.most_open);
        self.most_memory_bytes = self.most_memory_bytes.max(other.most_memory_bytes);
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tally { schedules, conversations, streams, clean, resets, passed, bytes, .. } = self;
        write!(f, "{schedules} schedules, {conversations} connections, {streams} streams: ")?;
        write!(f, "{clean} clean, {resets} reset, {passed} passed, {bytes} bytes right, ")?;
        write!(f, "{} sent of {}, ", self.sent_bytes, self.taken_bytes)?;
        write!(f, "{} bytes sent again, at most {} bytes kept", self.resent_bytes, self.most_memory_bytes)
    }
}
