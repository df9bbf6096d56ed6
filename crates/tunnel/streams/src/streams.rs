//! The streams of one peer.

use crate::beside::Beside;
use crate::counters::Counters;
use crate::half_open::HalfOpen;
use crate::records::{RecordReader, RecordWriter, Reduction};
use crate::seen::Seen;
use crate::sequences::Sequences;
use crate::stream::{LEAST_WINDOW, Phase, Stream};
use crate::tcp::{self, Connection};
use crate::under_way::UnderWay;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::net::SocketAddr;
use std::time::Duration;
use wire::frame::FrameType;
use wire::inner::{Flow, Inner, TCP};
use wire::record::MOST_PLAIN_BYTES;
use wire::stream::{Abort, Cause, Credit, Data, End, MOST_NUMBER, Name, Open, Stored, widen_offset};

/// The most room that a stream has at its receiver.
const MOST_WINDOW: u64 = 16 << 20;
/// A stream takes this share of the room that others leave. Of n busy streams each then has a part in n + 1.
const SHARE: u64 = 2;
/// It begins with this share of all room by the number of streams, so that idle ones leave most of it.
const FIRST_SHARE: u64 = 8;
/// A stream has this much room before its credit: it is sent to a connection that does not stand yet.
const EARLY_WINDOW: u64 = LEAST_WINDOW;
/// So few bytes go before others: a request, or the end of an answer.
const FEW_BYTES: u64 = 16 << 10;

/// Bounds of a peer's streams.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// The longest packet for a host, in bytes.
    pub mtu: usize,
    /// Bytes of streams kept here: half of it for each direction.
    pub memory_bytes: usize,
    /// Streams at once.
    pub most_streams: usize,
    /// A host is answered before the far end's connection stands.
    pub answers_early: bool,
    /// The key of initial sequence numbers: random and secret.
    pub sequence_key: [u64; 4],
}

/// The streams of one peer.
pub struct Streams {
    pub(crate) settings: Settings,
    pub(crate) sequences: Sequences,
    pub(crate) streams: BTreeMap<Name, Stream>,
    pub(crate) by_flow: HashMap<Flow, Name>,
    pub(crate) beside: Beside,
    /// Streams with something to tell.
    pub(crate) telling: VecDeque<Name>,
    /// Streams with bytes to send: first those with few of them.
    pub(crate) urgent: VecDeque<Name>,
    pub(crate) bulk: VecDeque<Name>,
    pub(crate) under_way: UnderWay,
    pub(crate) writer: RecordWriter,
    pub(crate) reader: RecordReader,
    /// The most bytes of a record.
    pub(crate) record_bytes: usize,
    /// The record at hand.
    pub(crate) record: Vec<u8>,
    /// When the far end is told of stored records.
    pub(crate) tells_stored_at: Option<Duration>,
    /// It is to be told now.
    pub(crate) tells_stored: bool,
    pub(crate) timers: BTreeSet<(Duration, Name)>,
    /// Streams whose hosts' bytes wait until fewer are kept.
    pub(crate) starving: VecDeque<Name>,
    next_number: u32,
    /// Numbers of the far end's streams.
    seen: Seen,
    /// Streams that this end's hosts began, until they stand or are forgotten.
    pub(crate) begun: HalfOpen,
    /// Streams whose destinations are to answer.
    pub(crate) connecting: HalfOpen,
    /// Bytes that the far end may send, of all streams.
    pub(crate) granted: u64,
    /// Bytes kept until the far end has them, of all streams.
    pub(crate) kept: usize,
    pub(crate) counters: Counters,
    /// Whether the far end waits for something that left.
    pub(crate) is_awaited: bool,
}

/// Hands on a packet for a host.
pub(crate) type Emit<'a> = &'a mut dyn FnMut(&[u8]);

impl Streams {
    /// No stream.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Streams {
            settings,
            sequences: Sequences::new(settings.sequence_key),
            streams: BTreeMap::new(),
            by_flow: HashMap::new(),
            beside: Beside::default(),
            telling: VecDeque::new(),
            urgent: VecDeque::new(),
            bulk: VecDeque::new(),
            under_way: UnderWay::default(),
            writer: RecordWriter::new(&Reduction::default()),
            reader: RecordReader::new(&Reduction::default()),
            record_bytes: MOST_PLAIN_BYTES,
            record: Vec::new(),
            tells_stored_at: None,
            tells_stored: false,
            timers: BTreeSet::new(),
            starving: VecDeque::new(),
            next_number: 0,
            seen: Seen::default(),
            begun: HalfOpen::default(),
            connecting: HalfOpen::default(),
            granted: 0,
            kept: 0,
            counters: Counters::default(),
            is_awaited: false,
        }
    }

    /// Bytes that streams keep, and that they promised room for.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.granted + self.kept as u64
    }

    /// Takes a packet of a host, or one about a host's stream. `false`: it is of no stream, and begins none.
    pub fn take_packet(&mut self, now: Duration, packet: &[u8], inner: &Inner, emit: Emit<'_>) -> bool {
        if inner.flow.protocol != TCP {
            return self.take_undelivered(now, packet);
        }
        if let Some(&name) = self.by_flow.get(&inner.flow)
            && let Some(stream) = self.streams.get_mut(&name)
            && !(stream.is_past() && tcp::is_takeable_syn(packet))
        {
            if stream.is_answered_elsewhere(packet) {
                self.give_up_answered_elsewhere(now, name);
                // the packet ends the connection that the far end began
                return false;
            }
            match &mut stream.connection {
                Some(connection) => connection.handle_packet(now, packet),
                None if matches!(stream.phase, Phase::Over) => refuse(packet, emit),
                None => {}
            }
            self.step_soon(now, name);
            return true;
        }
        let is_new = tcp::is_takeable_syn(packet) && !self.beside.has_flow(&inner.flow);
        if !is_new || self.has_no_way_back(now, inner.flow) {
            return false;
        }
        let is_full = self.streams.len() >= self.settings.most_streams || self.next_number > MOST_NUMBER;
        if is_full || !self.may_begin(inner.flow.source) {
            self.pass(inner.flow);
            return false;
        }
        let name = Name { number: self.next_number, is_own: true };
        self.next_number += 1;
        let mut stream = Stream::new(inner.flow, Phase::Asked(packet.to_vec()));
        if self.settings.answers_early {
            stream.connection = Connection::accept(now, packet, self.connection_settings(now, &inner.flow));
            stream.outgoing.raise_limit(EARLY_WINDOW);
            stream.phase = Phase::Early;
        }
        stream.wants.open = true;
        self.counters.opened += 1;
        self.insert(name, stream);
        self.count_half_open(name, &inner.flow);
        self.step(now, name, emit);
        true
    }

    fn insert(&mut self, name: Name, stream: Stream) {
        self.by_flow.insert(stream.flow, name);
        self.streams.insert(name, stream);
    }

    /// Takes a frame of the far end. `may_open`: whether the source of an *open* may begin connections there.
    /// `false`: the frame makes no sense.
    pub fn take_frame(
        &mut self,
        now: Duration,
        frame_type: FrameType,
        body: &[u8],
        may_open: bool,
        emit: Emit<'_>,
    ) -> bool {
        let taken = match frame_type {
            FrameType::StreamOpen => Open::parse(body).map(|open| {
                let name = open.name.of_other_end();
                self.take_open(now, name, &open, may_open);
                Some(name)
            }),
            FrameType::StreamData => Data::parse(body).map(|data| self.take_data(now, &data)),
            FrameType::StreamEnd => End::parse(body).map(|end| {
                self.named(now, end.name, |stream| {
                    stream.incoming.set_end(widen_offset(end.offset, stream.incoming.first()))
                })
            }),
            FrameType::StreamCredit => Credit::parse(body).map(|credit| self.take_credit(now, credit)),
            FrameType::StreamAbort => Abort::parse(body).map(|abort| self.take_abort(now, abort, emit)),
            FrameType::StreamStored => Stored::parse(body).map(|stored| {
                self.writer.confirm(stored.first, stored.count);
                None
            }),
            _ => return false,
        };
        match taken {
            Ok(Some(name)) => {
                self.step_soon(now, name);
                true
            }
            // it is over here, or was never opened: nothing is missing
            Ok(None) => true,
            Err(_) => false,
        }
    }

    /// Lets a stream that is open take something. One that cannot is given up.
    fn named(&mut self, now: Duration, name: Name, take: impl FnOnce(&mut Stream) -> bool) -> Option<Name> {
        let name = name.of_other_end();
        let takes = |stream: &&mut Stream| !matches!(stream.phase, Phase::Over);
        let stream = self.streams.get_mut(&name).filter(takes)?;
        if !take(stream) {
            self.abort(now, name);
        }
        Some(name)
    }

    fn take_open(&mut self, now: Duration, name: Name, open: &Open, is_allowed: bool) {
        // one that comes late may be of a stream that is over
        if name.is_own || !self.seen.note(name.number) {
            return;
        }
        let Open { source, destination, .. } = *open;
        // packets of the destination to the source come here
        let flow = Flow {
            source: destination.ip(),
            destination: source.ip(),
            protocol: TCP,
            source_port: destination.port(),
            destination_port: source.port(),
        };
        let before = self.by_flow.get(&flow).and_then(|name| self.streams.get(name));
        let is_full = self.streams.len() >= self.settings.most_streams
            || !self.may_connect(source.ip())
            || before.is_some_and(|before| !before.is_past());
        let cause = match (is_allowed, is_full) {
            (false, _) => Some(Cause::Forbidden),
            (true, true) => Some(Cause::Full),
            (true, false) => None,
        };
        if let Some(cause) = cause {
            if self.streams.len() < 2 * self.settings.most_streams {
                let mut stream = Stream::new(flow, Phase::Connecting);
                stream.give_up(now, Some(cause));
                self.streams.insert(name, stream);
            }
            return;
        }
        let settings = self.connection_settings(now, &flow);
        let mut stream = Stream::new(flow, Phase::Connecting);
        stream.incoming.raise_limit(EARLY_WINDOW);
        self.granted += EARLY_WINDOW;
        stream.connection = Some(Connection::connect(now, source, destination, settings));
        self.counters.accepted += 1;
        self.insert(name, stream);
        self.count_half_open(name, &flow);
    }

    fn take_data(&mut self, now: Duration, data: &Data<'_>) -> Option<Name> {
        self.named(now, data.name, |stream| {
            stream.is_awaited = true;
            stream.incoming.push(widen_offset(data.offset, stream.incoming.first()), data.bytes)
        })
    }

    fn take_credit(&mut self, now: Duration, credit: Credit) -> Option<Name> {
        let name = credit.name.of_other_end();
        let stream = self.streams.get(&name)?;
        let accepted = match &stream.phase {
            Phase::Asked(syn) => {
                let accepted = Connection::accept(now, syn, self.connection_settings(now, &stream.flow));
                if accepted.is_none() {
                    self.give_up(now, name, Some(Cause::Reset));
                    return Some(name);
                }
                accepted
            }
            _ => None,
        };
        let stream = self.streams.get_mut(&name)?;
        if let Some(connection) = accepted {
            stream.connection = Some(connection);
            stream.phase = Phase::Open;
            stream.wants.open = false;
        }
        match stream.phase {
            Phase::Early => {
                stream.phase = Phase::Open;
                stream.wants.open = false;
            }
            Phase::Connecting | Phase::Open => {}
            Phase::Asked(_) | Phase::Over => return Some(name),
        }
        stream.answered_by = None;
        stream.outgoing.raise_limit(widen_offset(credit.limit, stream.outgoing.limit()));
        if name.is_own {
            self.discount_half_open(name);
        }
        Some(name)
    }

    fn take_abort(&mut self, now: Duration, abort: Abort, emit: Emit<'_>) -> Option<Name> {
        let name = abort.name.of_other_end();
        let Some(stream) = self.streams.get_mut(&name) else {
            // the message that begins the stream may come later
            if !name.is_own {
                self.seen.note(name.number);
            }
            return None;
        };
        if matches!(stream.phase, Phase::Over) {
            return None;
        }
        let mut passed = None;
        if abort.cause == Cause::Unrestored {
            self.writer.forget();
        }
        let silent = (abort.cause == Cause::Silent && stream.is_unanswered()).then_some(stream.flow);
        self.counters.aborted += u64::from(!matches!(stream.phase, Phase::Asked(_)));
        match (&mut stream.phase, &mut stream.connection) {
            (Phase::Asked(_), _) if matches!(abort.cause, Cause::Full | Cause::Forbidden) => {
                passed = Some(stream.flow);
            }
            (Phase::Asked(syn), _) => {
                self.counters.refused += 1;
                // a host asks a silent destination for minutes, and this one was asked for half of one
                if abort.cause != Cause::Silent {
                    refuse(syn, emit);
                }
            }
            (_, Some(connection)) => {
                connection.abort();
                connection.poll(now, &mut |packet| emit(packet));
            }
            _ => {}
        }
        self.give_up(now, name, None);
        passed.into_iter().for_each(|flow| self.pass(flow));
        silent.into_iter().for_each(|flow| self.note_no_way_back(now, &flow, false));
        Some(name)
    }

    /// Gives a stream up, whose far end misbehaves.
    fn abort(&mut self, now: Duration, name: Name) {
        let Some(stream) = self.streams.get_mut(&name) else { return };
        match &mut stream.connection {
            Some(connection) => {
                connection.abort();
                stream.wants.abort = Some(Cause::Reset);
            }
            None => self.give_up(now, name, Some(Cause::Reset)),
        }
    }

    pub(crate) fn give_up(&mut self, now: Duration, name: Name, cause: Option<Cause>) {
        let Some(stream) = self.streams.get_mut(&name) else { return };
        self.granted -= stream.incoming.granted_bytes();
        self.kept -= stream.outgoing.kept_bytes();
        stream.give_up(now, cause);
        stream.end_unread(&mut self.writer);
        if !name.is_own {
            self.discount_half_open(name);
        }
    }

    /// Does for a stream what there is to do.
    pub(crate) fn step(&mut self, now: Duration, name: Name, emit: Emit<'_>) {
        self.read(now, name, emit);
        let streams_now = self.streams.len() as u64;
        let Some(stream) = self.streams.get_mut(&name) else { return };
        let half = self.settings.memory_bytes / 2;
        let (kept, granted) = (stream.outgoing.kept_bytes(), stream.incoming.granted_bytes());
        let was_connecting = matches!(stream.phase, Phase::Connecting);
        let handed_on = stream.incoming.handed_on();
        let spare = half.saturating_sub(self.kept).min(MOST_WINDOW as usize);
        let opened = match stream.phase {
            Phase::Open | Phase::Connecting | Phase::Early => {
                stream.carry(now, spare, emit);
                let opened = stream.take_state(now);
                if matches!(stream.phase, Phase::Over) {
                    let Counters { refused, aborted, .. } = &mut self.counters;
                    *if was_connecting { refused } else { aborted } += 1;
                }
                opened
            }
            _ => false,
        };
        self.counters.received_bytes += stream.incoming.handed_on().saturating_sub(handed_on);
        stream.end_unread(&mut self.writer);
        let is_connecting = matches!(stream.phase, Phase::Connecting);
        if !is_connecting && !matches!(stream.phase, Phase::Over) {
            let others = self.granted - stream.incoming.granted_bytes();
            let most = (half as u64).saturating_sub(others) / SHARE;
            let first = half as u64 / FIRST_SHARE / streams_now;
            stream.grant(opened, first, most.clamp(LEAST_WINDOW, MOST_WINDOW));
        }
        self.kept = self.kept + stream.outgoing.kept_bytes() - kept;
        self.granted = self.granted + stream.incoming.granted_bytes() - granted;
        let connection = stream.connection.as_mut().and_then(|connection| connection.timeout(now));
        let timer = [connection, stream.forgotten_at, stream.answered_by].into_iter().flatten().min();
        if timer != stream.timer {
            stream.timer.into_iter().for_each(|before| _ = self.timers.remove(&(before, name)));
            timer.into_iter().for_each(|at| _ = self.timers.insert((at, name)));
            stream.timer = timer;
        }
        if was_connecting && !is_connecting {
            self.discount_half_open(name);
        }
        self.note_starving(name);
        self.feed_next(now);
        self.enqueue(name);
    }

    /// A stream with something to tell or to send waits for its turn.
    pub(crate) fn enqueue(&mut self, name: Name) {
        let Some(stream) = self.streams.get_mut(&name) else { return };
        if !stream.tells && stream.has_to_tell() {
            stream.tells = true;
            self.telling.push_back(name);
        }
        if !stream.sends && stream.has_to_send() {
            stream.sends = true;
            let is_short = stream.outgoing.waiting_bytes() <= FEW_BYTES;
            if is_short { self.urgent.push_back(name) } else { self.bulk.push_back(name) }
        }
    }

    pub(crate) fn forget(&mut self, name: Name) {
        self.discount_half_open(name);
        if let Some(stream) = self.streams.remove(&name)
            && self.by_flow.get(&stream.flow) == Some(&name)
        {
            self.by_flow.remove(&stream.flow);
        }
    }

    /// Resets every connection: the far end has no streams any more.
    pub fn reset(&mut self, now: Duration, emit: Emit<'_>) {
        self.counters.aborted += self.open_streams() as u64;
        for stream in self.streams.values_mut() {
            match (&mut stream.connection, &stream.phase) {
                (Some(connection), _) => {
                    connection.abort();
                    connection.poll(now, &mut |packet| emit(packet));
                }
                (None, Phase::Asked(syn)) => refuse(syn, emit),
                _ => {}
            }
        }
        let beside = std::mem::take(&mut self.beside);
        *self = Streams { beside, counters: self.counters, ..Streams::new(self.settings) };
    }
}

/// Answers a packet by a reset, if it may have one.
fn refuse(packet: &[u8], emit: Emit<'_>) {
    let mut reset = Vec::new();
    if tcp::write_reset(packet, &mut reset) {
        emit(&reset);
    }
}

/// The end of a flow where its packets come from, and the other one.
pub(crate) fn ends(flow: &Flow) -> (SocketAddr, SocketAddr) {
    (SocketAddr::new(flow.source, flow.source_port), SocketAddr::new(flow.destination, flow.destination_port))
}
