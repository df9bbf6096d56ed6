//! What a user decides: how much is kept for a flow, and how.

use crate::pattern::Pattern;

/// The settings of one end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Packets, coded or not, that are kept for each flow.
    pub buffer_packets: usize,
    /// What becomes of a packet for which there is no room.
    pub replacement: Replacement,
    /// How packets are put together.
    pub coding: Coding,
}

/// What happens when a packet comes and the buffer is full (XBC, section IV-A).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replacement {
    /// The oldest packet goes, with all that is coded with it.
    Lru,
    /// The packet that comes is not kept. Where more is on its way than the buffer holds, this repairs the
    /// share that it does hold, and the other way nothing: what is kept is then always newer than what is
    /// found to be missing.
    None,
}

/// How packets are put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coding {
    /// Not at all: plain Snoop.
    Off,
    /// In this pattern.
    Fixed(Pattern),
    /// As little as the buffer allows, and what is least likely lost together on the flow's link: as sums or
    /// as rows.
    Adaptive,
    /// As little as the buffer allows, and as rows only (section III-E).
    ReedSolomon,
}

/// What the other end can undo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Undoes {
    /// Nothing: packets are sent again as they were.
    Nothing,
    /// Sums of packets.
    Sums,
    /// Rows too.
    Rows,
}

impl Default for Settings {
    /// The buffer of eight packets for which the paper shows the most, used as the link makes best.
    fn default() -> Self {
        Settings { buffer_packets: 8, replacement: Replacement::None, coding: Coding::Adaptive }
    }
}

/// What is wrong with settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// Too small or too large a buffer.
    #[error("buffer is {0} packets; it must be between 1 and {max}", max = Settings::MAX_BUFFER_PACKETS)]
    Buffer(usize),
    /// No such degree.
    #[error("degree is {0}; it must be between 1 and {max}", max = Pattern::MAX_DEGREE)]
    Degree(u8),
    /// No such distance.
    #[error("distance is {0}; it must be between 1 and {max}", max = Pattern::MAX_DISTANCE)]
    Distance(u8),
}

impl Settings {
    /// The largest buffer.
    pub const MAX_BUFFER_PACKETS: usize = 1024;

    /// Whether repairs may be combinations of packets.
    #[must_use]
    pub fn codes(&self) -> bool {
        self.coding != Coding::Off
    }

    /// Says what is wrong, if anything is.
    pub fn validate(&self) -> Result<(), SettingsError> {
        if !(1..=Self::MAX_BUFFER_PACKETS).contains(&self.buffer_packets) {
            return Err(SettingsError::Buffer(self.buffer_packets));
        }
        if let Coding::Fixed(Pattern { degree, distance }) = self.coding {
            if !(1..=Pattern::MAX_DEGREE).contains(&degree) {
                return Err(SettingsError::Degree(degree));
            }
            if !(1..=Pattern::MAX_DISTANCE).contains(&distance) {
                return Err(SettingsError::Distance(distance));
            }
        }
        Ok(())
    }
}
