//! Any schedule of loss, duplication, reordering, late and lost receipts, lost stores and tiny stores. A
//! packet proved by its MAC equals the original, and bounds hold. Under `acked`, every packet that arrives is
//! restored.

use crate::link::{Arrival, Frame, Link, pseudo_random, tcp_packet, udp_packet};
use proptest::prelude::*;
use published::form::{HASHED, PAPER};
use re::{Decoder, Form, Miss, Parameters};
use std::collections::{BTreeSet, VecDeque};

/// An event of a schedule.
#[derive(Debug, Clone, Copy)]
enum Event {
    /// A packet of a few pieces of content is sent.
    Send { pieces: [(u8, u16); 3], protocol: u8 },
    /// The oldest frame in flight, or one of those behind it, arrives. It may stay in flight as a duplicate.
    Arrive { overtakes: usize, stays: bool },
    /// The oldest frame in flight is lost.
    Lose,
    /// The sender receives a receipt for `span` packets.
    Receipt { span: usize },
    /// The receiver loses its store.
    ReceiverForgets,
    /// The sender loses its store.
    SenderForgets,
}

/// Eight events in twenty are transmissions and as many are arrivals; a store is lost once in some hundred
/// events. One number encodes an event, so a thousand schedules take a second.
fn event() -> impl Strategy<Value = Event> {
    any::<u64>().prop_map(|number| {
        let part = |shift: u32, below: u64| number.rotate_right(shift) % below;
        let piece = |shift| (part(shift, 8) as u8, 10 + part(shift + 4, 590) as u16);
        match part(0, 320) {
            0..=127 => Event::Send { pieces: [piece(10), piece(24), piece(38)], protocol: part(55, 4) as u8 },
            128..=255 => Event::Arrive { overtakes: part(10, 6) as usize, stays: part(20, 10) == 0 },
            256..=270 => Event::Lose,
            271 => Event::ReceiverForgets,
            272 => Event::SenderForgets,
            _ => Event::Receipt { span: 1 + part(10, 60) as usize },
        }
    })
}

fn packet(pieces: [(u8, u16); 3], protocol: u8, number: usize) -> Vec<u8> {
    let payload: Vec<u8> = pieces
        .into_iter()
        .flat_map(|(seed, length)| pseudo_random(u64::from(seed), usize::from(length)))
        .collect();
    match protocol {
        0 => udp_packet(&payload),
        flow => tcp_packet(80 + u16::from(flow), (number as u32).wrapping_mul(1460), &payload),
    }
}

/// Plays a schedule. Returns the arrivals that were not deliveries. A frame overtakes at most `overtaken`
/// others. `drops_copies` models a node's replay window.
fn play(link: &mut Link, events: &[Event], overtaken: usize, drops_copies: bool) -> Vec<Arrival> {
    let mut on_the_air: VecDeque<Frame> = VecDeque::new();
    let (mut failures, mut arrived) = (Vec::new(), BTreeSet::new());
    for event in events {
        match *event {
            Event::Send { pieces, protocol } => {
                let packet = packet(pieces, protocol, link.originals.len());
                on_the_air.push_back(link.send(&packet));
            }
            Event::Arrive { overtakes, stays } => {
                let at = overtakes.min(overtaken).min(on_the_air.len().saturating_sub(1));
                let Some(frame) = on_the_air.get(at).cloned() else { continue };
                // Each earlier frame counts as overtaken once. A frame that was overtaken too often is lost.
                if at > 0 && on_the_air[0].sequence.saturating_add(overtaken as u64) < frame.sequence {
                    on_the_air.pop_front();
                    continue;
                }
                if !stays {
                    on_the_air.remove(at);
                }
                if !arrived.insert(frame.sequence) && drops_copies {
                    continue;
                }
                match link.receive(&frame) {
                    Arrival::Delivered(_) | Arrival::OtherGeneration => {}
                    failure => failures.push(failure),
                }
            }
            Event::Lose => drop(on_the_air.pop_front()),
            Event::Receipt { span } => link.receipt(span),
            Event::ReceiverForgets => link.lose_receivers_store(),
            Event::SenderForgets => link.encoder.clear(),
        }
    }
    failures
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn what_the_mac_proves_is_what_was_sent(
        events in prop::collection::vec(event(), 0..150),
        policy in prop::sample::select(published::policy::ALL.to_vec()),
        form in prop::sample::select(published::form::ALL.to_vec()),
        store_bytes in prop::sample::select(vec![4096usize, 10_000, 1 << 20]),
        window_bytes in prop::sample::select(vec![8usize, 16, 23, 64]),
        sample_bits in 0u32..6,
    ) {
        let parameters = Parameters { policy, form, store_bytes, window_bytes, sample_bits, ..Parameters::default() };
        prop_assume!(parameters.validate().is_ok());
        let mut link = Link::new(parameters);
        // The link itself asserts that a delivered packet equals the original.
        let failures = play(&mut link, &events, usize::MAX, false);
        prop_assert!(!failures.iter().any(|failure| matches!(failure, Arrival::Missed(Miss::Malformed(_)))));
    }

    #[test]
    fn under_acked_everything_that_arrives_is_restored(
        events in prop::collection::vec(event(), 0..200),
        (store_bytes, overtaken, form) in prop::sample::select(vec![
            // An eighth of the store may be overtaken: this number of packets of 1860 bytes with overhead.
            (4096usize, 0usize, Form::Compact),
            (20_000, 1, Form::Compact),
            (50_000, 3, Form::Compact),
            (1 << 20, 60, Form::Compact),
            // In the paper's form, the newest packet of a fingerprint must be the same at both ends.
            (4096, 0, PAPER),
            (1 << 20, 0, PAPER),
            (4096, 0, HASHED),
            (20_000, 1, HASHED),
            (1 << 20, 60, HASHED),
        ]),
        sample_bits in 0u32..6,
    ) {
        let parameters = Parameters { store_bytes, form, sample_bits, ..Parameters::default() };
        let mut link = Link::new(parameters);
        prop_assert_eq!(play(&mut link, &events, overtaken, true), []);
    }

    #[test]
    fn any_bytes_restore_or_are_a_miss(
        frames in prop::collection::vec((prop::sample::select(published::form::ALL.to_vec()), 0u8..4, prop::collection::vec(0u8..60, 0..60)), 0..20),
        sequence in 0u64..30,
    ) {
        let mut decoder = Decoder::new(16, 4, 1 << 16, re::Keeping::Together);
        for number in 0..10 {
            let packet = packet([(number, 500), (0, 100), (1, 100)], number, usize::from(number));
            decoder.store(u64::from(number), &packet, &crate::link::inner(&packet));
        }
        let mut out = vec![1, 2, 3];
        for (form, count, bytes) in frames {
            let shim = [&[count], &bytes[..]].concat();
            let before = out.clone();
            match decoder.restore(sequence, form, &shim, &mut out) {
                Ok(()) => prop_assert!(out.len() - before.len() <= 65_535 && out.starts_with(&before)),
                Err(_) => prop_assert_eq!(&out, &before),
            }
        }
    }
}

/// A packet refers to its sender's oldest packet, and nearly all packets of the receiver's surplus overtake
/// it.
#[test]
fn what_an_overtaken_packet_refers_to_is_still_there() {
    let keeping = re::Keeping::Together;
    let parameters = Parameters { store_bytes: 64 << 10, keeping, ..Parameters::default() };
    let mut link = Link::new(parameters);
    let unique = |number: u64| tcp_packet(80, number as u32 * 1000, &pseudo_random(number, 1360));
    for number in 0..53 {
        let frame = link.send(&unique(number));
        link.receive(&frame);
        link.receipt(1);
    }
    // 64 KiB hold 44 packets of 1400 + 64 bytes.
    assert_eq!((link.encoder.original(8), link.encoder.original(9)), (None, Some(&unique(9)[..])));
    let mut late = Vec::new();
    for number in 9..16 {
        late.push(link.send(&unique(number)));
        assert_eq!(link.encoder.references(), [number]);
    }
    // 175 whole packets, 256,200 bytes of the 256 KiB, arrive first.
    for number in 300..475 {
        let frame = link.send(&unique(number));
        assert!(matches!(link.receive(&frame), Arrival::Delivered(_)));
    }
    for frame in late {
        assert!(matches!(link.receive(&frame), Arrival::Delivered(_)), "{}", frame.sequence);
    }
}

/// Under `acked`, an unconfirmed copy does not hide a confirmed one.
#[test]
fn an_unconfirmed_copy_does_not_hide_a_confirmed_one() {
    let mut link = Link::new(Parameters::default());
    let content = pseudo_random(1, 1400);
    for number in 0..5 {
        let frame = link.send(&tcp_packet(80 + number, 1000, &content));
        assert_eq!(frame.reduced, number > 0);
        if number == 0 {
            link.receive(&frame);
            link.receipt(1);
        } else {
            assert_eq!(link.encoder.references(), [0]);
        }
    }
}

/// In the paper's form a fingerprint names the receiver's packet of that fingerprint. After a loss it may
/// differ from the sender's packet, and the restored bytes are wrong. The MAC detects that.
#[test]
fn after_a_loss_the_papers_form_may_restore_wrong_bytes_which_the_mac_catches() {
    let parameters = Parameters { policy: published::policy::NAIVE, form: PAPER, ..Parameters::default() };
    let mut link = Link::new(parameters);
    let shared = pseudo_random(1, 200);
    let around =
        |front: u64, back: u64| [&pseudo_random(front, 400)[..], &shared, &pseudo_random(back, 400)].concat();
    let first = link.send(&tcp_packet(80, 0, &around(2, 3)));
    assert!(matches!(link.receive(&first), Arrival::Delivered(_)));
    // This packet is lost; it has the shared bytes at another place.
    let second = link.send(&tcp_packet(80, 1000, &around(4, 5)[300..]));
    assert!(second.reduced);
    let third = link.send(&tcp_packet(80, 1700, &around(6, 7)));
    assert_eq!(link.encoder.references(), [second.sequence]);
    assert_eq!(link.receive(&third), Arrival::Mistaken);
}
