//! Settings of a flow's buffer.

use crate::pattern::Pattern;

/// The settings of one end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Packets, coded or not, that are kept for each flow.
    pub buffer_packets: usize,
    /// Handling of a packet without room.
    pub replacement: Replacement,
    /// Method of combining packets.
    pub coding: Coding,
}

/// Handling of a packet that arrives at a full buffer (XBC, section IV-A).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replacement {
    /// The oldest packet is dropped, with all packets coded with it.
    Lru,
    /// The arriving packet is not kept. If more packets are in flight than the buffer holds, this repairs the
    /// held share. The other method then repairs nothing, because the kept packets are newer than those found
    /// missing.
    None,
}

/// Method of combining packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coding {
    /// No combination: plain Snoop.
    Off,
    /// This pattern.
    Fixed(Pattern),
    /// As few as the buffer allows, and those that are least likely lost together on the flow's link: as sums
    /// or as rows.
    Adaptive,
    /// As few as the buffer allows, as rows only (section III-E).
    ReedSolomon,
}

/// Codes that the other end can solve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Undoes {
    /// None: retransmissions are plain packets.
    Nothing,
    /// Sums of packets.
    Sums,
    /// Rows and sums.
    Rows,
}

impl Default for Settings {
    /// The buffer of eight packets, for which the paper shows the largest gain, with adaptive coding.
    fn default() -> Self {
        Settings { buffer_packets: 8, replacement: Replacement::None, coding: Coding::Adaptive }
    }
}

/// An invalid setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// The buffer is too small or too large.
    #[error("buffer is {0} packets; it must be between 1 and {max}", max = Settings::MAX_BUFFER_PACKETS)]
    Buffer(usize),
    /// An invalid degree.
    #[error("degree is {0}; it must be between 1 and {max}", max = Pattern::MAX_DEGREE)]
    Degree(u8),
    /// An invalid distance.
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

    /// Checks the settings.
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
