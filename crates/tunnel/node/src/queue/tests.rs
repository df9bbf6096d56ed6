//! The queue as a whole: order, turns, bounds, signals.

use super::*;
use codel::MTU_BYTES;
use etherparse::{IpEcn, Ipv4Header, PacketBuilder};
use proptest::prelude::*;
use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr};
use wire::inner::Inner;

const MILLISECOND: Duration = Duration::from_millis(1);
const START: Duration = Duration::ZERO;
/// Behind version nibble, flow and number.
const SMALLEST_BYTES: usize = 6;

fn flow(port: u8) -> Flow {
    let address = |last| IpAddr::V4(Ipv4Addr::new(10, 0, 0, last));
    let (source, destination) = (address(1), address(2));
    Flow { source, destination, protocol: wire::inner::UDP, source_port: port.into(), destination_port: 9 }
}

/// A packet of `flow` that no one may mark.
fn packet(flow: u8, number: u32, bytes: usize) -> Vec<u8> {
    let mut packet = vec![0, flow];
    packet.extend_from_slice(&number.to_be_bytes());
    packet.resize(bytes.max(SMALLEST_BYTES), 0);
    packet
}

fn read(packet: &[u8]) -> (u8, u32) {
    (packet[1], u32::from_be_bytes(packet[2..6].try_into().unwrap()))
}

fn queue(limit_bytes: usize) -> Queue {
    Queue::new(limit_bytes, [1, 2, 3, 4])
}

fn push(queue: &mut Queue, now: Duration, port: u8, number: u32, bytes: usize) {
    queue.push(now, &packet(port, number, bytes), &flow(port));
}

fn pop(queue: &mut Queue, now: Duration) -> Option<(u8, u32)> {
    let packet = queue.pop(now)?;
    let read = read(&packet);
    queue.recycle(packet);
    Some(read)
}

#[test]
fn a_flow_keeps_its_order() {
    let mut queue = queue(1 << 20);
    for number in 0..100 {
        push(&mut queue, START, 1, number, 10 + 13 * number as usize);
    }
    let left: Vec<_> = std::iter::from_fn(|| pop(&mut queue, START)).collect();
    assert_eq!(left, (0..100).map(|number| (1, number)).collect::<Vec<_>>());
    assert_eq!((queue.bytes(), queue.is_empty()), (0, true));
}

#[test]
fn who_sends_little_overtakes_the_backlog_of_who_sends_much() {
    let mut queue = queue(1 << 20);
    for number in 0..200 {
        push(&mut queue, START, 1, number, 1400);
    }
    for number in 0..40 {
        for _ in 0..4 {
            assert_eq!(pop(&mut queue, START).unwrap().0, 1);
        }
        push(&mut queue, START, 2, number, 100);
        assert_eq!(pop(&mut queue, START), Some((2, number)));
    }
}

#[test]
fn who_never_has_more_than_one_packet_waiting_gets_no_more_than_its_share() {
    let mut queue = queue(1 << 20);
    for number in 0..200 {
        push(&mut queue, START, 1, number, 1400);
    }
    let mut sent = [0; 3];
    push(&mut queue, START, 2, 0, 1400);
    for _ in 0..200 {
        let (port, _) = pop(&mut queue, START).unwrap();
        sent[usize::from(port)] += 1;
        if port == 2 {
            push(&mut queue, START, 2, 0, 1400);
        }
    }
    assert!((95..=105).contains(&sent[2]), "{sent:?}");
}

#[test]
fn a_flow_that_comes_to_an_idle_link_is_new_again() {
    let mut queue = queue(1 << 20);
    // one flow alone uses up many turns, without ever having something left behind
    for number in 0..20 {
        push(&mut queue, START, 2, number, 1000);
        assert_eq!(pop(&mut queue, START), Some((2, number)));
    }
    for number in 0..20 {
        push(&mut queue, START, 1, number, 1400);
    }
    for number in 0..2 {
        assert_eq!(pop(&mut queue, START), Some((1, number)));
    }
    push(&mut queue, START, 2, 99, 1000);
    assert_eq!(pop(&mut queue, START), Some((2, 99)));
}

#[test]
fn flows_share_by_bytes_whatever_the_size_of_their_packets() {
    let mut queue = queue(1 << 20);
    let sizes = [1400, 90, 633];
    for (port, bytes) in (0..).zip(sizes) {
        for number in 0..300_000 / bytes as u32 {
            push(&mut queue, START, port, number, bytes);
        }
    }
    let mut sent = [0_usize; 3];
    for _ in 0..1000 {
        let (port, _) = pop(&mut queue, START).unwrap();
        sent[usize::from(port)] += sizes[usize::from(port)];
        let (least, most) = (sent.iter().min().unwrap(), sent.iter().max().unwrap());
        assert!(most - least <= 2 * QUANTUM_BYTES as usize + MTU_BYTES, "{sent:?}");
    }
}

#[test]
fn the_longest_flow_makes_room_and_loses_its_oldest() {
    let mut queue = queue(100_000);
    for number in 0..100 {
        push(&mut queue, START, 1, number, 1000);
        push(&mut queue, START, 2, number, 100);
        assert!(queue.bytes() <= 100_000);
    }
    assert_eq!(queue.dropped, 10);
    let left: Vec<_> = std::iter::from_fn(|| pop(&mut queue, START)).collect();
    let of = |port| left.iter().filter(move |left| left.0 == port).map(|left| left.1).collect::<Vec<_>>();
    assert_eq!(of(1), (10..100).collect::<Vec<_>>());
    assert_eq!(of(2), (0..100).collect::<Vec<_>>());
}

#[test]
fn what_can_never_fit_is_dropped_and_nothing_else_for_it() {
    let mut queue = queue(1000);
    push(&mut queue, START, 1, 0, 900);
    push(&mut queue, START, 1, 1, 1001);
    assert_eq!((queue.dropped, queue.bytes()), (1, 900));
    // nor does anything push out the packet whose turn has come
    assert_eq!(queue.next_bytes(START), Some(900));
    push(&mut queue, START, 2, 2, 500);
    assert_eq!((queue.dropped, queue.bytes()), (2, 900));
    assert_eq!(pop(&mut queue, START), Some((1, 0)));
}

#[test]
fn the_chosen_packet_stays_chosen_and_the_choice_is_made_once() {
    let mut queue = queue(1 << 20);
    push(&mut queue, START, 1, 0, 1000);
    push(&mut queue, START, 1, 1, 500);
    for _ in 0..3 {
        assert_eq!(queue.next_bytes(START), Some(1000));
        push(&mut queue, START, 2, 0, 100);
    }
    assert_eq!(queue.bytes(), 1800);
    assert_eq!(pop(&mut queue, START), Some((1, 0)));
    assert_eq!(queue.bytes(), 800);
}

/// A link of one packet a millisecond, with `arriving` packets of `template` a millisecond; gives what was
/// dropped and marked in each tenth of a second.
fn load(queue: &mut Queue, from: u32, tenths: u32, arriving: u32, template: &[u8]) -> Vec<(u64, u64)> {
    let at = |tenth: u32| from + tenth * 100;
    let mut told = Vec::new();
    for tenth in 0..tenths {
        let before = (queue.dropped_by_codel, queue.marked);
        for ms in at(tenth)..at(tenth + 1) {
            for _ in 0..arriving {
                queue.push(ms * MILLISECOND, template, &flow(1));
            }
            if let Some(packet) = queue.pop(ms * MILLISECOND) {
                queue.recycle(packet);
            }
        }
        told.push((queue.dropped_by_codel - before.0, queue.marked - before.1));
    }
    told
}

#[test]
fn codel_drops_after_an_interval_of_waits_then_ever_more_and_stops_when_the_wait_is_short() {
    let mut queue = queue(16 << 20);
    let template = packet(1, 0, 1000);
    let drops: Vec<_> = load(&mut queue, 0, 20, 2, &template).into_iter().map(|told| told.0).collect();
    assert_eq!(drops[0], 0, "waits are over the target since 10 ms and the interval is not over");
    assert!(drops[1] >= 1, "{drops:?}");
    let seconds = [&drops[..10], &drops[10..]].map(|tenths| tenths.iter().sum::<u64>());
    assert!(seconds[1] > seconds[0], "{drops:?}");
    // the senders pause until nothing waits, and go on at the rate of the link
    while pop(&mut queue, 2000 * MILLISECOND).is_some() {}
    let quiet = load(&mut queue, 2000, 10, 1, &template);
    assert_eq!(quiet, [(0, 0); 10]);
    assert_eq!(queue.dropped, 0);
}

#[test]
fn a_loss_of_the_path_is_told_by_packets_of_transfers_and_by_no_small_one() {
    let mut queue = queue(1 << 20);
    queue.signal(2);
    queue.signal(1);
    for (number, bytes) in (0..).zip([200, 1400, 90, 1400, 1400]) {
        push(&mut queue, START, 1, number, bytes);
    }
    let left: Vec<u32> = std::iter::from_fn(|| pop(&mut queue, START)).map(|(_, number)| number).collect();
    assert_eq!(left, [0, 2, 4]);
    assert_eq!(queue.dropped_for_path, 2);
    assert!(queue.is_empty());
    queue.signal(2);
    queue.end_signals();
    push(&mut queue, START, 1, 5, 1400);
    assert_eq!(pop(&mut queue, START), Some((1, 5)), "another sender, later");
}

#[test]
fn one_flows_backlog_is_not_anothers_loss() {
    let mut queue = queue(16 << 20);
    for ms in 0..5000 {
        let now = ms * MILLISECOND;
        push(&mut queue, now, 1, ms, 1000);
        push(&mut queue, now, 1, ms, 1000);
        if ms % 10 == 5 {
            push(&mut queue, now, 2, ms, 200);
            assert_eq!(pop(&mut queue, now), Some((2, ms)), "sent with the next packet");
        } else {
            assert_eq!(pop(&mut queue, now).unwrap().0, 1);
        }
    }
    assert!(queue.dropped_by_codel > 50);
}

#[test]
fn who_understands_marks_gets_them_instead_of_drops() {
    for ecn in [IpEcn::ONE, IpEcn::TWO] {
        let mut queue = queue(16 << 20);
        let mut header =
            Ipv4Header::new(1000, 64, etherparse::IpNumber::UDP, [10, 0, 0, 1], [10, 0, 0, 2]).unwrap();
        header.ecn = ecn;
        header.header_checksum = header.calc_header_checksum();
        let mut sent = Vec::new();
        header.write(&mut sent).unwrap();
        sent.resize(1020, 7);
        let (mut marked, mut left) = (0, 0);
        for ms in 0..2000 {
            let now = ms * MILLISECOND;
            queue.push(now, &sent, &flow(1));
            queue.push(now, &sent, &flow(1));
            let packet = queue.pop(now).unwrap();
            let (read, payload) = Ipv4Header::from_slice(&packet).unwrap();
            assert_eq!(read.header_checksum, read.calc_header_checksum());
            assert_eq!(payload, &sent[20..]);
            left += 1;
            marked += u64::from(read.ecn.value() == 3);
            queue.recycle(packet);
        }
        assert!(marked > 20);
        assert_eq!((queue.marked, queue.dropped_by_codel, queue.dropped), (marked, 0, 0));
        assert_eq!(queue.bytes(), (4000 - left) * sent.len());
    }
}

#[test]
fn an_ordinary_packet_finds_its_flow() {
    let mut bytes = Vec::new();
    PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).udp(1, 9).write(&mut bytes, b"x").unwrap();
    let inner = Inner::parse(&bytes).unwrap();
    let mut queue = queue(1 << 16);
    assert_eq!(queue.bucket_of(&inner.flow), queue.bucket_of(&flow(1)));
    let other = Queue::new(1 << 16, [4, 3, 2, 1]).bucket_of(&flow(1));
    assert_ne!(queue.bucket_of(&flow(1)), other, "the salt decides which flows share a bucket");
}

#[test]
fn once_warm_nothing_is_allocated() {
    let mut queue = queue(1 << 20);
    let mut addresses = Vec::new();
    for round in 0..5 {
        for number in 0..600 {
            push(&mut queue, START, (number % 7) as u8, number, 1400);
        }
        let left: Vec<_> = std::iter::from_fn(|| queue.pop(START)).collect();
        assert_eq!(left.len(), 600);
        let mut now: Vec<_> = left.iter().map(|packet| packet.as_ptr() as usize).collect();
        left.into_iter().for_each(|packet| queue.recycle(packet));
        now.sort_unstable();
        if round > 0 {
            assert_eq!(now, addresses);
        }
        addresses = now;
    }
}

#[derive(Debug, Clone)]
enum Step {
    Push { flow: u8, bytes: usize },
    Ask,
    Pop,
    Wait(Duration),
    Clear,
}

fn step() -> impl Strategy<Value = Step> {
    let bytes = prop_oneof![6..200usize, 6..1500usize, Just(1400usize), 1500..9000usize];
    prop_oneof![
        12 => (prop_oneof![0..4u8, 0..=255u8], bytes).prop_map(|(flow, bytes)| Step::Push { flow, bytes }),
        2 => Just(Step::Ask),
        6 => Just(Step::Pop),
        3 => (0..40_000u64).prop_map(|micros| Step::Wait(Duration::from_micros(micros))),
        1 => (0..400u64).prop_map(|ms| Step::Wait(Duration::from_millis(ms))),
        1 => prop_oneof![20 => Just(Step::Ask), 1 => Just(Step::Clear)],
    ]
}

/// Packets that must be in the queue, by flow, in order. A popped packet is removed together with the ones
/// that must have been dropped before it.
#[derive(Default)]
struct Model {
    flows: BTreeMap<u8, VecDeque<u32>>,
    popped: u64,
    skipped: u64,
}

impl Model {
    fn pop(&mut self, (flow, number): (u8, u32)) -> Result<(), TestCaseError> {
        let waiting = self.flows.entry(flow).or_default();
        loop {
            let Some(first) = waiting.pop_front() else {
                return Err(TestCaseError::fail(format!(
                    "{flow}/{number} left twice, or overtook, or never came"
                )));
            };
            if first == number {
                break;
            }
            self.skipped += 1;
        }
        self.popped += 1;
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2048))]

    #[test]
    fn nothing_is_lost_uncounted_and_every_bound_holds(
        steps in proptest::collection::vec(step(), 0..400),
        limit_bytes in prop_oneof![1000..20_000usize, 65_536..200_000usize],
    ) {
        let mut queue = queue(limit_bytes);
        let (mut model, mut now, mut pushed) = (Model::default(), START, 0);
        for step in steps {
            match step {
                Step::Push { flow, bytes } => {
                    push(&mut queue, now, flow, pushed, bytes);
                    model.flows.entry(flow).or_default().push_back(pushed);
                    pushed += 1;
                }
                Step::Ask => {
                    let empty = queue.is_empty();
                    let asked = queue.next_bytes(now);
                    prop_assert_eq!(asked.is_none(), empty, "what is not empty has a packet to give");
                    prop_assert_eq!(queue.next_bytes(now), asked);
                    prop_assert_eq!(queue.is_empty(), empty);
                }
                Step::Pop => {
                    let (empty, before) = (queue.is_empty(), queue.bytes());
                    let next = queue.next_bytes(now);
                    let after_choice = queue.bytes();
                    match queue.pop(now) {
                        Some(packet) => {
                            prop_assert!(!empty && after_choice <= before);
                            prop_assert_eq!(next, Some(packet.len()));
                            prop_assert_eq!(queue.bytes(), after_choice - packet.len());
                            model.pop(read(&packet))?;
                            queue.recycle(packet);
                        }
                        None => prop_assert!(empty && before == 0),
                    }
                }
                Step::Wait(time) => now += time,
                Step::Clear => {
                    // as if all had been popped
                    while let Some(read) = pop(&mut queue, now) {
                        model.pop(read)?;
                    }
                    push(&mut queue, now, 0, pushed, 10);
                    queue.clear();
                    model.flows.entry(0).or_default().push_back(pushed);
                    model.pop((0, pushed))?;
                    pushed += 1;
                    prop_assert!(queue.is_empty());
                }
            }
            let waits: usize = queue.buckets.iter().map(|bucket| bucket.chain.bytes).sum();
            prop_assert_eq!(queue.bytes(), waits + queue.at_hand.as_ref().map_or(0, |waiting| waiting.packet.len()));
            prop_assert!(queue.bytes() <= limit_bytes);
            prop_assert_eq!(queue.is_empty(), queue.bytes() == 0);
            prop_assert!(queue.buckets.len() <= BUCKETS);
            let listed = queue.buckets.iter().filter(|bucket| bucket.listed).count();
            prop_assert_eq!(queue.new.len() + queue.old.len(), listed);
            let waiting = queue.slots.len() + usize::from(queue.at_hand.is_some());
            let gone = model.popped + queue.dropped + queue.dropped_by_codel;
            prop_assert_eq!(u64::from(pushed), gone + waiting as u64);
        }
        while let Some(read) = pop(&mut queue, now + Duration::from_millis(100)) {
            model.pop(read)?;
        }
        prop_assert_eq!((queue.bytes(), queue.is_empty()), (0, true));
        prop_assert_eq!(model.popped + queue.dropped + queue.dropped_by_codel, u64::from(pushed));
        let skipped = model.skipped + model.flows.values().map(|left| left.len() as u64).sum::<u64>();
        prop_assert_eq!(skipped, queue.dropped + queue.dropped_by_codel);
        prop_assert_eq!(queue.marked, 0);
    }
}

#[test]
fn an_empty_queue_with_less_room_takes_less_memory() {
    let mut queue = queue(1 << 20);
    let packet = vec![7; 100];
    queue.push(Duration::ZERO, &packet, &flow(1));
    queue.set_limit(64 << 10);
    queue.trim();
    let large = queue.memory_bytes();
    assert!(queue.pop(Duration::ZERO).is_some(), "what waits stays");
    queue.trim();
    queue.push(Duration::ZERO, &packet, &flow(1));
    assert!(queue.memory_bytes() < large / 4, "{} of {large}", queue.memory_bytes());
    assert!(queue.pop(Duration::ZERO).is_some() && queue.is_empty());
}
