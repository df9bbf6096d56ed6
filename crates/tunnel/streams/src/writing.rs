//! The frames of a datagram with parts of streams.

use crate::stream::{Phase, Stream, Wants};
use crate::streams::{Streams, ends};
use crate::under_way::Part;
use wire::frame::{self, FrameType, MAX_LENGTH_BYTES};
use wire::stream::{Abort, Credit, Data, End, MOST_DATA_FRONT_BYTES, Name, Open, Stored};

/// The most bytes that begin a stream and tell its room.
const CONTROL_BYTES: usize = 2 * (1 + MAX_LENGTH_BYTES) + Open::MOST_BYTES + MOST_DATA_FRONT_BYTES;
/// The bytes around a stream's bytes in a frame, at most.
const AROUND_DATA: usize = 1 + MAX_LENGTH_BYTES + MOST_DATA_FRONT_BYTES;
/// Fewer bytes of a stream are no frame of their own, unless no more are left.
const LEAST_DATA_BYTES: usize = 64;

/// The bytes of a frame that names stored records, at most.
const STORED_BYTES: usize = 1 + MAX_LENGTH_BYTES + Stored::MOST_BYTES;
/// Stands for the stream where a part is of none.
const NO_STREAM: Name = Name { number: 0, is_own: true };

/// The message that begins a stream.
fn open(name: Name, stream: &Stream) -> Open {
    let (source, destination) = ends(&stream.flow);
    Open { name, source, destination }
}

impl Streams {
    /// Whether something is to leave beside bytes.
    #[must_use]
    pub fn has_to_tell(&self) -> bool {
        (!self.telling.is_empty() || self.tells_stored) && !self.under_way.is_full()
    }

    /// Whether bytes are to leave.
    #[must_use]
    pub fn has_to_send(&self) -> bool {
        !(self.urgent.is_empty() && self.bulk.is_empty() || self.under_way.is_full())
    }

    /// Whether so few bytes are left that the rest of a burst is soon gone.
    #[must_use]
    pub fn is_nearly_done(&self, few_bytes: u64) -> bool {
        let names = self.urgent.iter().chain(&self.bulk);
        let mut left = few_bytes;
        names.filter_map(|name| self.streams.get(name)).all(|stream| {
            let waiting = stream.outgoing.waiting_bytes();
            let fits = waiting <= left;
            left = left.saturating_sub(waiting);
            fits
        })
    }

    /// Whether the far end waits for something that left since this was asked before.
    pub fn take_awaited(&mut self) -> bool {
        std::mem::take(&mut self.is_awaited)
    }

    /// Appends frames to a datagram with this sequence, up to `limit`. `with_data`: bytes of streams may
    /// leave.
    pub fn write(&mut self, sequence: u64, with_data: bool, limit: usize, out: &mut Vec<u8>) {
        while out.len() + CONTROL_BYTES <= limit
            && !self.under_way.is_full()
            && let Some(name) = self.telling.pop_front()
        {
            self.write_control(sequence, name, out);
        }
        self.write_stored(sequence, limit, out);
        for _ in 0..if with_data { self.urgent.len() + self.bulk.len() } else { 0 } {
            if out.len() + AROUND_DATA + LEAST_DATA_BYTES > limit || self.under_way.is_full() {
                break;
            }
            let queue = if self.urgent.is_empty() { &mut self.bulk } else { &mut self.urgent };
            let Some(name) = queue.pop_front() else { break };
            self.write_data(sequence, name, limit, out);
            self.enqueue(name);
        }
    }

    /// Names stored records, as far as there is room.
    fn write_stored(&mut self, sequence: u64, limit: usize, out: &mut Vec<u8>) {
        while out.len() + STORED_BYTES <= limit
            && !self.under_way.is_full()
            && let Some(records) = self.reader.take_stored()
        {
            let mut body = Vec::new();
            let count = (records.end - records.start) as u32;
            Stored { first: records.start as u32, count }.emit(&mut body);
            frame::emit(FrameType::StreamStored, &body, out);
            self.under_way.push(sequence, NO_STREAM, Part::Stored(records));
        }
        if !self.reader.has_stored() {
            (self.tells_stored_at, self.tells_stored) = (None, false);
        }
    }

    fn write_control(&mut self, sequence: u64, name: Name, out: &mut Vec<u8>) {
        let Some(stream) = self.streams.get_mut(&name) else { return };
        stream.tells = false;
        self.is_awaited |= stream.is_awaited;
        let mut body = Vec::new();
        let mut write = |frame_type, part, body: &mut Vec<u8>| {
            frame::emit(frame_type, body, out);
            body.clear();
            self.under_way.push(sequence, name, part);
        };
        if let Some(cause) = stream.wants.abort.take() {
            Abort { name, cause }.emit(&mut body);
            write(FrameType::StreamAbort, Part::Abort(cause), &mut body);
            return;
        }
        let Wants { open: opens, credit: credits, .. } = std::mem::take(&mut stream.wants);
        let is_unanswered = stream.is_unanswered();
        // credit means nothing where the stream is not known yet
        if (opens || credits) && is_unanswered {
            open(name, stream).emit(&mut body);
            write(FrameType::StreamOpen, Part::Open, &mut body);
        }
        if credits || opens && is_unanswered {
            let limit = stream.incoming.limit();
            Credit::emit(name, limit, &mut body);
            write(FrameType::StreamCredit, Part::Credit(limit), &mut body);
        }
    }

    /// Writes bytes of a stream as far as there is room, and their end.
    fn write_data(&mut self, sequence: u64, name: Name, limit: usize, out: &mut Vec<u8>) {
        let Some(stream) = self.streams.get_mut(&name) else { return };
        stream.sends = false;
        self.is_awaited |= stream.is_awaited;
        if matches!(stream.phase, Phase::Early) {
            // these bytes mean nothing where the stream is not known yet
            if out.len() + CONTROL_BYTES + AROUND_DATA + LEAST_DATA_BYTES > limit {
                return;
            }
            let mut body = Vec::new();
            open(name, stream).emit(&mut body);
            frame::emit(FrameType::StreamOpen, &body, out);
        }
        let outgoing = &mut stream.outgoing;
        while outgoing.has_bytes() && !self.under_way.is_full() {
            let kept = outgoing.kept_bytes();
            let recorded = outgoing.record(&stream.flow, self.record_bytes, &mut self.writer);
            self.counters.taken_bytes += recorded as u64;
            self.kept = self.kept + outgoing.kept_bytes() - kept;
            let room = limit.saturating_sub(out.len() + AROUND_DATA);
            let is_little = outgoing.waiting_bytes() <= room as u64;
            if room == 0 || room < LEAST_DATA_BYTES && !is_little {
                return;
            }
            let sent_before = outgoing.sent_before();
            let Some(piece) = outgoing.take_piece(room) else { break };
            let bytes = (piece.end - piece.start) as usize;
            let is_new = piece.end > sent_before;
            let mut front = Vec::with_capacity(MOST_DATA_FRONT_BYTES);
            Data::emit_front(name, piece.start, &mut front);
            frame::emit_front(FrameType::StreamData, front.len() + bytes, out);
            out.extend_from_slice(&front);
            outgoing.copy(&piece, out);
            let counter =
                if is_new { &mut self.counters.sent_bytes } else { &mut self.counters.resent_bytes };
            *counter += bytes as u64;
            self.under_way.push(sequence, name, Part::Data(piece));
        }
        if let Some(end) = outgoing.due_end().filter(|_| !outgoing.has_bytes())
            && out.len() + AROUND_DATA <= limit
        {
            let mut body = Vec::new();
            End::emit(name, end, &mut body);
            frame::emit(FrameType::StreamEnd, &body, out);
            outgoing.note_end_sent();
            self.under_way.push(sequence, name, Part::End);
        }
        stream.is_awaited &= stream.has_to_send();
    }
}
