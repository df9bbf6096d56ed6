//! A bound of the bytes under way by losses of full queues, as CUBIC's window (RFC 9438, sections 4.2 to
//! 4.6). Losses of the air do not count.

use std::time::Duration;

/// A full queue leaves this share.
const DECREASE: f64 = 0.7;
/// Growth in packets by the cube of the seconds.
const GROWTH: f64 = 0.4;
/// Growth in packets in a round trip, where that is more: as other senders have it.
const INCREASE: f64 = 3.0 * (1.0 - DECREASE) / (1.0 + DECREASE);
/// Bytes of a full packet, about.
pub const PACKET_BYTES: f64 = 1400.0;

/// The bound after a full queue.
#[derive(Debug, Clone, Copy)]
struct Reduced {
    at: Duration,
    /// Bytes that were under way.
    from: f64,
}

/// The bound of the bytes under way.
#[derive(Debug, Default)]
pub struct Ceiling {
    reduced: Option<Reduced>,
    /// The bound as it is now.
    bytes: Option<f64>,
}

impl Ceiling {
    /// Bytes that may be under way; `None`: no queue was full.
    pub fn bytes(&self) -> Option<f64> {
        self.bytes
    }

    /// A queue was full while so many bytes were under way. One signal counts in a round trip. Whether it
    /// did.
    pub fn reduce(&mut self, now: Duration, in_flight: f64, round_trip: Duration) -> bool {
        if self.reduced.is_some_and(|reduced| now < reduced.at + round_trip) {
            return false;
        }
        let from = self.bytes.map_or(in_flight, |bytes| bytes.min(in_flight));
        self.reduced = Some(Reduced { at: now, from });
        self.bytes = Some(DECREASE * from);
        true
    }

    /// Grows with time. From `most` bytes on, nothing is bound any more.
    pub fn grow(&mut self, now: Duration, round_trip: Duration, most: f64) {
        let Some(Reduced { at, from }) = self.reduced else { return };
        let (seconds, from) = (now.saturating_sub(at).as_secs_f64(), from / PACKET_BYTES);
        let until_from = (from * (1.0 - DECREASE) / GROWTH).cbrt();
        let cubic = GROWTH * (seconds - until_from).powi(3) + from;
        let usual = DECREASE * from + INCREASE * seconds / round_trip.as_secs_f64().max(0.001);
        let bytes = cubic.max(usual) * PACKET_BYTES;
        if bytes >= most {
            *self = Ceiling::default();
        } else {
            self.bytes = Some(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_full_queue_leaves_seven_tenths_which_grow_again_until_nothing_is_bound() {
        let (mut ceiling, rtt) = (Ceiling::default(), 100 * MS);
        ceiling.grow(1000 * MS, rtt, 1e9);
        assert_eq!(ceiling.bytes(), None);
        assert!(ceiling.reduce(1000 * MS, 140_000.0, rtt));
        assert!(!ceiling.reduce(1050 * MS, 140_000.0, rtt), "the same full queue");
        assert_eq!(ceiling.bytes(), Some(98_000.0));
        ceiling.grow(3000 * MS, rtt, 1e9);
        assert!(ceiling.bytes().is_some_and(|bytes| (112_000.0..140_000.0).contains(&bytes)), "{ceiling:?}");
        assert!(ceiling.reduce(3000 * MS, 50_000.0, rtt));
        assert_eq!(ceiling.bytes(), Some(35_000.0), "by what is under way");
        ceiling.grow(300_000 * MS, rtt, 1e6);
        assert_eq!(ceiling.bytes(), None);
    }
}
