//! Counters by outcome, by site and by neighbour.

use crate::proxy::{Asked, Outcome, Way};
use hyper::StatusCode;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The most sites and neighbours with their own counters; the others share one.
const MOST_SITES: usize = 1000;
const OTHERS: &str = "(others)";

/// Requests and octets sent to clients, by how they were answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Answered {
    /// From this router, for content that its own clients requested before.
    pub local: u64,
    /// From this router, for content that it stored for another router.
    pub ph_local: u64,
    /// From this router, after validation at the origin.
    pub validated: u64,
    /// From this router, stale.
    pub stale: u64,
    /// From another router.
    pub remote: u64,
    /// From the origin; the router stored the content.
    pub miss: u64,
    /// From the origin; the router did not store the content.
    pub pass: u64,
}

impl Answered {
    fn of(&mut self, outcome: Outcome) -> &mut u64 {
        match outcome {
            Outcome::Local => &mut self.local,
            Outcome::PhLocal => &mut self.ph_local,
            Outcome::Validated => &mut self.validated,
            Outcome::Stale => &mut self.stale,
            Outcome::Remote => &mut self.remote,
            Outcome::Miss => &mut self.miss,
            Outcome::Pass => &mut self.pass,
        }
    }

    /// Each outcome with its name.
    #[must_use]
    pub fn by_outcome(&self) -> [(&'static str, u64); 7] {
        [
            ("local", self.local),
            ("ph-local", self.ph_local),
            ("validated", self.validated),
            ("stale", self.stale),
            ("remote", self.remote),
            ("miss", self.miss),
            ("pass", self.pass),
        ]
    }

    /// Requests or octets that did not come from the origin.
    #[must_use]
    pub fn kept_off(&self) -> u64 {
        self.local + self.ph_local + self.validated + self.stale + self.remote
    }

    /// All requests or octets.
    #[must_use]
    pub fn all(&self) -> u64 {
        self.kept_off() + self.miss + self.pass
    }

    /// The difference from `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Answered {
            local: self.local.saturating_sub(before.local),
            ph_local: self.ph_local.saturating_sub(before.ph_local),
            validated: self.validated.saturating_sub(before.validated),
            stale: self.stale.saturating_sub(before.stale),
            remote: self.remote.saturating_sub(before.remote),
            miss: self.miss.saturating_sub(before.miss),
            pass: self.pass.saturating_sub(before.pass),
        }
    }
}

/// One site.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Site {
    /// Requests of clients.
    pub requests: Answered,
    /// Bytes of content sent to clients and neighbours.
    pub bytes: Answered,
}

/// One neighbour.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Neighbour {
    /// Requests of the neighbour that this router answered.
    pub asked_us: u64,
    /// Failed requests to the neighbour.
    pub failed: u64,
}

/// A snapshot of all counters.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// Requests of clients.
    pub requests: Answered,
    /// Bytes of content sent to clients and neighbours.
    pub bytes: Answered,
    /// Requests and bytes by host.
    pub sites: BTreeMap<String, Site>,
    /// Neighbours by address.
    pub neighbours: BTreeMap<IpAddr, Neighbour>,
    /// Refused requests by reason.
    pub refused: BTreeMap<&'static str, u64>,
    /// Responses that ended early, because the rest was not available.
    pub cut_off: u64,
    /// Contents that a range request completed.
    pub mended: u64,
    /// Answers with status 5xx.
    pub server_errors: u64,
    /// The total time to the head of an answer, in microseconds.
    pub head_microseconds: u64,
}

impl Counters {
    /// The counter of a host; beyond the bound, the shared one.
    fn site(&mut self, host: &str) -> &mut Site {
        let name = if self.sites.len() < MOST_SITES || self.sites.contains_key(host) { host } else { OTHERS };
        self.sites.entry(name.to_owned()).or_default()
    }
}

/// An answer at its beginning.
#[derive(Debug, Clone, Copy)]
pub struct Answer {
    /// Its outcome.
    pub outcome: Outcome,
    /// Its status.
    pub status: StatusCode,
    /// Time to its head.
    pub took: Duration,
    /// Its octets, if known in advance.
    pub bytes: Option<u64>,
}

/// The counters.
#[derive(Debug, Default)]
pub struct Statistics(Mutex<Counters>);

impl Statistics {
    fn counters(&self) -> MutexGuard<'_, Counters> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answered requests and octets until now.
    #[must_use]
    pub fn answered(&self) -> (Answered, Answered) {
        let counters = self.counters();
        (counters.requests, counters.bytes)
    }

    /// All counters now.
    #[must_use]
    pub fn snapshot(&self) -> Counters {
        self.counters().clone()
    }

    /// Counts a request when its answer begins.
    pub fn count(&self, asked: &Asked, answer: Answer) {
        let (mut counters, outcome) = (self.counters(), answer.outcome);
        let from_router = asked.is_from_router();
        if from_router {
            let known =
                counters.neighbours.len() < MOST_SITES || counters.neighbours.contains_key(&asked.client);
            if known {
                counters.neighbours.entry(asked.client).or_default().asked_us += 1;
            }
        } else {
            *counters.requests.of(outcome) += 1;
        }
        let bytes = answer.bytes.unwrap_or(0);
        *counters.bytes.of(outcome) += bytes;
        counters.server_errors += u64::from(answer.status.is_server_error());
        counters.head_microseconds += u64::try_from(answer.took.as_micros()).unwrap_or(u64::MAX);
        let site = counters.site(asked.key.host());
        *site.requests.of(outcome) += u64::from(!from_router);
        *site.bytes.of(outcome) += bytes;
    }

    /// Counts octets of a content as they are sent.
    pub fn sent(&self, host: &str, outcome: Outcome, bytes: u64) {
        let mut counters = self.counters();
        *counters.bytes.of(outcome) += bytes;
        *counters.site(host).bytes.of(outcome) += bytes;
    }

    /// Counts a refusal.
    pub fn refuse(&self, why: &'static str) {
        *self.counters().refused.entry(why).or_default() += 1;
    }

    /// Counts a failed way.
    pub fn way_failed(&self, way: Way) {
        let mut counters = self.counters();
        let address = way.address.ip();
        if counters.neighbours.len() < MOST_SITES && way.kind != crate::proxy::Kind::Origin {
            counters.neighbours.entry(address).or_default().failed += 1;
        }
    }

    /// Counts a reset response.
    pub fn cut_off(&self) {
        self.counters().cut_off += 1;
    }

    /// Counts a content that was continued by range.
    pub fn mended(&self) {
        self.counters().mended += 1;
    }
}
