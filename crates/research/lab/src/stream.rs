//! A UDP stream at a constant rate: transmission, reception, and comparison.
//!
//! A datagram's payload is its number and its time of sending (nanoseconds since the stream's start), 8
//! octets each, big-endian, and then content. Both ends run in one process and share its clock, so one-way
//! delays are exact.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use crate::error::{Doing, LabError};
use crate::namespace::Namespace;
use crate::outcome::{Delay, StreamOutcome};
use crate::scenario::Stream;

/// Octets before the content.
const HEAD_BYTES: usize = 16;
/// Time that the receiver listens after the last datagram was due.
const LINGER: Duration = Duration::from_secs(3);

/// A stream about to be sent.
pub(crate) struct Flow<'a> {
    pub(crate) stream: &'a Stream,
    pub(crate) from: &'a Namespace,
    pub(crate) to: &'a Namespace,
    /// Fills the payloads; zeros when empty.
    pub(crate) content: &'a [u8],
}

impl Flow<'_> {
    /// Sends and receives the whole stream, starting at `start`, at most until `deadline`.
    pub(crate) fn run(&self, start: Instant, deadline: Instant) -> Result<StreamOutcome, LabError> {
        let receiver = self.to.enter(|| UdpSocket::bind((self.stream.address, 0)))?;
        let receiver = receiver.doing(|| format!("receive UDP at {}", self.stream.address))?;
        let target = receiver.local_addr().doing(|| "learn a UDP port".to_owned())?;
        let any = match self.stream.address {
            IpAddr::V4(_) => IpAddr::from([0; 4]),
            IpAddr::V6(_) => IpAddr::from([0; 16]),
        };
        let sender = self.from.enter(|| UdpSocket::bind((any, 0)))?.doing(|| "send UDP".to_owned())?;
        let interval = Duration::from_secs_f64(self.stream.interval_milliseconds / 1e3);
        let due = |number: u64| start + interval.mul_f64(number as f64);
        let end = (due(self.stream.datagrams) + LINGER).min(deadline);
        std::thread::scope(|scope| {
            let sent = scope.spawn(|| self.send(&sender, target, start, &due, deadline));
            let received = self.receive(&receiver, start, end);
            let (sent, refused) = sent.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            received.map(|received| StreamOutcome { sent, refused, ..received })
        })
    }

    /// Sends each datagram when it is due. Returns the numbers of sent and refused ones.
    fn send(
        &self,
        sender: &UdpSocket,
        target: SocketAddr,
        start: Instant,
        due: &dyn Fn(u64) -> Instant,
        deadline: Instant,
    ) -> (u64, u64) {
        let mut payload = Vec::with_capacity(self.stream.payload_bytes);
        let (mut sent, mut refused) = (0, 0);
        for number in 0..self.stream.datagrams {
            std::thread::sleep(due(number).saturating_duration_since(Instant::now()));
            let now = Instant::now();
            if now >= deadline {
                break;
            }
            let nanoseconds = now.saturating_duration_since(start).as_nanos() as u64;
            payload.clear();
            payload.extend_from_slice(&number.to_be_bytes());
            payload.extend_from_slice(&nanoseconds.to_be_bytes());
            self.extend_with_content(&mut payload, number);
            match sender.send_to(&payload, target) {
                Ok(_) => sent += 1,
                Err(_) => refused += 1,
            }
        }
        (sent, refused)
    }

    /// The slice of the content that datagram `number` carries: consecutive slices, round and round.
    fn extend_with_content(&self, payload: &mut Vec<u8>, number: u64) {
        let length = self.stream.payload_bytes;
        if self.content.is_empty() {
            payload.resize(length, 0);
            return;
        }
        let slice = (length - HEAD_BYTES) as u64;
        let start = (number.wrapping_mul(slice) % self.content.len() as u64) as usize;
        let endless = self.content[start..].iter().chain(self.content.iter().cycle());
        payload.extend(endless.take(length - HEAD_BYTES));
    }

    fn receive(&self, receiver: &UdpSocket, start: Instant, end: Instant) -> Result<StreamOutcome, LabError> {
        let mut outcome = StreamOutcome::default();
        let mut seen = vec![false; self.stream.datagrams as usize];
        let mut highest = None;
        let mut delays = Vec::new();
        if self.stream.keeps_delays {
            outcome.delays_milliseconds = vec![None; seen.len()];
        }
        let mut payload = vec![0; 65_536];
        let mut expected = Vec::new();
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            receiver.set_read_timeout(Some(left)).doing(|| "bound the wait for UDP".to_owned())?;
            let Ok(length) = receiver.recv(&mut payload) else { continue };
            let arrived = Instant::now().saturating_duration_since(start);
            let payload = &payload[..length];
            let Some((number, sent)) = head_of(payload) else {
                outcome.altered += 1;
                continue;
            };
            expected.clear();
            expected.extend_from_slice(&payload[..HEAD_BYTES]);
            self.extend_with_content(&mut expected, number);
            let index = usize::try_from(number).unwrap_or(usize::MAX);
            match seen.get_mut(index) {
                Some(seen) if expected == payload => {
                    if std::mem::replace(seen, true) {
                        outcome.duplicated += 1;
                        continue;
                    }
                }
                _ => {
                    outcome.altered += 1;
                    continue;
                }
            }
            outcome.received += 1;
            if highest.is_some_and(|highest| number < highest) {
                outcome.reordered += 1;
            }
            highest = highest.max(Some(number));
            let delay_milliseconds = arrived.saturating_sub(sent).as_secs_f64() * 1e3;
            delays.push(delay_milliseconds);
            if let Some(delay) = outcome.delays_milliseconds.get_mut(index) {
                *delay = Some(delay_milliseconds);
            }
        }
        outcome.delay = delay_of(&mut delays);
        Ok(outcome)
    }
}

/// A payload's number and time of sending.
fn head_of(payload: &[u8]) -> Option<(u64, Duration)> {
    let (number, rest) = payload.split_first_chunk::<8>()?;
    let (sent, _) = rest.split_first_chunk::<8>()?;
    Some((u64::from_be_bytes(*number), Duration::from_nanos(u64::from_be_bytes(*sent))))
}

fn delay_of(delays: &mut [f64]) -> Delay {
    delays.sort_by(f64::total_cmp);
    let at = |share: f64| {
        let rank = (share * delays.len() as f64).ceil() as usize;
        delays.get(rank.saturating_sub(1)).copied().unwrap_or_default()
    };
    Delay {
        mean_milliseconds: delays.iter().sum::<f64>() / delays.len().max(1) as f64,
        median_milliseconds: at(0.5),
        p95_milliseconds: at(0.95),
        p99_milliseconds: at(0.99),
        longest_milliseconds: at(1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_are_summed_up_by_nearest_rank() {
        let delay = delay_of(&mut [4.0, 1.0, 3.0, 2.0]);
        assert_eq!(delay.mean_milliseconds, 2.5);
        assert_eq!(delay.median_milliseconds, 2.0);
        assert_eq!(delay.p95_milliseconds, 4.0);
        assert_eq!(delay.longest_milliseconds, 4.0);
        assert_eq!(delay_of(&mut []), Delay::default());
    }

    #[test]
    fn a_head_shorter_than_its_fields_is_no_head() {
        assert_eq!(head_of(&[0; 15]), None);
        assert_eq!(head_of(&[0; 16]), Some((0, Duration::ZERO)));
    }
}
