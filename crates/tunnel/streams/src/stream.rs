//! One stream: a connection of a host, and its bytes in both directions.

use crate::incoming::Incoming;
use crate::outgoing::Outgoing;
use crate::records::{RecordReader, RecordWriter, Unreadable};
use crate::tcp::{Connection, State, resets_another_answer};
use crate::under_way::Part;
use std::time::Duration;
use wire::inner::Flow;
use wire::stream::Cause;

/// The least room that a stream has at its receiver.
pub const LEAST_WINDOW: u64 = 16 << 10;
/// Room is told when this share of it was used.
const TOLD_SHARE: u64 = 4;

/// A complete stream answers its host for so much longer.
const LINGER: Duration = Duration::from_secs(3);

/// The far end answers in this time: its destination may take half of it.
const ANSWER: Duration = Duration::from_secs(60);

/// How far the connection stands.
pub enum Phase {
    /// Opened here: the host's SYN waits for the far end's answer.
    Asked(Vec<u8>),
    /// Opened here, and the host was answered before the far end did.
    Early,
    /// Opened by the far end: the destination is to answer.
    Connecting,
    /// Both hosts are connected.
    Open,
    /// It is over, and known to be.
    Over,
}

/// Messages that wait for the far end.
#[derive(Debug, Default)]
pub struct Wants {
    /// That the connection begins.
    pub open: bool,
    /// How much room there is.
    pub credit: bool,
    /// That the stream is given up.
    pub abort: Option<Cause>,
}

/// One stream.
pub struct Stream {
    /// The flow of the host's packets.
    pub flow: Flow,
    pub phase: Phase,
    pub connection: Option<Connection>,
    pub outgoing: Outgoing,
    pub incoming: Incoming,
    pub wants: Wants,
    /// It waits for its turn to tell something.
    pub tells: bool,
    /// It waits for its turn to send bytes.
    pub sends: bool,
    /// When it has something to do.
    pub timer: Option<Duration>,
    /// When it is forgotten.
    pub forgotten_at: Option<Duration>,
    /// When the far end is to have answered, once it knows of the stream.
    pub answered_by: Option<Duration>,
    /// It counts as one that has begun and does not stand.
    pub is_half_open: bool,
    /// It waits for memory for its host's bytes.
    pub starves: bool,
    /// Room for bytes that the host did not take yet.
    window: u64,
    /// The host was told that no bytes follow.
    is_finished: bool,
    /// The far end spoke last, or nobody yet: it waits for what leaves now.
    pub is_awaited: bool,
}

impl Stream {
    /// A stream of this flow.
    pub fn new(flow: Flow, phase: Phase) -> Self {
        Stream {
            flow,
            phase,
            connection: None,
            outgoing: Outgoing::default(),
            incoming: Incoming::default(),
            wants: Wants::default(),
            tells: false,
            sends: false,
            timer: None,
            forgotten_at: None,
            answered_by: None,
            is_half_open: false,
            starves: false,
            window: 0,
            is_finished: false,
            is_awaited: true,
        }
    }

    /// Whether the far end has not answered yet.
    pub fn is_unanswered(&self) -> bool {
        matches!(self.phase, Phase::Asked(_) | Phase::Early)
    }

    /// Whether a packet of the host shows that the destination answered it by another way.
    pub fn is_answered_elsewhere(&self, packet: &[u8]) -> bool {
        matches!(&self.phase, Phase::Asked(syn) if resets_another_answer(packet, syn))
    }

    /// Whether the hosts may begin another connection by the same ports.
    pub fn is_past(&self) -> bool {
        matches!(self.phase, Phase::Over) || self.forgotten_at.is_some()
    }

    /// Whether the far end is to be told something.
    pub fn has_to_tell(&self) -> bool {
        let Wants { open, credit, abort } = &self.wants;
        *open || *credit || abort.is_some()
    }

    /// Whether bytes are to leave, or their end.
    pub fn has_to_send(&self) -> bool {
        self.outgoing.has_bytes() || self.outgoing.due_end().is_some()
    }

    /// Reads the records that came. An error: they cannot be read.
    pub fn read(&mut self, reader: &mut RecordReader, record: &mut Vec<u8>) -> Result<(), Unreadable> {
        let flow = self.flow.reversed();
        while self.incoming.take_record(record)? {
            let plain = reader.read(&flow, self.incoming.next_byte(), record)?;
            if !self.incoming.push_read(plain) {
                return Err(Unreadable::Malformed);
            }
        }
        Ok(())
    }

    /// Gives the far end room: `first` bytes at the beginning, and twice as much whenever it used half of it
    /// and the host takes what comes, up to `most`. It is told where the connection just opened, and of room
    /// that grew by a share.
    pub fn grant(&mut self, opened: bool, first: u64, most: u64) {
        let Stream { incoming, wants, window, .. } = self;
        if *window == 0 {
            *window = first.max(LEAST_WINDOW);
            wants.credit |= incoming.raise_limit(incoming.freed() + *window);
        }
        if incoming.used() >= incoming.limit().saturating_sub(*window / 2) && !incoming.is_waiting() {
            *window = window.saturating_mul(2);
        }
        *window = (*window).clamp(LEAST_WINDOW, most);
        let limit = incoming.freed() + *window;
        let is_worth = limit >= incoming.limit() + *window / TOLD_SHARE && !incoming.is_complete();
        if opened || is_worth {
            wants.credit |= incoming.raise_limit(limit);
        }
    }

    /// Tells the writer which records that refer to others were read, or never will be.
    pub fn end_unread(&mut self, writer: &mut RecordWriter) {
        while let Some(number) = self.outgoing.take_read() {
            writer.end_unread(number);
        }
    }

    /// Moves bytes between the host and the hop; `spare` more bytes may be kept here. How the connection
    /// stands.
    pub fn carry(&mut self, now: Duration, spare: usize, emit: &mut dyn FnMut(&[u8])) {
        let Some(connection) = &mut self.connection else { return };
        connection.poll(now, &mut |packet| emit(packet));
        let mut moved = false;
        let Stream { outgoing, incoming, .. } = self;
        let mut wanted = outgoing.wanted_bytes().min(spare);
        while wanted > 0 && connection.readable() > 0 {
            wanted -= connection.read(|bytes| {
                let taken = bytes.len().min(wanted);
                outgoing.push(&bytes[..taken]);
                taken
            });
            moved = true;
        }
        loop {
            let written = connection.write(incoming.ready());
            if written == 0 {
                break;
            }
            incoming.consume(written);
            moved = true;
        }
        if connection.has_ended() && !outgoing.is_finished() {
            outgoing.finish();
        }
        if incoming.is_complete() && !self.is_finished {
            self.is_finished = true;
            connection.finish();
            moved = true;
        }
        if moved {
            connection.poll(now, &mut |packet| emit(packet));
        }
    }

    /// Takes what the connection became: whether it just opened.
    pub fn take_state(&mut self, now: Duration) -> bool {
        let Some(connection) = &self.connection else { return false };
        let is_connecting = matches!(self.phase, Phase::Connecting);
        match connection.state() {
            State::Opening => {}
            State::Open => {
                if is_connecting {
                    self.phase = Phase::Open;
                    self.wants.credit = true;
                    return true;
                }
            }
            State::Refused => self.give_up(now, Some(Cause::Refused)),
            State::Reset => {
                self.give_up(now, Some(if is_connecting { Cause::Silent } else { Cause::Reset }));
            }
            State::Closed => {
                if self.outgoing.is_complete() && self.incoming.is_complete() {
                    self.forgotten_at.get_or_insert(now + LINGER);
                }
            }
        }
        false
    }

    /// Ends it before its end. The far end is told the cause, if there is one.
    pub fn give_up(&mut self, now: Duration, cause: Option<Cause>) {
        if matches!(self.phase, Phase::Over) {
            return;
        }
        self.phase = Phase::Over;
        self.connection = None;
        self.answered_by = None;
        self.outgoing.give_up();
        self.incoming = Incoming::default();
        self.wants = Wants { abort: cause, ..Wants::default() };
        self.forgotten_at = cause.is_none().then_some(now + LINGER);
    }

    /// Takes the fate of a part that left.
    pub fn settle(&mut self, now: Duration, part: Part, came: bool) {
        if matches!(self.phase, Phase::Over) {
            match part {
                Part::Abort(_) if came => self.forgotten_at = Some(now + LINGER),
                Part::Abort(cause) => self.wants.abort = Some(cause),
                _ => {}
            }
            return;
        }
        match part {
            Part::Open if came && self.is_unanswered() => {
                self.answered_by.get_or_insert(now + ANSWER);
            }
            Part::Open => self.wants.open |= !came && self.is_unanswered(),
            Part::Data(piece) if came => self.outgoing.note_came(piece),
            Part::Data(piece) => self.outgoing.note_lost(piece),
            Part::End => self.outgoing.note_end(came),
            Part::Credit(limit) => self.wants.credit |= !came && limit == self.incoming.limit(),
            Part::Abort(_) | Part::Stored(_) => {}
        }
    }
}
