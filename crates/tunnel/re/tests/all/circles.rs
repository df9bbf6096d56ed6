//! Circular dependencies: under `naive` alone, a lost segment is never delivered, however often it is
//! retransmitted (byte-caching paper, section IV).
//!
//! The tested definition: from some moment on the link loses nothing. The sender then retransmits the first
//! undelivered segment, as TCP does. Every segment must be delivered within a bounded number of
//! retransmissions.

use crate::link::{Arrival, Link, all_parameters, pseudo_random, tcp_packet};
use proptest::prelude::*;
use published::policy::{
    self, CACHE_FLUSH, INFORMED_MARKING, NAIVE, RETRIEVE_ON_MISS, TCP_SEQ, distance, k_distance,
};
use re::{Parameters, Policy};

/// The bound on retransmissions of a segment on a link without loss.
fn repeats_allowed(policy: Policy) -> usize {
    // The next reference comes within k packets.
    if let Some(k) = distance(policy) {
        return k as usize;
    }
    // A segment in the place of the one before refers to a lost copy without anchors. These lead the second
    // transmission to the lost copy, and the third to the second.
    if policy == TCP_SEQ {
        return 3;
    }
    // At its first transmission, or again after others, a segment may refer to a lost copy. The policy
    // recognizes the next retransmission, or the loss is reported by then.
    if [CACHE_FLUSH, INFORMED_MARKING].contains(&policy) {
        return 2;
    }
    // A tiny store may have dropped the requested packet; the next retransmission refers to this one.
    if policy == RETRIEVE_ON_MISS { 2 } else { 1 }
}

/// The sequence of events in the paper's Figure 4.
#[test]
fn after_figure_4_naive_never_delivers_and_every_other_policy_does() {
    let repeated = pseudo_random(4, 600);
    let first = tcp_packet(80, 1000, &[&pseudo_random(5, 700)[..], &repeated].concat());
    let second = tcp_packet(80, 2300, &[&repeated[..], &pseudo_random(6, 500)].concat());
    for parameters in all_parameters(1 << 20) {
        let mut link = Link::new(parameters);
        // t1: lost on the way. t2, t3: arrives, refers to the first.
        let _lost = link.send(&first);
        let _ = exchange(&mut link, &second, true);
        let refers = link.encoder.statistics().reduced_packets == 1;
        // t4, t5: TCP repeats the first segment, again and again.
        let delivered_after = (1..=1000).find(|_| exchange(&mut link, &first, true));
        if parameters.policy == NAIVE {
            assert!(refers);
            assert_eq!(delivered_after, None, "{parameters:?}");
        } else {
            let repeats = delivered_after.expect("only naive goes round in circles");
            assert!(repeats <= repeats_allowed(parameters.policy), "{parameters:?}: {repeats} repeats");
        }
    }
}

/// Sends one packet that arrives. If `answered`, the receiver's answer under the policy reaches the sender.
/// Returns whether the packet was delivered.
fn exchange(link: &mut Link, packet: &[u8], answered: bool) -> bool {
    let frame = link.send(packet);
    let mut arrival = link.receive(&frame);
    let policy = link.parameters.policy;
    if answered && [INFORMED_MARKING, Policy::Acked].contains(&policy) {
        link.receipt(200);
    } else if answered && policy == RETRIEVE_ON_MISS {
        arrival = link.retrieve(&frame, arrival);
    }
    matches!(arrival, Arrival::Delivered(_))
}

/// One transmission while the link is bad.
#[derive(Debug, Clone, Copy)]
struct Step {
    /// The segment to send: an earlier one, or `None` for the next new one.
    again: Option<prop::sample::Index>,
    lost: bool,
    /// Whether the receiver's answer gets through.
    answered: bool,
}

fn step() -> impl Strategy<Value = Step> {
    (prop::option::weighted(0.3, any::<prop::sample::Index>()), prop::bool::weighted(0.3), any::<bool>())
        .prop_map(|(again, lost, answered)| Step { again, lost, answered })
}

/// Segments of few distinct pieces, so that almost everything repeats.
fn segments(pieces: &[(u8, u16)]) -> Vec<Vec<u8>> {
    let mut tcp_sequence = u32::MAX - 3000;
    let payloads = pieces.chunks(3).map(|pieces| {
        let cut = |&(seed, length): &(u8, u16)| pseudo_random(u64::from(seed % 6), usize::from(length));
        pieces.iter().flat_map(cut).collect::<Vec<u8>>()
    });
    payloads
        .map(|payload| {
            let packet = tcp_packet(80, tcp_sequence, &payload);
            tcp_sequence = tcp_sequence.wrapping_add(payload.len() as u32);
            packet
        })
        .collect()
}

fn every_segment_arrives(
    parameters: Parameters,
    segments: &[Vec<u8>],
    steps: &[Step],
) -> Result<(), TestCaseError> {
    let mut link = Link::new(parameters);
    let mut delivered = vec![false; segments.len()];
    let mut next = 0;
    for step in steps {
        let number = match step.again {
            Some(index) if next > 0 => index.index(next),
            _ => next.min(segments.len() - 1),
        };
        next = next.max(number + 1);
        if step.lost {
            let _lost = link.send(&segments[number]);
        } else {
            delivered[number] |= exchange(&mut link, &segments[number], step.answered);
        }
    }
    // From here on nothing is lost.
    for number in 0..segments.len() {
        let mut repeats = 0;
        while !delivered[number] {
            prop_assert!(
                repeats < repeats_allowed(parameters.policy),
                "segment {} under {:?}",
                number,
                parameters
            );
            delivered[number] = exchange(&mut link, &segments[number], true);
            repeats += 1;
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn under_every_policy_but_naive_every_segment_is_delivered_within_bounded_repeats(
        pieces in prop::collection::vec((any::<u8>(), 20u16..500), 3..45),
        steps in prop::collection::vec(step(), 0..40),
        store_bytes in prop::sample::select(vec![4096usize, 16_384, 1 << 18]),
        k in 1u32..10,
        form in prop::sample::select(published::form::ALL.to_vec()),
        policy in 0usize..policy::ALL.len(),
    ) {
        let policy = match policy::ALL[policy] {
            policy if distance(policy).is_some() => k_distance(k),
            policy if policy == NAIVE => Policy::Acked,
            policy => policy,
        };
        let parameters = Parameters { policy, form, store_bytes, ..Parameters::default() };
        prop_assume!(parameters.validate().is_ok());
        every_segment_arrives(parameters, &segments(&pieces), &steps)?;
    }
}
