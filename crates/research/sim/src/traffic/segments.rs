//! A file as segments in TCP's form. **This is not TCP**: it has no handshake, window, congestion control or
//! round-trip estimate. Segments with rising sequence numbers leave at a constant rate. If enabled, an
//! undelivered segment is retransmitted after a fixed time with the same sequence number and bytes, before
//! new ones. The source knows deliveries without messages over the network; optional acknowledgements only
//! add traffic and carry receipts. It shows the effect of loss on policies that read TCP's numbers, at a load
//! that does not depend on them.

use super::{Ends, Passage, Source};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// The file's segments.
#[derive(Debug, Clone)]
pub struct Segments {
    ends: Ends,
    file: Arc<[u8]>,
    payload_bytes: usize,
    interval: Duration,
    next_at: Duration,
    retransmit_after: Option<Duration>,
    acknowledge_every: Option<u32>,
    /// The next unsent segment, counted over all passes.
    next_new: usize,
    delivered: Vec<bool>,
    delivered_count: usize,
    /// Sent segments to check again, in order of time.
    sent: VecDeque<(Duration, usize)>,
    /// All segments below this are delivered.
    in_order: usize,
    unacknowledged: u32,
    acknowledge_at: Option<Duration>,
    identification: u32,
    completed_at: Option<Duration>,
}

impl Segments {
    /// `file` in payloads of `payload_bytes`, one segment an `interval`, from time 0, each sent once.
    #[must_use]
    pub fn new(ends: Ends, file: impl Into<Arc<[u8]>>, payload_bytes: usize, interval: Duration) -> Self {
        let file = file.into();
        let payload_bytes = payload_bytes.max(1);
        let count = file.len().div_ceil(payload_bytes);
        Segments {
            ends,
            file,
            payload_bytes,
            interval: interval.max(Duration::from_nanos(1)),
            next_at: Duration::ZERO,
            retransmit_after: None,
            acknowledge_every: None,
            next_new: 0,
            delivered: vec![false; count],
            delivered_count: 0,
            sent: VecDeque::new(),
            in_order: 0,
            unacknowledged: 0,
            acknowledge_at: None,
            identification: 0,
            completed_at: None,
        }
    }

    /// Sets the time of the first segment.
    #[must_use]
    pub fn starting_at(self, at: Duration) -> Self {
        Segments { next_at: at, ..self }
    }

    /// Retransmits segments that are undelivered after this time, without limit.
    #[must_use]
    pub fn retransmitting_after(self, time: Duration) -> Self {
        Segments { retransmit_after: Some(time.max(self.interval)), ..self }
    }

    /// Sends an acknowledgement, a segment without payload, after every `segments` delivered segments.
    #[must_use]
    pub fn acknowledging_every(self, segments: u32) -> Self {
        Segments { acknowledge_every: Some(segments.max(1)), ..self }
    }

    /// Sends the file this many times, in one flow.
    #[must_use]
    pub fn passing(self, times: u32) -> Self {
        let delivered = vec![false; self.per_pass() * times.max(1) as usize];
        Segments { delivered, ..self }
    }

    fn per_pass(&self) -> usize {
        self.file.len().div_ceil(self.payload_bytes)
    }

    fn sequence(&self, segment: usize) -> u32 {
        let (pass, within) = (segment / self.per_pass(), segment % self.per_pass());
        ((pass * self.file.len() + within * self.payload_bytes) as u64 as u32).wrapping_add(1)
    }

    /// The next segment to send.
    fn next_segment(&self, now: Duration) -> Option<usize> {
        match self.sent.front() {
            Some(&(due, segment)) if due <= now => Some(segment),
            _ => (self.next_new < self.delivered.len()).then_some(self.next_new),
        }
    }

    /// Removes delivered segments from the front.
    fn settle(&mut self) {
        while let Some(&(_, segment)) = self.sent.front()
            && self.delivered[segment]
        {
            self.sent.pop_front();
        }
    }
}

impl Source for Segments {
    fn poll_timeout(&self) -> Option<Duration> {
        let segment = if self.next_new < self.delivered.len() {
            Some(self.next_at)
        } else {
            self.sent.front().map(|&(due, _)| due.max(self.next_at))
        };
        segment.into_iter().chain(self.acknowledge_at).min()
    }

    fn poll_packet(&mut self, now: Duration, packet: &mut Vec<u8>) -> Option<Passage> {
        self.identification = self.identification.wrapping_add(1);
        if self.acknowledge_at.take().is_some() {
            let next = if self.in_order < self.delivered.len() { self.sequence(self.in_order) } else { 0 };
            self.ends.tcp(self.ends.backwards(), self.identification, 1, next, &[], packet);
            return Some(self.ends.backwards());
        }
        if self.next_at > now {
            return None;
        }
        let segment = self.next_segment(now)?;
        self.next_at = self.next_at.max(now.saturating_sub(self.interval)) + self.interval;
        if segment == self.next_new {
            self.next_new += 1;
        } else {
            self.sent.pop_front();
        }
        if let Some(time) = self.retransmit_after {
            self.sent.push_back((now + time, segment));
        }
        self.settle();
        let start = segment % self.per_pass() * self.payload_bytes;
        let payload = &self.file[start..(start + self.payload_bytes).min(self.file.len())];
        self.ends.tcp(self.ends.forwards(), self.identification, self.sequence(segment), 1, payload, packet);
        Some(self.ends.forwards())
    }

    fn handle_delivery(&mut self, now: Duration, host: usize, packet: &[u8]) {
        if host != self.ends.forwards().to {
            return;
        }
        let Some(sequence) = wire::inner::Inner::parse(packet).ok().and_then(|inner| inner.tcp_sequence)
        else {
            return;
        };
        // Sequence numbers wrap after 4 GiB; the nearest match to the newest one is taken.
        let newest = self.sequence(self.next_new.saturating_sub(1));
        let back_bytes = newest.wrapping_sub(sequence) as usize;
        let Some(segment) = self.segment_before(self.next_new.saturating_sub(1), back_bytes) else { return };
        if !std::mem::replace(&mut self.delivered[segment], true) {
            self.delivered_count += 1;
            if self.delivered_count == self.delivered.len() {
                self.completed_at = Some(now);
            }
        }
        while self.delivered.get(self.in_order) == Some(&true) {
            self.in_order += 1;
        }
        self.settle();
        self.unacknowledged += 1;
        if self.acknowledge_every.is_some_and(|every| self.unacknowledged >= every) {
            self.unacknowledged = 0;
            self.acknowledge_at = Some(now);
        }
    }

    fn is_complete(&self) -> bool {
        self.completed_at.is_some()
    }

    fn completed_at(&self) -> Option<Duration> {
        self.completed_at
    }

    fn in_order_share(&self) -> Option<f64> {
        Some(self.in_order as f64 / self.delivered.len().max(1) as f64)
    }
}

impl Segments {
    /// The segment that starts `back_bytes` before `newest` does.
    fn segment_before(&self, newest: usize, back_bytes: usize) -> Option<usize> {
        let place = |segment: usize| {
            segment / self.per_pass() * self.file.len() + segment % self.per_pass() * self.payload_bytes
        };
        let start = place(newest).checked_sub(back_bytes)?;
        let (pass, within) = (start / self.file.len(), start % self.file.len());
        within
            .is_multiple_of(self.payload_bytes)
            .then_some(pass * self.per_pass() + within / self.payload_bytes)
    }
}
