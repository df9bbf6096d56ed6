//! The onset of a flow over a lossy hop: it must not overrun the path's queue.
//!
//! Slow start doubles what is under way in each round trip. HyStart (RFC 9406) ends it in time by the delay
//! of acknowledgements, but losses and their repairs disturb that delay. Then a queue's length of packets
//! is lost at once, sent again and repaired. Bytes that arrive more slowly than they left tell the path's
//! rate a round trip earlier. From then on little more than that rate leaves. The rest waits in the node,
//! where no queue overflows, and HyStart sees it wait.

use std::collections::VecDeque;
use std::time::Duration;

/// The share of sequences that the air loses, from which on HyStart is disturbed.
const LEAST_LOSS: f64 = 0.003;
/// Bytes over which a rate is measured, ...
const LEAST_BYTES: u64 = 32 * 1400;
/// ... and the time.
const LEAST_TIME: Duration = Duration::from_millis(16);
/// The delay grows in each of so many parts of that time where a path fills.
const PARTS: u32 = 4;
/// Bytes that fill the path left so many times faster than they arrived.
const FASTER: f64 = 1.15;
/// So many times the path's rate leaves while its queue is empty.
const GAIN: f64 = 1.1;
/// No more than the path's rate leaves beside such queueing.
const LONG: Duration = Duration::from_millis(20);
/// The rate is of use for so many round trips, ...
const ROUND_TRIPS: u32 = 4;
/// ... or while it holds packets back, and so many more.
const FURTHER_ROUND_TRIPS: u32 = 2;
/// Receipts over which a rate is measured, at most.
const MOST_RECEIPTS: usize = 256;

/// Bytes of which a receipt tells.
#[derive(Debug, Clone, Copy)]
pub struct Told {
    /// When the receipt came, had it left when the newest of them came.
    pub at: Duration,
    /// When the newest of them had left.
    pub left_at: Duration,
    /// How many, from the beginning.
    pub bytes: u64,
}

/// The path's rate, while a flow begins.
#[derive(Debug, Default)]
pub struct Onset {
    receipts: VecDeque<Told>,
    /// Bytes a second that the path carries, if that is known.
    path: Option<f64>,
    /// Bytes a second that may leave.
    rate: f64,
    until: Duration,
}

impl Onset {
    /// Takes a receipt beside this round trip and queueing, of an air that loses such a share; `is_needed`:
    /// the rate held something back in the last round trip.
    pub fn note_receipt(
        &mut self,
        told: Told,
        (round_trip, queueing): (Duration, Duration),
        air_loss: f64,
        is_needed: bool,
    ) {
        if let Some(arrived) = self.measure(told).filter(|_| air_loss >= LEAST_LOSS) {
            let fills = self.fills();
            if fills {
                self.until = told.at + (round_trip + queueing) * ROUND_TRIPS;
            }
            self.path = match self.path {
                Some(path) => Some(path.max(arrived)),
                None => fills.then_some(arrived),
            };
        }
        if is_needed {
            self.until = self.until.max(told.at + round_trip * FURTHER_ROUND_TRIPS);
        }
        self.path = self.path.filter(|_| told.at < self.until);
        let room = 1.0 - queueing.div_duration_f64(LONG).min(1.0);
        self.rate = self.path.unwrap_or_default() * (1.0 + (GAIN - 1.0) * room);
    }

    /// Bytes a second with which the latest bytes arrived.
    fn measure(&mut self, mut told: Told) -> Option<f64> {
        if let Some(last) = self.receipts.back() {
            if last.bytes >= told.bytes {
                return None;
            }
            told.at = told.at.max(last.at);
        }
        let is_enough =
            |first: &Told| told.bytes - first.bytes >= LEAST_BYTES && told.at >= first.at + LEAST_TIME;
        while self.receipts.len() == MOST_RECEIPTS || self.receipts.get(1).is_some_and(is_enough) {
            self.receipts.pop_front();
        }
        self.receipts.push_back(told);
        let first = self.receipts.front().filter(|first| is_enough(first))?;
        Some((told.bytes - first.bytes) as f64 / (told.at - first.at).as_secs_f64())
    }

    /// Whether the delay grew in each part of the time of these receipts, in all as where bytes left
    /// [`FASTER`]. The least delay of a part counts: what a radio sends as one (IEEE 802.11, A-MPDU) arrives
    /// at once, and all but the last packet waited for others.
    fn fills(&self) -> bool {
        let Some((first, last)) = self.receipts.front().zip(self.receipts.back()) else { return false };
        let (start, time) = (first.at, last.at - first.at);
        let mut delays = [Duration::ZERO; PARTS as usize];
        let mut from = 0;
        for (part, least) in (1..).zip(&mut delays) {
            let end = start + time * part / PARTS;
            let to = self.receipts.partition_point(|told| told.at <= end);
            let delays = self.receipts.range(from..to).map(|told| told.at.saturating_sub(told.left_at));
            *least = delays.min().unwrap_or_default();
            from = to - 1;
        }
        let least_growth = (time * (PARTS - 1) / PARTS).mul_f64(1.0 - 1.0 / FASTER);
        delays.is_sorted_by(|earlier, later| earlier < later)
            && delays[delays.len() - 1] > delays[0] + least_growth
    }

    /// Bytes a second that may leave; `None`: as many as the end hosts send.
    #[must_use]
    pub fn rate(&self) -> Option<f64> {
        self.path.map(|_| self.rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);
    const ROUND_TRIP: Duration = Duration::from_millis(100);
    /// Bytes a second of the path.
    const PATH: f64 = 2.5e6;

    /// Packets of 1,400 bytes that leave at these rates, one after another, and arrive at the path's at most.
    /// What may leave at the end.
    fn after(rates: &[(f64, u32)], air_loss: f64) -> Option<f64> {
        let mut onset = Onset::default();
        let (mut left_at, mut arrived_at, mut bytes) = (1.0f64, 0.0f64, 0);
        for &(rate, packets) in rates {
            for _ in 0..packets {
                left_at += 1400.0 / rate;
                arrived_at = arrived_at.max(left_at) + 1400.0 / PATH;
                bytes += 1400;
                let at = Duration::from_secs_f64(arrived_at) + ROUND_TRIP;
                let told = Told { at, left_at: Duration::from_secs_f64(left_at), bytes };
                onset.note_receipt(told, (ROUND_TRIP, Duration::ZERO), air_loss, false);
            }
        }
        onset.rate()
    }

    #[test]
    fn bytes_that_left_faster_than_they_arrived_tell_the_rate_of_the_path() {
        let rate = after(&[(PATH / 2.0, 50), (2.0 * PATH, 50)], 0.05);
        assert!(rate.is_some_and(|rate| (1.05..1.15).contains(&(rate / PATH))), "{rate:?}");
    }

    #[test]
    fn what_does_not_fill_the_path_is_not_bound() {
        assert_eq!(after(&[(PATH / 2.0, 200)], 0.05), None);
        assert_eq!(after(&[(2.0 * PATH, 10), (PATH / 10.0, 5), (2.0 * PATH, 10)], 0.05), None, "bursts");
        assert_eq!(after(&[(2.0 * PATH, 200)], 0.0), None, "HyStart is not disturbed");
    }

    /// What may leave after packets of 1,400 bytes that left at this rate and arrive in batches: all of such
    /// a time at its end. Every third one is told of.
    fn in_batches(rate: f64, every: Duration, packets: u32) -> Option<f64> {
        let mut onset = Onset::default();
        for packet in 1..=packets {
            let left_at = Duration::from_secs_f64(1.0 + f64::from(packet) * 1400.0 / rate);
            let batches = left_at.div_duration_f64(every).ceil() as u32;
            let told = Told { at: every * batches + ROUND_TRIP, left_at, bytes: u64::from(packet) * 1400 };
            if packet % 3 == 0 {
                onset.note_receipt(told, (ROUND_TRIP, Duration::ZERO), 0.05, false);
            }
        }
        onset.rate()
    }

    #[test]
    fn what_a_radio_sends_as_one_does_not_look_like_a_full_path() {
        for ms in [1, 2, 3, 5, 8, 13] {
            for rate in [PATH / 2.0, PATH, 2.0 * PATH, 3.7 * PATH] {
                assert_eq!(in_batches(rate, ms * MS, 1000), None, "{ms} ms, {rate} bytes a second");
            }
        }
    }

    #[test]
    fn the_rate_holds_for_some_round_trips_or_while_it_is_needed() {
        let mut onset = Onset::default();
        let mut told = Told { at: MS, left_at: MS, bytes: 0 };
        let mut take = |ms: u32, left_ms: u32, is_needed: bool| {
            for _ in 0..5 {
                told.at += ms * MS / 5;
                told.left_at += left_ms * MS / 5;
                told.bytes += 10_000;
                onset.note_receipt(told, (ROUND_TRIP, Duration::ZERO), 0.05, is_needed);
            }
            onset.rate()
        };
        assert_eq!(take(20, 10, false), None);
        assert!(take(20, 10, false).is_some_and(|rate| (rate - 2.75e6).abs() < 1.0));
        assert!((0..30).all(|_| take(20, 20, true).is_some()), "it is needed");
        let further = (0..30).take_while(|_| take(20, 20, false).is_some()).count();
        assert_eq!(further, 9, "two round trips");
    }
}
