//! Names of stations and packets.

use std::time::Duration;

/// A station of one gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StationId(pub u8);

/// Number of a gateway's transmission, from 0. Encoded packets and chunk replies to all addressees share the
/// numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct PacketNumber(pub u64);

/// Air time of a transmission to a station (REfactor, section 3.2.2).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AirTime {
    /// Fixed part of each packet (t_h).
    pub header: Duration,
    /// Seconds of each byte (t_b).
    pub per_byte_seconds: f64,
}

impl AirTime {
    /// The paper's measured fixed part (290 µs), and eight bits a byte.
    #[must_use]
    pub fn of_rate(rate_bits_per_second: u64) -> Self {
        AirTime {
            header: Duration::from_micros(290),
            per_byte_seconds: 8.0 / rate_bits_per_second.max(1) as f64,
        }
    }

    /// Air time of a packet of `bytes` bytes, in seconds.
    #[must_use]
    pub fn of_packet_seconds(&self, bytes: f64) -> f64 {
        self.header.as_secs_f64() + bytes * self.per_byte_seconds
    }
}
