//! Frames between the nodes of a mesh that code: natives, alone or combined by XOR, with reception reports
//! and hop-by-hop acknowledgments beside them (S. Katti and others, "XORs in the Air: Practical Wireless
//! Network Coding", SIGCOMM 2006, section 7; with what was removed beside the XOR, REfactor, sections 2.2.2
//! and 5.5.2).
//!
//! ```text
//! +-------------+-----------+----------------+-------------+-------------+
//! | sender (16) | boot (16) | components (8) | reports (8) | acknowledg- |  components ...  reports ...  acknowledgments ...
//! |             |           |                |             | ments (8)   |  XOR of what the components say, to the frame's end
//! +-------------+-----------+----------------+-------------+-------------+
//!
//! component:       | source (16) | number (32) | next hop (16) | sequence (16) | bytes in the XOR (varint) |
//!                  | bytes beside it (varint) | what stands beside it ... | proof (64), where there are several |
//! beside the XOR:  | number of the encoded packet (32) | bytes of the head (varint) | shim (shim::slots) without literals |
//!                  | bytes removed, once a run of the shim (varints) |
//! report:          | source (16) | last number (32) | the 32 before it (32) |
//! acknowledgment:  | neighbour (16) | last sequence (16) | the 32 before it (32) |
//! ```
//!
//! A component is a whole native, or one without ranges that its receiver has. Another holder of the native
//! can derive the relay's form only if it knows the removed ranges. Shims are therefore sent in the clear,
//! with the removed lengths, and only the rest is combined. The *proof* is a MAC over a component's part of
//! the XOR. Numbers of natives begin anywhere and wrap. Bitmaps have 32 bits where COPE's have 8: bit 0 is
//! the number before the last.

use mesh::cope::PacketId;
use wire::removed::{Removed, emit_sum};
use wire::shim::MAX_RESTORED_BYTES;
use wire::{Malformed, take, take_array, varint};

/// The most components of a frame.
pub const MAX_COMPONENTS: usize = 8;
/// The most reports of a frame, and the most acknowledgments.
pub const MAX_REPORTS: usize = 16;
/// Bytes of a proof.
pub const PROOF_BYTES: usize = 8;

/// Data beside the XOR for a native with removed ranges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Beside<'a> {
    /// The encoder's number.
    pub number: u32,
    /// Bytes at the native's beginning that are carried unchanged, outside the encoding.
    pub head_bytes: usize,
    /// The ranges removed behind them.
    pub removed: Removed<'a>,
}

impl<'a> Beside<'a> {
    fn parse(mut input: &'a [u8]) -> Result<Self, Malformed> {
        let number = u32::from_be_bytes(take_array(&mut input, "beside: number")?);
        let head_bytes = varint::parse(&mut input)? as usize;
        let removed = Removed::take(&mut input)?;
        if head_bytes > MAX_RESTORED_BYTES || !input.is_empty() {
            return Err(Malformed("beside: form"));
        }
        Ok(Beside { number, head_bytes, removed })
    }

    /// Appends the data beside the XOR.
    pub fn emit(
        number: u32,
        head_bytes: usize,
        shim: &[u8],
        removed: impl IntoIterator<Item = u32>,
        out: &mut Vec<u8>,
    ) {
        out.extend_from_slice(&number.to_be_bytes());
        varint::emit(head_bytes as u32, out);
        Removed::emit(shim, removed, out);
    }

    /// Passes the native's remaining stretches in order: its part of the XOR. `None` if the native is too
    /// short to match.
    pub fn literals<'n>(&self, native: &'n [u8], mut each: impl FnMut(&'n [u8])) -> Option<()> {
        let (head, rest) = native.split_at_checked(self.head_bytes)?;
        each(head);
        self.removed.literals(rest, each)
    }
}

/// One native of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Component<'a> {
    /// Its native.
    pub id: PacketId,
    /// Its next hop.
    pub next_hop: u16,
    /// The sender's count for each next hop.
    pub sequence: u16,
    /// Bytes of its part in the XOR.
    pub bytes: usize,
    /// The removed ranges, if any.
    pub beside: Option<Beside<'a>>,
    /// MAC over its part in the XOR, under the key of the sender and the next hop; `None` for a single
    /// component.
    pub proof: Option<[u8; PROOF_BYTES]>,
}

impl<'a> Component<'a> {
    fn take(input: &mut &'a [u8], is_alone: bool) -> Result<Self, Malformed> {
        let source = u16::from_be_bytes(take_array(input, "component: source")?);
        let number = u32::from_be_bytes(take_array(input, "component: number")?);
        let next_hop = u16::from_be_bytes(take_array(input, "component: next hop")?);
        let sequence = u16::from_be_bytes(take_array(input, "component: sequence")?);
        let bytes = varint::parse(input)? as usize;
        if bytes > MAX_RESTORED_BYTES {
            return Err(Malformed("component: bytes"));
        }
        let beside_bytes = varint::parse(input)? as usize;
        let beside = take(input, beside_bytes, "component: beside")?;
        let beside = if beside.is_empty() { None } else { Some(Beside::parse(beside)?) };
        let proof = if is_alone { None } else { Some(take_array(input, "component: proof")?) };
        Ok(Component { id: PacketId { source, number }, next_hop, sequence, bytes, beside, proof })
    }
}

/// A report: numbers of one neighbour or one source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window<N> {
    /// The neighbour or source.
    pub of: u16,
    /// The last number.
    pub last: N,
    /// Earlier numbers: bit 0 is the last but one.
    pub before: u32,
}

/// A component to write; `beside` is the output of [`Beside::emit`], or empty.
#[derive(Debug, Clone, Copy)]
pub struct Part<'a> {
    /// Its native.
    pub id: PacketId,
    /// Its next hop.
    pub next_hop: u16,
    /// The sender's count for each next hop.
    pub sequence: u16,
    /// Its part in the XOR.
    pub literals: &'a [u8],
    /// The data beside the XOR.
    pub beside: &'a [u8],
    /// Omitted for a single component.
    pub proof: [u8; PROOF_BYTES],
}

/// One frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The sender.
    pub sender: u16,
    /// A random number of the sender's start.
    pub boot: u16,
    /// Number of components; 0 in a pure report.
    pub component_count: usize,
    /// XOR of the components' parts, as long as the longest one.
    pub xor: &'a [u8],
    components: &'a [u8],
    reports: &'a [u8],
    acknowledgments: &'a [u8],
}

const REPORT_BYTES: usize = 2 + 4 + 4;
const ACKNOWLEDGMENT_BYTES: usize = 2 + 2 + 4;

impl<'a> Frame<'a> {
    /// Reads a frame.
    pub fn parse(mut input: &'a [u8]) -> Result<Self, Malformed> {
        let sender = u16::from_be_bytes(take_array(&mut input, "cope: sender")?);
        let boot = u16::from_be_bytes(take_array(&mut input, "cope: boot")?);
        let [components, reports, acknowledgments] = take_array(&mut input, "cope: counts")?;
        let component_count = usize::from(components);
        let (reports, acknowledgments) = (usize::from(reports), usize::from(acknowledgments));
        if component_count > MAX_COMPONENTS || reports > MAX_REPORTS || acknowledgments > MAX_REPORTS {
            return Err(Malformed("cope: counts"));
        }
        let components = input;
        let (mut longest, mut next_hops) = (0, [0; MAX_COMPONENTS]);
        for at in 0..component_count {
            let component = Component::take(&mut input, component_count == 1)?;
            longest = longest.max(component.bytes);
            // A receiver cannot solve one sum for two unknowns.
            if next_hops[..at].contains(&component.next_hop) {
                return Err(Malformed("cope: next hops"));
            }
            next_hops[at] = component.next_hop;
        }
        let components = &components[..components.len() - input.len()];
        let reports = take(&mut input, reports * REPORT_BYTES, "cope: reports")?;
        let acknowledgments =
            take(&mut input, acknowledgments * ACKNOWLEDGMENT_BYTES, "cope: acknowledgments")?;
        if input.len() != longest {
            return Err(Malformed("cope: length"));
        }
        Ok(Frame { sender, boot, component_count, xor: input, components, reports, acknowledgments })
    }

    /// Its components.
    pub fn components(&self) -> impl Iterator<Item = Component<'a>> + use<'a> {
        let (mut rest, is_alone) = (self.components, self.component_count == 1);
        std::iter::from_fn(move || {
            (!rest.is_empty()).then(|| Component::take(&mut rest, is_alone).ok()).flatten()
        })
    }

    /// Natives that the sender has, by source.
    pub fn reports(&self) -> impl Iterator<Item = Window<u32>> + use<'a> {
        self.reports.as_chunks::<REPORT_BYTES>().0.iter().map(|&[a, b, c, d, e, f, g, h, i, j]| Window {
            of: u16::from_be_bytes([a, b]),
            last: u32::from_be_bytes([c, d, e, f]),
            before: u32::from_be_bytes([g, h, i, j]),
        })
    }

    /// Sequences that the sender has received, by neighbour.
    pub fn acknowledgments(&self) -> impl Iterator<Item = Window<u16>> + use<'a> {
        self.acknowledgments.as_chunks::<ACKNOWLEDGMENT_BYTES>().0.iter().map(|&[a, b, c, d, e, f, g, h]| {
            Window {
                of: u16::from_be_bytes([a, b]),
                last: u16::from_be_bytes([c, d]),
                before: u32::from_be_bytes([e, f, g, h]),
            }
        })
    }

    /// Appends a frame of these parts, at most [`MAX_COMPONENTS`] for as many next hops, and at most
    /// [`MAX_REPORTS`] of each kind of window.
    pub fn emit(
        sender: u16,
        boot: u16,
        parts: &[Part<'_>],
        reports: &[Window<u32>],
        acknowledgments: &[Window<u16>],
        out: &mut Vec<u8>,
    ) {
        out.extend_from_slice(&sender.to_be_bytes());
        out.extend_from_slice(&boot.to_be_bytes());
        out.extend([parts.len() as u8, reports.len() as u8, acknowledgments.len() as u8]);
        for part in parts {
            out.extend_from_slice(&part.id.source.to_be_bytes());
            out.extend_from_slice(&part.id.number.to_be_bytes());
            out.extend_from_slice(&part.next_hop.to_be_bytes());
            out.extend_from_slice(&part.sequence.to_be_bytes());
            varint::emit(part.literals.len() as u32, out);
            varint::emit(part.beside.len() as u32, out);
            out.extend_from_slice(part.beside);
            if parts.len() > 1 {
                out.extend_from_slice(&part.proof);
            }
        }
        for report in reports {
            out.extend_from_slice(&report.of.to_be_bytes());
            out.extend_from_slice(&report.last.to_be_bytes());
            out.extend_from_slice(&report.before.to_be_bytes());
        }
        for acknowledgment in acknowledgments {
            out.extend_from_slice(&acknowledgment.of.to_be_bytes());
            out.extend_from_slice(&acknowledgment.last.to_be_bytes());
            out.extend_from_slice(&acknowledgment.before.to_be_bytes());
        }
        emit_sum(parts.iter().map(|part| part.literals), out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use wire::shim::slots::{Run, Slots};

    fn beside(head_bytes: usize) -> Vec<u8> {
        let mut shim = Vec::new();
        let runs = [Run::of_whole(3, 1), Run::of_whole(0, 2)];
        Slots { slot_bits: 20, mac: Some([4; 8]), runs: &runs, slots: &[1, 2, 3] }.emit(&mut shim);
        let mut out = Vec::new();
        Beside::emit(77, head_bytes, &shim, [100, 200], &mut out);
        out
    }

    #[test]
    fn literals_are_what_stands_between_the_removed_ranges() {
        let written = beside(2);
        let beside = Beside::parse(&written).unwrap();
        assert_eq!((beside.number, beside.head_bytes), (77, 2));
        let native: Vec<u8> = (0..310).map(|at| at as u8).collect();
        let mut literals = Vec::new();
        beside.literals(&native, |stretch| literals.extend_from_slice(stretch)).unwrap();
        let expected = [&native[..5], &native[305..]].concat();
        assert_eq!(literals, expected);
        assert_eq!(beside.literals(&native[..304], |_| ()), None);
    }

    proptest! {
        #[test]
        fn a_frame_reads_as_it_was_written(
            bodies in proptest::collection::vec((proptest::collection::vec(any::<u8>(), 0..300), any::<bool>()), 0..MAX_COMPONENTS),
            windows in proptest::collection::vec((any::<u16>(), any::<u32>(), any::<u32>()), 0..MAX_REPORTS),
        ) {
            let beside = beside(0);
            let parts: Vec<Part<'_>> = bodies
                .iter()
                .enumerate()
                .map(|(at, (literals, reduced))| Part {
                    id: PacketId { source: at as u16 + 3, number: u32::MAX - at as u32 },
                    next_hop: at as u16,
                    sequence: 9,
                    literals,
                    beside: if *reduced { &beside } else { &[] },
                    proof: [at as u8; PROOF_BYTES],
                })
                .collect();
            let reports: Vec<Window<u32>> =
                windows.iter().map(|&(of, last, before)| Window { of, last, before }).collect();
            let acknowledgments: Vec<Window<u16>> =
                windows.iter().map(|&(of, last, before)| Window { of, last: last as u16, before }).collect();
            let mut out = Vec::new();
            Frame::emit(1, 2, &parts, &reports, &acknowledgments, &mut out);
            let frame = Frame::parse(&out).unwrap();
            prop_assert_eq!((frame.sender, frame.boot, frame.component_count), (1, 2, parts.len()));
            prop_assert_eq!(frame.reports().collect::<Vec<_>>(), reports);
            prop_assert_eq!(frame.acknowledgments().collect::<Vec<_>>(), acknowledgments);
            for (read, part) in frame.components().zip(&parts) {
                prop_assert_eq!((read.id, read.next_hop, read.bytes), (part.id, part.next_hop, part.literals.len()));
                prop_assert_eq!(read.beside.is_some(), !part.beside.is_empty());
                prop_assert_eq!(read.proof, (parts.len() > 1).then_some(part.proof));
            }
            let mut sum = vec![0; frame.xor.len()];
            for (literals, _) in &bodies {
                sum.iter_mut().zip(literals).for_each(|(one, other)| *one ^= other);
            }
            prop_assert_eq!(frame.xor, &sum[..]);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(frame) = Frame::parse(&bytes) {
                prop_assert_eq!(frame.components().count(), frame.component_count);
                for component in frame.components() {
                    if let Some(beside) = component.beside {
                        let _ = beside.literals(&bytes, |_| ());
                    }
                }
            }
        }
    }
}
