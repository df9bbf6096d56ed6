//! Who and what is spoken of.

use std::time::Duration;

/// A station of one gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StationId(pub u8);

/// What a gateway sent, counted from 0: encoded packets and chunk replies alike, whomever they are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct PacketNumber(pub u64);

/// What a transmission to a station takes of the air (REfactor, section 3.2.2).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AirTime {
    /// For a packet, however long (t_h).
    pub header: Duration,
    /// For each of its bytes (t_b).
    pub per_byte_seconds: f64,
}

impl AirTime {
    /// What the paper measured for a packet (290 µs), and eight bits a byte.
    #[must_use]
    pub fn of_rate(rate_bits_per_second: u64) -> Self {
        AirTime {
            header: Duration::from_micros(290),
            per_byte_seconds: 8.0 / rate_bits_per_second.max(1) as f64,
        }
    }

    /// Of a packet of so many bytes, in seconds.
    #[must_use]
    pub fn of_packet_seconds(&self, bytes: f64) -> f64 {
        self.header.as_secs_f64() + bytes * self.per_byte_seconds
    }
}
