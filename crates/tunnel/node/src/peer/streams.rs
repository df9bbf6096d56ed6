//! Streams of a peer: packets that they take, datagrams that carry them, and how much of that leaves.

use super::Peer;
use super::pack::AROUND_PACKET;
use crate::arq::receipts::Fate;
use crate::config::{Config, StreamBounds};
use crate::context::Context;
use crate::event::{Complaint, Event};
use crate::hop::Controller;
use crate::hop::model::Model;
use re::{Form, Parameters, Policy};
use std::collections::VecDeque;
use std::time::Duration;
use streams::{Reduction, Settings, Streams};
use wire::frame::FrameType;
use wire::hello::{Hello, LENGTHENS};
use wire::inner::Inner;

/// A missing datagram that has repairs is lost after this time and a share of the round trip.
const REPAIRED_AFTER: Duration = Duration::from_millis(20);
const REPAIRED_SHARE: u32 = 8;
/// A record is what the path carries in this time.
const RECORD_TIME: Duration = Duration::from_millis(20);
/// So few bytes of a burst have repairs: what waits for nothing else.
pub(super) const REPAIRED_BYTES: u64 = 16 << 10;

/// A peer's streams, and the model of the path for them.
pub(super) struct PeerStreams {
    pub(super) streams: Streams,
    pub(super) model: Model,
    /// The secret of the encoder.
    secret: u64,
    /// Datagrams with repairs.
    repaired: VecDeque<u64>,
    /// The fates in a receipt, during its processing; kept to allocate once.
    fates: Vec<(u64, Fate)>,
    /// A datagram of streams left last, so that it is the packets' turn.
    pub(super) left_last: bool,
    /// The first datagram with repairs of those that left in a row.
    pub(super) burst_from: Option<u64>,
    /// Repairs that may leave at once.
    pub(super) allowance: Allowance,
    no_ways_back: Complaint,
}

/// Bytes that may leave beside others, so many a second.
#[derive(Debug, Default)]
pub(super) struct Allowance {
    bytes: f64,
    refilled_at: Duration,
}

impl Allowance {
    /// Adds what a rate in bytes a second brought since the last time, up to that of a second.
    pub fn refill(&mut self, now: Duration, rate: f64) {
        let seconds = now.saturating_sub(self.refilled_at).as_secs_f64();
        self.bytes = (self.bytes + seconds * rate).min(rate);
        self.refilled_at = now;
    }

    /// How many there are.
    pub fn bytes(&self) -> usize {
        self.bytes as usize
    }

    /// Takes some of them.
    pub fn take(&mut self, bytes: usize) {
        self.bytes -= bytes as f64;
    }
}

impl PeerStreams {
    /// Those of a peer, if this node has streams.
    pub fn of(config: &Config, salt: [u64; 4]) -> Option<Self> {
        let StreamBounds { memory_bytes, most_streams, answers_early } = config.streams?;
        let settings = Settings {
            mtu: config.max_datagram_bytes - AROUND_PACKET,
            memory_bytes,
            most_streams,
            answers_early,
            sequence_key: salt,
        };
        Some(PeerStreams {
            streams: Streams::new(settings),
            model: Model::default(),
            secret: salt[1].rotate_left(16) ^ salt[0],
            repaired: VecDeque::new(),
            fates: Vec::new(),
            left_last: false,
            burst_from: None,
            allowance: Allowance::default(),
            no_ways_back: Complaint::default(),
        })
    }

    /// Sets how many bytes a record has, by the rate at which they leave.
    pub fn set_record_bytes(&mut self, told: Option<f64>) {
        let bytes = self.model.pace(told) * RECORD_TIME.as_secs_f64();
        self.streams.set_record_bytes(bytes as usize);
    }

    /// A datagram left that has repairs.
    pub fn note_repaired(&mut self, sequence: u64) {
        self.repaired.push_back(sequence);
    }

    /// Notes the fate of a sequence.
    pub fn note_fate(&mut self, sequence: u64, fate: Fate) {
        self.fates.push((sequence, fate));
    }

    /// Tells of a destination that was found to have no way back through the peer of this name.
    fn tell_no_way_back(&mut self, now: Duration, peer: &str, ctx: &mut Context) {
        if let Some(found) = self.streams.take_no_way_back()
            && self.no_ways_back.is_told(now)
        {
            ctx.events.push(Event::NoWayBack { peer: peer.to_owned(), found });
        }
    }
}

impl Peer {
    /// Whether streams may cross the hop.
    fn carries_streams(&self) -> bool {
        self.link.as_ref().is_some_and(|link| link.carries_streams())
    }

    /// Takes a packet of this host that belongs to a stream, or begins one. Whether it did.
    pub(crate) fn take_for_stream(
        &mut self,
        now: Duration,
        packet: &[u8],
        inner: &Inner,
        ctx: &mut Context,
    ) -> bool {
        let carries = self.carries_streams();
        let Some(it) = self.streams.as_mut() else { return false };
        if !carries {
            it.streams.note_left_out(packet, inner);
            return false;
        }
        let is_taken = it.streams.take_packet(now, packet, inner, &mut |packet| ctx.deliver_copy(packet));
        it.tell_no_way_back(now, &self.config.name, ctx);
        is_taken
    }

    /// Takes a frame of a stream.
    pub(super) fn take_stream(
        &mut self,
        now: Duration,
        frame_type: FrameType,
        body: &[u8],
        ctx: &mut Context,
    ) -> bool {
        let carries = self.carries_streams();
        let Some((it, link)) = self.streams.as_mut().zip(self.link.as_mut()).filter(|_| carries) else {
            return true;
        };
        link.arq.want_receipt(now, body.len());
        let source = (frame_type == FrameType::StreamOpen)
            .then(|| wire::stream::Open::parse(body).ok())
            .flatten()
            .map(|open| open.source.ip());
        let may_open = source.is_none_or(|source| ctx.may_come(source, self.index));
        let emit = &mut |packet: &[u8]| ctx.deliver_copy(packet);
        let makes_sense = it.streams.take_frame(now, frame_type, body, may_open, emit);
        it.tell_no_way_back(now, &self.config.name, ctx);
        makes_sense
    }

    /// Takes what a receipt told of datagrams with streams.
    pub(super) fn settle_streams(&mut self, now: Duration, ctx: &mut Context) {
        let Some((it, link)) = self.streams.as_mut().zip(self.link.as_mut()) else { return };
        let is_congested = link.arq.take_congestion(it.model.most_air_loss());
        let round_trips = link.arq.round_trips();
        let round_trip = round_trips.map(|(shortest, _)| shortest);
        let emit = &mut |packet: &[u8]| ctx.deliver_copy(packet);
        let PeerStreams { streams, model, repaired, fates, .. } = &mut **it;
        for (sequence, fate) in fates.drain(..) {
            let came = fate == Fate::Held;
            let is_repaired = repaired.binary_search(&sequence).is_ok();
            if !came && is_repaired && matches!(fate, Fate::Late | Fate::Unrestored) {
                let patience = REPAIRED_AFTER + round_trip.unwrap_or_default() / REPAIRED_SHARE;
                streams.doubt(now + patience, sequence);
                continue;
            }
            if came || matches!(fate, Fate::Late | Fate::Lost | Fate::Unrestored) {
                model.settle(now, sequence, came);
                streams.settle(now, sequence, came, emit);
            }
        }
        if let Some(round_trips) = round_trips {
            if is_congested {
                model.note_full_queue(now, round_trips.0 + round_trips.1);
            }
            model.update(now, round_trips, link.arq.calm_loss());
        }
        let oldest = streams.oldest_under_way().unwrap_or(u64::MAX);
        while repaired.front().is_some_and(|sequence| *sequence < oldest) {
            repaired.pop_front();
        }
    }

    /// Does for the streams what is due.
    pub(super) fn handle_streams_timeout(&mut self, now: Duration, ctx: &mut Context) {
        let Some(it) = &mut self.streams else { return };
        let emit = &mut |packet: &[u8]| ctx.deliver_copy(packet);
        it.streams.handle_timeout(now, emit);
        while let Some(sequence) = it.streams.next_given_up(now) {
            it.model.settle(now, sequence, false);
            it.streams.settle(now, sequence, false, emit);
        }
        for sequence in it.model.probe(now) {
            it.streams.settle(now, sequence, false, emit);
        }
    }

    /// When there is something to do.
    pub(super) fn streams_timeout(&self) -> Option<Duration> {
        let it = self.streams.as_ref()?;
        let hop = self.link.as_ref().and_then(|link| link.hop.as_ref());
        let sends_at = match (it.streams.has_to_tell(), it.streams.has_to_send()) {
            (true, _) => Some(Duration::ZERO),
            (false, true) => {
                let admitted_at = it.model.admits_at(self.told_rate());
                admitted_at.map(|at| at.max(hop.and_then(Controller::timeout).unwrap_or(at)))
            }
            (false, false) => None,
        };
        [sends_at, it.streams.timeout(), it.model.probe_at()].into_iter().flatten().min()
    }

    /// The rate that the user told, in bytes a second with all headers.
    pub(super) fn told_rate(&self) -> Option<f64> {
        self.config.bytes_a_second()
    }

    /// The far end has no streams of this link: all of them end.
    pub(super) fn reset_streams(&mut self, now: Duration, ctx: &mut Context) {
        if let Some(it) = &mut self.streams {
            it.streams.reset(now, &mut |packet| ctx.deliver_copy(packet));
            it.model = Model::default();
            it.repaired.clear();
            it.burst_from = None;
        }
    }

    /// Streams of a new link with the peer that said `hello`: what repeats is removed from them.
    pub(super) fn reduce_streams(&mut self, config: &Config, hello: &Hello) {
        let Some((it, link)) = self.streams.as_mut().zip(self.link.as_ref()) else { return };
        if !link.carries_streams() {
            return it.streams.reduce(&Reduction::default());
        }
        // records of a stream are read in order, and others are told when they are stored
        let policy = if config.reduce.policy == Policy::Off { Policy::Off } else { Policy::Acked };
        let store_bytes = link.store_bytes();
        let parameters = Parameters { policy, form: Form::Compact, store_bytes, ..config.reduce };
        let (one, other) = (link.ends().own_boot, link.ends().peer_boot);
        let mut key = [0; 32];
        key[..8].copy_from_slice(&one.min(other).to_be_bytes());
        key[8..16].copy_from_slice(&one.max(other).to_be_bytes());
        it.streams.reduce(&Reduction {
            parameters,
            peer_window_bytes: hello.window_bytes.into(),
            peer_sample_bits: hello.sample_bits.into(),
            compresses: config.shorten.literals && hello.capabilities & LENGTHENS != 0,
            key,
            secret: it.secret,
        });
    }
}
