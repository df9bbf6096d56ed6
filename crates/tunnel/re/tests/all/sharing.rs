//! The reach of references, and their ends at boundaries outside the flow.

use crate::link::{Arrival, Link, inner};
use etherparse::PacketBuilder;
use proptest::prelude::*;
use re::pieces::{LEAST_BYTES, ends_piece};
use re::{Parameters, Sharing};
use wire::inner::Flow;
use wire::shim::compact::Compact;

/// The next packet of a flow, as pieces of a small stock.
#[derive(Debug, Clone)]
struct Event {
    flow: u8,
    pieces: Vec<u8>,
    cut: u16,
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = (0u8..6, prop::collection::vec(0u8..24, 1..24), 0u16..1400)
        .prop_map(|(flow, pieces, cut)| Event { flow, pieces, cut });
    prop::collection::vec(event, 1..60)
}

/// Text, numbers and zeros of 4 to 200 bytes, with few or many delimiters.
fn piece(number: u8) -> Vec<u8> {
    let count = 4 + usize::from(number) * 8;
    let alphabet: &[u8] = match number % 4 {
        0 => b"0123456789abcdef",
        1 => b"the quick; brown, fox\n",
        2 => b"\0\0a\0{\"key\":0}",
        _ => &[7, 200, 13, 90, 44, 0, 255, 60, 31],
    };
    let mut state = u64::from(number) + 1;
    let letter = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        alphabet[(state >> 33) as usize % alphabet.len()]
    };
    std::iter::repeat_with(letter).take(count).collect()
}

/// A packet of one of six flows; two pairs of flows share their hosts.
fn packet(flow: u8, tcp_sequence: u32, payload: &[u8]) -> Vec<u8> {
    let mut packet = Vec::new();
    PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2 + flow / 2], 64)
        .tcp(80, 4000 + u16::from(flow), tcp_sequence, 1000)
        .write(&mut packet, payload)
        .unwrap();
    packet
}

/// A region of a packet, and its place in a stored packet.
#[derive(Debug, Clone, Copy)]
struct Region {
    start: usize,
    length: usize,
    stored: usize,
    offset: usize,
}

fn regions(link: &Link, sequence: usize, body: &[u8]) -> Vec<Region> {
    let mut at = 0;
    let region = |region: wire::shim::compact::Region| {
        let start = at + region.literal_bytes as usize;
        let length = region.length as usize;
        at = start + length;
        let stored = sequence - region.distance as usize;
        Region { start, length, stored, offset: region.offset as usize }
    };
    let regions: Vec<_> = Compact::parse(body).unwrap().regions().map(region).collect();
    for Region { start, length, stored, offset } in &regions {
        let ours = &link.originals[sequence][*start..][..*length];
        assert_eq!(ours, &link.originals[*stored][*offset..][..*length]);
    }
    regions
}

fn flow_of(packet: &[u8]) -> Flow {
    inner(packet).flow
}

/// Whether the stored bytes of `first` continue in those of `second`, in one flow.
fn goes_on(link: &Link, first: Region, second: Region) -> bool {
    let (a, b) = (&link.originals[first.stored], &link.originals[second.stored]);
    let (ours, theirs) = (inner(a), inner(b));
    let next = ours.tcp_sequence.unwrap().wrapping_add(ours.payload_bytes() as u32);
    let in_one = first.stored == second.stored && first.offset + first.length == second.offset;
    let in_two = flow_of(a) == flow_of(b)
        && theirs.tcp_sequence == Some(next)
        && first.offset + first.length == a.len()
        && second.offset == theirs.payload_offset;
    first.start + first.length == second.start && (in_one || in_two)
}

/// Whether the bytes before `at` end a piece in their own payload.
fn is_boundary(packet: &[u8], at: usize) -> bool {
    ends_piece(&packet[inner(packet).payload_offset..at])
}

/// Checks one packet's regions of other flows, run by run.
fn check(link: &Link, sequence: usize, regions: &[Region]) {
    let packet = &link.originals[sequence];
    let is_other = |region: &&Region| flow_of(&link.originals[region.stored]) != flow_of(packet);
    let others: Vec<Region> = regions.iter().filter(is_other).copied().collect();
    for run in others.chunk_by(|a, b| goes_on(link, *a, *b)) {
        let (first, last) = (run[0], run[run.len() - 1]);
        let run_bytes: usize = run.iter().map(|region| region.length).sum();
        assert!(run_bytes >= LEAST_BYTES, "{run_bytes} bytes");
        assert!(is_boundary(packet, last.start + last.length), "it ends within a piece");
        assert!(is_boundary(&link.originals[last.stored], last.offset + last.length));
        if first.start == inner(packet).payload_offset {
            continued(link, sequence, first);
        } else {
            assert!(is_boundary(packet, first.start), "it begins within a piece");
            assert!(is_boundary(&link.originals[first.stored], first.offset));
        }
    }
}

/// Checks that a run at the start of a payload continues the end of the flow's last packet.
fn continued(link: &Link, sequence: usize, first: Region) {
    let packet = &link.originals[sequence];
    let ours = inner(packet);
    let before = link.originals[..sequence].iter().rev().find(|it| flow_of(it) == ours.flow).unwrap();
    let end = inner(before);
    assert_eq!(end.tcp_sequence.unwrap() + end.payload_bytes() as u32, ours.tcp_sequence.unwrap());
    let theirs = &link.originals[first.stored];
    // The same bytes also precede the region in the stored flow.
    let before_theirs = if first.offset > inner(theirs).payload_offset {
        theirs[inner(theirs).payload_offset..first.offset].to_vec()
    } else {
        let mut of_flow = link.originals[..first.stored].iter().rev();
        let last = of_flow.find(|it| flow_of(it) == flow_of(theirs)).unwrap();
        last[inner(last).payload_offset..].to_vec()
    };
    let common = re::extent::common_suffix(&before[end.payload_offset..], &before_theirs);
    let least = LEAST_BYTES.min(before_theirs.len()).min(end.payload_bytes());
    assert!(common >= least, "{common} of the bytes in front agree");
}

/// Plays the events under a sharing. Passes each packet's regions to `take`.
fn play(sharing: Sharing, events: &[Event], mut take: impl FnMut(&Link, usize, &[Region])) {
    let mut link = Link::new(Parameters { sharing, ..Parameters::default() });
    let mut at = [0u32; 6];
    for Event { flow, pieces, cut } in events {
        let content: Vec<u8> = pieces.iter().flat_map(|number| piece(*number)).collect();
        let (front, back) = content.split_at(usize::from(*cut).min(content.len()));
        for payload in [front, back].into_iter().flat_map(|part| part.chunks(1400)) {
            let tcp_sequence = &mut at[usize::from(*flow)];
            let packet = packet(*flow, *tcp_sequence, payload);
            *tcp_sequence += payload.len() as u32;
            let frame = link.send(&packet);
            assert_eq!(link.receive(&frame), Arrival::Delivered(packet));
            link.receipt(1);
            if frame.reduced {
                let sequence = frame.sequence as usize;
                let regions = regions(&link, sequence, &frame.body);
                take(&link, sequence, &regions);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn across_flows_runs_are_whole_pieces_and_everything_is_restored(events in events()) {
        play(Sharing::Station, &events, check);
    }

    #[test]
    fn host_refers_to_no_other_host_and_flow_to_no_other_flow(events in events()) {
        play(Sharing::Host, &events, |link, sequence, regions| {
            check(link, sequence, regions);
            let hosts = |packet: &[u8]| (flow_of(packet).source, flow_of(packet).destination);
            for region in regions {
                assert_eq!(hosts(&link.originals[region.stored]), hosts(&link.originals[sequence]));
            }
        });
        play(Sharing::Flow, &events, |link, sequence, regions| {
            for region in regions {
                assert_eq!(flow_of(&link.originals[region.stored]), flow_of(&link.originals[sequence]));
            }
        });
    }
}

/// The rules above apply to runs that really occur.
#[test]
fn other_flows_are_referred_to_where_that_is_allowed() {
    let event = |flow| Event { flow, pieces: (0..24).collect(), cut: 700 };
    let others = |sharing, flows: [u8; 2]| {
        let mut others = 0;
        play(sharing, &flows.map(event), |link, sequence, regions| {
            let other =
                |it: &&Region| flow_of(&link.originals[it.stored]) != flow_of(&link.originals[sequence]);
            others += regions.iter().filter(other).map(|region| region.length).sum::<usize>();
        });
        others
    };
    assert!(others(Sharing::Station, [0, 2]) > 1000);
    assert!(others(Sharing::Host, [0, 1]) > 1000);
    assert_eq!(others(Sharing::Host, [0, 2]), 0);
    assert_eq!(others(Sharing::Flow, [0, 1]), 0);
}
