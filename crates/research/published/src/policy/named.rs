//! The papers' policies as values that [`re::Parameters`] takes, and by their names.

use super::{CacheFlush, InformedMarking, KDistance, Naive, RetrieveOnMiss, TcpSeq};
use re::Policy;
use re::policy::{InjectedPolicy, ReferencePolicy};

/// The k that Table II of the byte-caching paper uses.
pub const PAPER_K: u32 = 8;

const fn published(
    name: &'static str,
    describe: fn(Option<u32>) -> String,
    make: fn(Option<u32>) -> Box<dyn ReferencePolicy>,
) -> InjectedPolicy {
    InjectedPolicy { name, k: None, describe, answers_requests: false, repairs_losses: false, make }
}

const DISTANCE: InjectedPolicy = published(
    "k-distance",
    |k| format!("packets since the last reference, one in {}", k.unwrap_or(PAPER_K)),
    |k| Box::new(KDistance::printed(k.unwrap_or(PAPER_K))),
);

/// Any packet sent before. One loss stalls TCP for good.
pub const NAIVE: Policy =
    Policy::Injected(published("naive", |_| "any earlier packet".to_owned(), |_| Box::new(Naive)));

/// Any packet since the last TCP retransmission.
pub const CACHE_FLUSH: Policy = Policy::Injected(published(
    "cache-flush",
    |_| "packets since the last retransmission".to_owned(),
    |_| Box::new(CacheFlush::default()),
));

/// Packets with a strictly lower TCP sequence, of whatever flow: the paper's Figure 7 as printed.
pub const TCP_SEQ: Policy = Policy::Injected(published(
    "tcp-seq",
    |_| "segments with a lower sequence".to_owned(),
    |_| Box::new(TcpSeq::printed()),
));

/// Packets of the same flow with a strictly lower TCP sequence: tcp-seq with our change.
pub const TCP_SEQ_IN_FLOW: Policy = Policy::Injected(published(
    "tcp-seq-in-flow",
    |_| "earlier segments of the same flow".to_owned(),
    |_| Box::new(TcpSeq::in_flow()),
));

/// Packets since the last reference, every k-th being one, with the paper's k: section V-C as printed.
pub const K_DISTANCE: Policy = Policy::Injected(DISTANCE);

/// The same, where a segment refers to earlier segments of its flow only: k-distance with our change.
pub const K_DISTANCE_IN_FLOW: Policy = Policy::Injected(published(
    "k-distance-in-flow",
    |_| format!("earlier segments of the same flow since the last reference, one in {PAPER_K}"),
    |_| Box::new(KDistance::in_flow(PAPER_K)),
));

/// No packet, and the hop sends again what it lost: the repair of the default without its redundancy
/// elimination.
pub const ARQ_ONLY: Policy = Policy::Injected(InjectedPolicy {
    repairs_losses: true,
    ..published(
        "arq-only",
        |_| "nothing; the hop repairs its losses".to_owned(),
        |_| Box::new(re::policy::Off),
    )
});

/// Any packet that the receiver has not reported lost.
pub const INFORMED_MARKING: Policy = Policy::Injected(published(
    "informed-marking",
    |_| "packets that are not reported lost".to_owned(),
    |_| Box::new(InformedMarking::default()),
));

/// Any packet; the receiver asks for what it lacks.
pub const RETRIEVE_ON_MISS: Policy = Policy::Injected(InjectedPolicy {
    answers_requests: true,
    ..published("retrieve-on-miss", |_| "any earlier packet".to_owned(), |_| Box::new(RetrieveOnMiss))
});

/// The papers' policies, k-distance with the paper's k.
pub const PUBLISHED: [Policy; 6] =
    [NAIVE, CACHE_FLUSH, TCP_SEQ, K_DISTANCE, INFORMED_MARKING, RETRIEVE_ON_MISS];

/// Every policy that the laboratory compares: the papers' and those of [`re`].
pub const ALL: [Policy; 9] = [
    Policy::Off,
    NAIVE,
    CACHE_FLUSH,
    TCP_SEQ,
    K_DISTANCE,
    INFORMED_MARKING,
    RETRIEVE_ON_MISS,
    Policy::Acked,
    Policy::Adaptive,
];

/// Our changes of the papers' policies, and a baseline.
pub const CHANGED: [Policy; 3] = [TCP_SEQ_IN_FLOW, K_DISTANCE_IN_FLOW, ARQ_ONLY];

/// The policies that differ where nothing is lost, as on a capture, in the order of a report.
pub const ON_CAPTURES: [Policy; 5] = [NAIVE, K_DISTANCE, TCP_SEQ, CACHE_FLUSH, Policy::Acked];

/// k-distance with any k.
#[must_use]
pub const fn k_distance(k: u32) -> Policy {
    if k == PAPER_K { K_DISTANCE } else { Policy::Injected(InjectedPolicy { k: Some(k), ..DISTANCE }) }
}

/// The k of a policy, if it is k-distance.
#[must_use]
pub fn distance(policy: Policy) -> Option<u32> {
    match policy {
        Policy::Injected(injected) if injected.name == DISTANCE.name => Some(injected.k.unwrap_or(PAPER_K)),
        _ => None,
    }
}

/// The policy with this name; `k-distance` may be followed by `=` and its k.
pub fn named(name: &str) -> Result<Policy, UnknownPolicy> {
    let unknown = || UnknownPolicy(name.chars().take(40).collect());
    if let Some(k) = name.strip_prefix("k-distance=") {
        return Ok(k_distance(k.parse().map_err(|_| unknown())?));
    }
    ALL.into_iter().chain(CHANGED).find(|policy| policy.to_string() == name).ok_or_else(unknown)
}

/// No policy has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "no policy is called {0:?}; there are off, arq-only, naive, cache-flush, tcp-seq, tcp-seq-in-flow, \
     k-distance, k-distance=K, k-distance-in-flow, informed-marking, retrieve-on-miss, acked and adaptive"
)]
pub struct UnknownPolicy(String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hop_repairs_its_losses_under_two_policies() {
        let policies = ALL.into_iter().chain(CHANGED);
        let repaired: Vec<Policy> = policies.filter(|policy| policy.repairs_losses()).collect();
        assert_eq!(repaired, [Policy::Adaptive, ARQ_ONLY]);
    }

    #[test]
    fn a_distance_of_the_papers_k_is_the_papers() {
        assert_eq!(k_distance(PAPER_K), K_DISTANCE);
        assert_eq!([K_DISTANCE, k_distance(3), NAIVE].map(distance), [Some(PAPER_K), Some(3), None]);
        assert_ne!(k_distance(3), k_distance(4));
        assert_eq!(distance(K_DISTANCE_IN_FLOW), None);
    }
}
