//! A stream of UDP packets at a constant rate, as in telephony, video and telemetry.

use super::{Content, Ends, Passage, Source};
use std::time::Duration;

/// The stream.
#[derive(Debug, Clone)]
pub struct ConstantRate {
    ends: Ends,
    content: Content,
    payload: Vec<u8>,
    interval: Duration,
    next_at: Duration,
    sent: u32,
    left: Option<u64>,
}

impl ConstantRate {
    /// Payloads of `payload_bytes` cut from `content`, one an `interval`, from time 0 and without end.
    #[must_use]
    pub fn new(ends: Ends, content: Content, payload_bytes: usize, interval: Duration) -> Self {
        let payload = vec![0; payload_bytes];
        let interval = interval.max(Duration::from_nanos(1));
        ConstantRate { ends, content, payload, interval, next_at: Duration::ZERO, sent: 0, left: None }
    }

    /// Sets the time of the first packet.
    #[must_use]
    pub fn starting_at(self, at: Duration) -> Self {
        ConstantRate { next_at: at, ..self }
    }

    /// Sets the number of packets.
    #[must_use]
    pub fn ending_after(self, packets: u64) -> Self {
        ConstantRate { left: Some(packets), ..self }
    }
}

impl Source for ConstantRate {
    fn poll_timeout(&self) -> Option<Duration> {
        (self.left != Some(0)).then_some(self.next_at)
    }

    fn poll_packet(&mut self, now: Duration, packet: &mut Vec<u8>) -> Option<Passage> {
        self.poll_timeout().filter(|&at| at <= now)?;
        self.next_at += self.interval;
        self.left = self.left.map(|left| left - 1);
        self.sent = self.sent.wrapping_add(1);
        self.content.take(&mut self.payload);
        self.ends.udp(self.ends.forwards(), self.sent, &self.payload, packet);
        Some(self.ends.forwards())
    }

    fn is_complete(&self) -> bool {
        self.left == Some(0)
    }
}
