//! ICMP echo requests, and replies at their arrival.

use super::{Content, Ends, Passage, Source};
use crate::delays::Delays;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// The most requests without a reply; older ones are dropped.
const MOST_UNANSWERED: usize = 4096;

/// The requests and replies.
#[derive(Debug, Clone)]
pub struct Ping {
    ends: Ends,
    content: Content,
    payload: Vec<u8>,
    interval: Duration,
    next_at: Duration,
    number: u32,
    left: Option<u64>,
    /// When each request without a reply was sent, by its number on the wire.
    unanswered: BTreeMap<u16, Duration>,
    /// Replies to be sent: request as it came.
    replies: VecDeque<(Duration, u16, Vec<u8>)>,
    round_trips: Delays,
}

impl Ping {
    /// Requests with payloads of `payload_bytes` from `content`, one an `interval`, from time 0 and without
    /// end.
    #[must_use]
    pub fn new(ends: Ends, content: Content, payload_bytes: usize, interval: Duration) -> Self {
        Ping {
            ends,
            content,
            payload: vec![0; payload_bytes],
            interval: interval.max(Duration::from_nanos(1)),
            next_at: Duration::ZERO,
            number: 0,
            left: None,
            unanswered: BTreeMap::new(),
            replies: VecDeque::new(),
            round_trips: Delays::default(),
        }
    }

    /// Sets the time of the first request.
    #[must_use]
    pub fn starting_at(self, at: Duration) -> Self {
        Ping { next_at: at, ..self }
    }

    /// Sets the number of requests.
    #[must_use]
    pub fn ending_after(self, requests: u64) -> Self {
        Ping { left: Some(requests), ..self }
    }

    fn next_request(&self) -> Option<Duration> {
        (self.left != Some(0)).then_some(self.next_at)
    }
}

/// Offsets of the number and the payload in an ICMP echo message (RFC 792, RFC 4443).
const NUMBER_AT: usize = 6;
const PAYLOAD_AT: usize = 8;

impl Source for Ping {
    fn poll_timeout(&self) -> Option<Duration> {
        let reply = self.replies.front().map(|&(at, ..)| at);
        reply.into_iter().chain(self.next_request()).min()
    }

    fn poll_packet(&mut self, now: Duration, packet: &mut Vec<u8>) -> Option<Passage> {
        if let Some((_, number, payload)) = self.replies.pop_front() {
            self.ends.echo(self.ends.backwards(), u32::from(number), &payload, packet);
            return Some(self.ends.backwards());
        }
        self.next_request().filter(|&at| at <= now)?;
        self.next_at += self.interval;
        self.left = self.left.map(|left| left - 1);
        self.number = self.number.wrapping_add(1);
        if self.unanswered.len() == MOST_UNANSWERED {
            // The oldest one has the number that repeats next.
            let oldest = (self.number as u16).wrapping_sub(MOST_UNANSWERED as u16);
            let first = self.unanswered.range(oldest..).next().or_else(|| self.unanswered.iter().next());
            if let Some((&number, _)) = first {
                self.unanswered.remove(&number);
            }
        }
        self.unanswered.insert(self.number as u16, now);
        self.content.take(&mut self.payload);
        self.ends.echo(self.ends.forwards(), self.number, &self.payload, packet);
        Some(self.ends.forwards())
    }

    fn handle_delivery(&mut self, now: Duration, host: usize, packet: &[u8]) {
        let header_bytes = if packet[0] >> 4 == 4 { 20 } else { 40 };
        let message = &packet[header_bytes..];
        let number = u16::from_be_bytes([message[NUMBER_AT], message[NUMBER_AT + 1]]);
        if host == self.ends.forwards().to {
            self.replies.push_back((now, number, message[PAYLOAD_AT..].to_vec()));
        } else if let Some(sent_at) = self.unanswered.remove(&number) {
            self.round_trips.record(now.saturating_sub(sent_at));
        }
    }

    fn is_complete(&self) -> bool {
        self.left == Some(0) && self.unanswered.is_empty()
    }

    fn round_trips(&self) -> Option<&Delays> {
        Some(&self.round_trips)
    }
}
