//! Requests for chunks that a station lacked (REfactor, section 3.1.1).

use super::Gateway;
use super::sent::SentChunk;
use crate::names::{PacketNumber, StationId};
use wire::chunk_reply;
use wire::chunk_request::ChunkRequest;
use wire::number::{SEQUENCE_BITS, widen};
use wire::shim::slots::Part;

/// Result of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// A chunk reply for the station was appended.
    Supplied {
        /// The reply's number.
        number: PacketNumber,
        /// Number of chunks in the reply.
        chunks: usize,
    },
    /// Some of the requested chunks are gone. The caller may send the whole packet again.
    Gone {
        /// The packet's number.
        number: PacketNumber,
    },
    /// The request is refused: it is malformed, concerns no recent packet of this station or no removed
    /// chunk, or was answered often enough.
    Refused,
}

impl Gateway {
    /// Answers a station's request.
    pub fn answer_request(&mut self, by: StationId, request: &[u8], out: &mut Vec<u8>) -> Answer {
        let start = out.len();
        let answer = self.answer(by, request, out);
        match answer {
            Answer::Supplied { .. } => {
                self.statistics.answered_requests += 1;
                self.statistics.reply_bytes += (out.len() - start) as u64;
            }
            Answer::Gone { .. } | Answer::Refused => self.statistics.refused_requests += 1,
        }
        answer
    }

    fn answer(&mut self, by: StationId, request: &[u8], out: &mut Vec<u8>) -> Answer {
        let Ok(request) = ChunkRequest::parse(request) else { return Answer::Refused };
        let number = PacketNumber(widen(request.number.into(), SEQUENCE_BITS, self.sent.next().0));
        let Some((packet, column)) = self.packet_of(by, number) else { return Answer::Refused };
        if packet.requests >= self.settings.misses.tries {
            return Answer::Refused;
        }
        let removed: Vec<SentChunk> = self.sent.chunks(packet).filter(|chunk| chunk.was_removed()).collect();
        let mut missing: Vec<usize> = request.missing().collect();
        let is_wrong = missing.last() == Some(&removed.len()) && missing.len() == removed.len() + 1;
        if is_wrong {
            missing.pop();
        }
        if missing.last().is_none_or(|&last| last >= removed.len()) {
            return Answer::Refused;
        }
        self.sent.note_request(number);
        if packet.requests == 0 {
            self.note_misses(column, &removed, &missing, is_wrong);
        }
        let chunk_of = |index: &usize| {
            let chunk = removed[*index];
            let there = self.cache.head(chunk.slot()).tag() == chunk.tag();
            // The station never got other parts of the chunk, so the reply does not contain them either.
            self.cache.chunk(chunk.slot()).filter(|_| there).and_then(|bytes| chunk.part().of(bytes))
        };
        let Some(chunks) = missing.iter().map(chunk_of).collect::<Option<Vec<&[u8]>>>() else {
            return Answer::Gone { number };
        };
        chunk_reply::emit(number.0, chunks.iter().copied(), out);
        let whole = missing.iter().map(|index| removed[*index]).filter(|chunk| chunk.part() == Part::Whole);
        let mut carried = 0;
        for chunk in whole.map(SentChunk::carried) {
            self.knowledge.transmitted(&mut self.cache, chunk.slot(), self.sent.next().0, column);
            self.sent.push_chunk(chunk);
            carried += 1;
        }
        let number = self.sent.push_packet(column, carried);
        Answer::Supplied { number, chunks: missing.len() }
    }

    /// Notes that the station lacks the requested chunks and has the rest. With `is_wrong` one unknown chunk
    /// differs from the intended one: all become uncertain, but only one costs trust.
    fn note_misses(&mut self, column: u8, removed: &[SentChunk], missing: &[usize], is_wrong: bool) {
        let Some(associated) = self.stations.of_column_mut(column) else { return };
        for (index, chunk) in removed.iter().enumerate() {
            let there = missing.binary_search(&index).is_err() || (is_wrong && index > 0);
            associated.profile.record_chunk(chunk.origin(), there);
        }
        for (index, chunk) in removed.iter().enumerate() {
            let there = missing.binary_search(&index).is_err();
            if self.cache.head(chunk.slot()).tag() == chunk.tag() {
                self.knowledge.set(&mut self.cache, chunk.slot(), column, there);
            }
        }
    }
}
