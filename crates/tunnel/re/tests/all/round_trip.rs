//! Encoder and decoder without loss between them.

use crate::link::{Arrival, Link, all_parameters, pseudo_random, tcp_packet};
use published::form::PAPER;
use published::offline::Measure;
use published::policy::{NAIVE, distance, k_distance};
use re::{Encoder, Parameters, Policy};
use wire::inner::Inner;

#[test]
fn a_repeated_file_is_reduced_and_restored_under_every_policy_and_form() {
    let file = pseudo_random(1, 100_000);
    for parameters in all_parameters(1 << 20) {
        let mut link = Link::new(parameters);
        // The second pass cuts the file at other positions.
        for chunk in file.chunks(1460).chain(file.chunks(1200)) {
            let packet = tcp_packet(80, link.originals.len() as u32 * 1460, chunk);
            let frame = link.send(&packet);
            assert_eq!(link.receive(&frame), Arrival::Delivered(packet));
            link.receipt(1);
        }
        let removed = link.encoder.statistics().removed_bytes;
        match parameters.policy {
            Policy::Off => assert_eq!(removed, 0),
            policy if distance(policy).is_some() => assert!(removed < 1000),
            _ => assert!(removed > 80_000, "{parameters:?}: {removed} bytes removed"),
        }
    }
}

/// The encoder with its bounded tables removes as much as the unbounded offline computation.
#[test]
fn on_a_link_the_papers_encoder_removes_what_it_removes_offline() {
    // A thousand payloads of repeated and changed pieces.
    let mut content = Vec::new();
    for number in 0..4000u64 {
        let piece = pseudo_random(number * number % 700, 600);
        let cut = number as usize % 300;
        content.extend_from_slice(&piece[cut..cut + 300]);
        content.extend_from_slice(&pseudo_random(10_000 + number, 60));
    }
    let parameters = Parameters { policy: NAIVE, form: PAPER, ..Parameters::default() };
    let mut link = Link::new(parameters);
    for chunk in content.chunks(1460) {
        link.send(&tcp_packet(80, link.originals.len() as u32 * 1460, chunk));
    }
    let (online, offline) = (*link.encoder.statistics(), Measure::default().of(&content));
    let close = |a: u64, b: usize| (a as f64 - b as f64).abs() < 0.01 * b as f64;
    assert!(offline.redundant() > 0.6);
    assert!(close(online.removed_bytes, offline.removed_bytes), "{online:?} {offline:?}");
    assert!(close(online.regions, offline.regions), "{online:?} {offline:?}");
    assert!(close(online.reduced_packets, offline.encoded_packets), "{online:?} {offline:?}");
}

/// Content sent while searches were rare is found when it repeats at other cuts.
#[test]
fn what_was_sent_while_nothing_repeated_is_found_when_it_repeats() {
    let content = pseudo_random(1, 1_000_000);
    let mut link = Link::new(Parameters::default());
    let mut send = |payload_bytes: usize| {
        let before = *link.encoder.statistics();
        for chunk in content.chunks(payload_bytes) {
            let frame = link.send(&tcp_packet(80, link.originals.len() as u32 * 1460, chunk));
            link.receive(&frame);
            link.receipt(1);
        }
        let after = *link.encoder.statistics();
        let packets = after.packets - before.packets;
        (
            after.searched_packets - before.searched_packets,
            packets,
            after.removed_bytes - before.removed_bytes,
        )
    };
    let (searched, packets, removed) = send(1400);
    assert_eq!(removed, 0);
    assert!(searched < 64 + packets / 16 + 2, "{searched} of {packets} searched");
    let (searched, packets, removed) = send(1300);
    assert!(searched >= packets - 15, "{searched} of {packets} searched");
    assert!(removed > 950_000, "{removed} bytes removed");
}

/// The paper's encoder searches every packet. It also enters a k-distance reference in full, however long
/// nothing has repeated.
#[test]
fn the_papers_form_searches_and_enters_every_packet_whole() {
    let policy = k_distance(2);
    let mut link = Link::new(Parameters { policy, form: PAPER, ..Parameters::default() });
    for number in 0..500 {
        link.send(&tcp_packet(80, number as u32 * 1000, &pseudo_random(number, 1000)));
    }
    assert_eq!(link.encoder.statistics().searched_packets, 250);
    // A reference, and then a packet that repeats the middle of a thin stretch.
    let reference = pseudo_random(1000, 1000);
    link.send(&tcp_packet(80, 600_000, &reference));
    assert!(link.send(&tcp_packet(80, 700_000, &reference[90..240])).reduced);
}

/// The result equals a search before the kernel's segmentation.
#[test]
fn a_region_that_crosses_segments_is_removed_to_the_byte() {
    let content = pseudo_random(9, 50_000);
    let mut link = Link::new(Parameters { policy: NAIVE, ..Parameters::default() });
    for segment_bytes in [1000, 700] {
        let mut at = 0;
        for segment in content.chunks(segment_bytes) {
            let packet = tcp_packet(80, at + segment_bytes as u32 * 100_000, segment);
            at += segment.len() as u32;
            let frame = link.send(&packet);
            if segment_bytes == 700 {
                let around = packet.len() - segment.len();
                // Three regions at most, each of a few numbers.
                assert!(frame.body.len() <= around + 3 * 8, "{} bytes at {at}", frame.body.len());
            }
            assert_eq!(link.receive(&frame), Arrival::Delivered(packet));
        }
    }
    let statistics = link.encoder.statistics();
    assert_eq!(statistics.removed_bytes, 50_000, "{statistics:?}");
}

#[test]
fn an_unconfirmed_datagram_hides_no_confirmed_one_with_the_same_content() {
    let mut encoder = Encoder::new(&Parameters { policy: Policy::Adaptive, ..Parameters::default() });
    encoder.set_losses_repaired(true);
    let content: Vec<u8> = (0..1000u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let mut packet = Vec::new();
    etherparse::PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
        .udp(9, 9)
        .write(&mut packet, &content)
        .unwrap();
    let inner = Inner::parse(&packet).unwrap();
    let mut out = Vec::new();
    let mut reduced = 0;
    // confirmations come ten packets later, so the newest copies are never confirmed in time
    for sequence in 0..200u64 {
        out.clear();
        reduced += u32::from(encoder.encode(sequence, &packet, &inner, &mut out) != re::Encoded::Plain);
        if let Some(confirmed) = sequence.checked_sub(10) {
            encoder.confirm(confirmed);
        }
    }
    assert!(reduced > 150, "{reduced} of 200");
}
