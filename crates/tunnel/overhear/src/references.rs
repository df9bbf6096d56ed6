//! References of a packet to chunks and to their neighbours (beyond the paper).
//!
//! A repetition under another cut does not end at chunk boundaries. Its first and last stretches in the
//! packet are parts of chunks, and its first chunks are new until the cuts agree. The bytes before and behind
//! a referenced chunk are therefore compared with its earlier neighbours. Chunks that agree are referred to
//! as a whole, at any boundary of the packet. Of a chunk that agrees in part, the beginning or the end is
//! referred to.
//!
//! Sizes reveal content. An attacker who sends a packet to a station and sees the removed bytes learns
//! whether another station received the same bytes. The rest of the packet may be known, and so may all but a
//! few bytes of a chunk. A guess here covers a whole number of smallest chunks, counted from a boundary
//! outside the guess. Parts are multiples of the smallest chunk, beside a chunk that agreed. The bytes behind
//! a correct guess again need a guess of that size, so no guess advances byte by byte.

use re::extent::{common_prefix, common_suffix};
use std::ops::Range;
use wire::shim::slots::{PART_BYTES, Part, Run};

/// Bytes of a packet that a chunk, or a part of it, replaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// Range in the packet.
    pub range: Range<usize>,
    /// Slot of the chunk.
    pub chunk: u32,
    /// The part of its bytes.
    pub part: Part,
}

impl Reference {
    /// A reference to a whole chunk.
    pub fn to_whole(range: Range<usize>, chunk: u32) -> Self {
        Reference { range, chunk, part: Part::Whole }
    }
}

/// Neighbours of chunks. They are hints, so the caller compares bytes.
pub trait Surroundings {
    /// The chunk before this one.
    fn before(&self, chunk: u32) -> Option<u32>;
    /// The chunk behind this one.
    fn behind(&self, chunk: u32) -> Option<u32>;
    /// A chunk's bytes; empty if it is no longer stored.
    fn bytes(&self, chunk: u32) -> &[u8];
    /// Begins to fetch the memory of all that.
    fn prefetch(&self, chunk: u32);
}

/// Extends references to whole chunks, in the packet's order, into the gaps between them, where `allows`
/// permits it.
pub struct Grower<'a, S, A> {
    /// The packet.
    pub packet: &'a [u8],
    /// Neighbours of chunks.
    pub seen: &'a S,
    /// Unit of parts; one of [`PART_BYTES`].
    pub smallest_bytes: usize,
    /// Whether a reference to this many bytes of a chunk is allowed.
    pub allows: A,
}

impl<S: Surroundings, A: FnMut(u32, usize) -> bool> Grower<'_, S, A> {
    /// Appends the references and their extensions, in the packet's order.
    pub fn grow(&mut self, references: &[Reference], out: &mut Vec<Reference>) {
        let mut from = 0;
        for (index, reference) in references.iter().enumerate() {
            let next = references.get(index + 1).map_or(self.packet.len(), |next| next.range.start);
            if reference.range.start - from >= self.smallest_bytes
                && let Some(before) = self.seen.before(reference.chunk)
            {
                self.seen.prefetch(before);
            }
            if next - reference.range.end >= self.smallest_bytes
                && let Some(behind) = self.seen.behind(reference.chunk)
            {
                self.seen.prefetch(behind);
            }
            from = reference.range.end;
        }
        from = 0;
        for (index, reference) in references.iter().enumerate() {
            if index > 0 {
                from = self.forwards(references[index - 1].chunk, from..reference.range.start, out);
            }
            self.backwards(reference.chunk, from..reference.range.start, out);
            from = reference.range.end;
            out.push(reference.clone());
        }
        if let Some(last) = references.last() {
            self.forwards(last.chunk, from..self.packet.len(), out);
        }
    }

    /// Extends into `gap` by the chunks behind `chunk`. Returns the new start of the gap.
    fn forwards(&mut self, mut chunk: u32, gap: Range<usize>, out: &mut Vec<Reference>) -> usize {
        let mut from = gap.start;
        while gap.end - from >= self.smallest_bytes
            && let Some(next) = self.seen.behind(chunk)
        {
            let bytes = self.seen.bytes(next);
            let agreeing = common_prefix(bytes, &self.packet[from..gap.end]);
            let Some((part, part_bytes)) = self.part(agreeing, bytes.len(), Part::Beginning) else { break };
            if !(self.allows)(next, part_bytes) {
                break;
            }
            out.push(Reference { range: from..from + part_bytes, chunk: next, part });
            from += part_bytes;
            chunk = next;
            if part != Part::Whole {
                break;
            }
        }
        from
    }

    /// Extends into `gap` by the chunks before `chunk`.
    fn backwards(&mut self, mut chunk: u32, gap: Range<usize>, out: &mut Vec<Reference>) {
        let (mut to, first) = (gap.end, out.len());
        while to - gap.start >= self.smallest_bytes
            && let Some(next) = self.seen.before(chunk)
        {
            let bytes = self.seen.bytes(next);
            let agreeing = common_suffix(bytes, &self.packet[gap.start..to]);
            let Some((part, part_bytes)) = self.part(agreeing, bytes.len(), Part::End) else { break };
            if !(self.allows)(next, part_bytes) {
                break;
            }
            out.push(Reference { range: to - part_bytes..to, chunk: next, part });
            to -= part_bytes;
            chunk = next;
            if part != Part::Whole {
                break;
            }
        }
        out[first..].reverse();
    }

    /// The part of a chunk that agrees in `agreeing` bytes, and its length.
    fn part(&self, agreeing: usize, of_bytes: usize, part: fn(u8) -> Part) -> Option<(Part, usize)> {
        if agreeing < self.smallest_bytes {
            None
        } else if agreeing == of_bytes {
            Some((Part::Whole, of_bytes))
        } else {
            let bytes = agreeing - agreeing % self.smallest_bytes;
            Some((part((bytes / PART_BYTES) as u8), bytes))
        }
    }
}

/// The non-empty stretches between references in a packet of `packet_bytes`.
pub fn gaps(references: &[Reference], packet_bytes: usize) -> impl Iterator<Item = Range<usize>> {
    let starts = std::iter::once(0).chain(references.iter().map(|reference| reference.range.end));
    let ends = references.iter().map(|reference| reference.range.start).chain(std::iter::once(packet_bytes));
    starts.zip(ends).map(|(start, end)| start..end).filter(|gap| !gap.is_empty())
}

/// Replaces the contents of `out` by the shim's runs for references.
pub fn runs(references: &[Reference], out: &mut Vec<Run>) {
    out.clear();
    let mut end_of_last = 0;
    for (index, reference) in references.iter().enumerate() {
        let literal_bytes = (reference.range.start - end_of_last) as u32;
        end_of_last = reference.range.end;
        let goes_on = index > 0
            && literal_bytes == 0
            && !matches!(references[index - 1].part, Part::Beginning(_))
            && !matches!(reference.part, Part::End(_));
        match out.last_mut() {
            Some(run) if goes_on => run.slots += 1,
            _ => out.push(Run::of_whole(literal_bytes, 1)),
        }
        if let Some(run) = out.last_mut() {
            match reference.part {
                Part::Whole => {}
                Part::Beginning(count) => run.beginning = count,
                Part::End(count) => run.end = count,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    /// Consecutive chunks of some content.
    struct Line {
        content: Vec<u8>,
        ends: Vec<usize>,
    }

    impl Surroundings for Line {
        fn before(&self, chunk: u32) -> Option<u32> {
            chunk.checked_sub(1)
        }

        fn behind(&self, chunk: u32) -> Option<u32> {
            Some(chunk + 1).filter(|next| (*next as usize) < self.ends.len())
        }

        fn prefetch(&self, _chunk: u32) {}

        fn bytes(&self, chunk: u32) -> &[u8] {
            let chunk = chunk as usize;
            &self.content[if chunk == 0 { 0 } else { self.ends[chunk - 1] }..self.ends[chunk]]
        }
    }

    fn line() -> Line {
        let mut content = vec![0; 600];
        ChaCha8Rng::seed_from_u64(5).fill_bytes(&mut content);
        Line { content, ends: vec![100, 230, 300, 430, 600] }
    }

    fn grown(packet: &[u8], smallest_bytes: usize, references: &[Reference]) -> Vec<Reference> {
        let (seen, mut out) = (line(), Vec::new());
        let mut grower = Grower { packet, seen: &seen, smallest_bytes, allows: |_, _| true };
        grower.grow(references, &mut out);
        for reference in &out {
            assert_eq!(
                reference.part.of(seen.bytes(reference.chunk)),
                Some(&packet[reference.range.clone()])
            );
        }
        out
    }

    #[test]
    fn what_stood_around_a_chunk_is_referred_to_in_multiples_of_the_smallest() {
        let content = line().content;
        // 70 bytes of the first chunk's end, and 100 of the fourth chunk's beginning.
        let packet = [&[1; 9][..], &content[30..400], &[2; 50]].concat();
        let found = Reference::to_whole(79..209, 1);
        let out = grown(&packet, 32, std::slice::from_ref(&found));
        let said: Vec<_> = out.iter().map(|of| (of.range.clone(), of.chunk, of.part)).collect();
        let expected = [
            (15..79, 0, Part::End(2)),
            (79..209, 1, Part::Whole),
            (209..279, 2, Part::Whole),
            (279..375, 3, Part::Beginning(3)),
        ];
        assert_eq!(said, expected);
        let mut runs_of = Vec::new();
        runs(&out, &mut runs_of);
        assert_eq!(runs_of, [Run { literal_bytes: 15, slots: 4, end: 2, beginning: 3 }]);
        assert_eq!(gaps(&out, packet.len()).collect::<Vec<_>>(), [0..15, 375..packet.len()]);
        // One byte less than the smallest chunk on either side stays a literal.
        let packet = &content[100 - 63..300 + 63];
        let found = [Reference::to_whole(63..193, 1), Reference::to_whole(193..263, 2)];
        assert_eq!(grown(packet, 64, &found), found);
    }

    #[test]
    fn nothing_grows_into_what_is_referred_to_already_or_not_allowed() {
        let content = line().content;
        let found = [Reference::to_whole(0..130, 1), Reference::to_whole(130..300, 4)];
        let packet = [&content[100..230], &content[430..600]].concat();
        assert_eq!(grown(&packet, 32, &found), found);
        let (seen, mut out) = (line(), Vec::new());
        let packet = &content[100..600];
        let mut grower = Grower { packet, seen: &seen, smallest_bytes: 32, allows: |chunk, _| chunk != 3 };
        grower.grow(&found[..1], &mut out);
        assert_eq!(out.iter().map(|of| of.chunk).collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn parts_that_meet_stand_in_runs_of_their_own() {
        let whole = |range, chunk| Reference::to_whole(range, chunk);
        let part = |range, chunk, part| Reference { range, chunk, part };
        let references = [
            whole(10..100, 1),
            part(100..132, 2, Part::Beginning(1)),
            part(132..196, 3, Part::End(2)),
            whole(196..300, 4),
            whole(300..400, 9),
        ];
        let mut out = Vec::new();
        runs(&references, &mut out);
        let first = Run { literal_bytes: 10, slots: 2, end: 0, beginning: 1 };
        let second = Run { literal_bytes: 0, slots: 3, end: 2, beginning: 0 };
        assert_eq!(out, [first, second]);
    }
}
