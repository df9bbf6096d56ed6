//! Peers that do not answer, and why.
//!
//! A peer with an `endpoint` that has been silent for [`SILENT_AFTER`] is probed: an ICMP message or the
//! kernel's refusal names the reason. Without one, the possible reasons remain.

use crate::reload::Called;
use dashboard::node::report::Silent;
use io::probe::Probe;
use node::PeerStatus;
use std::io::{Error, ErrorKind};
use std::net::SocketAddr;
use std::time::Duration;

/// A peer is silent after this time without an answer: the fourth second's step tells of it.
pub const SILENT_AFTER: Duration = Duration::from_millis(3900);
/// A peer is probed after this time without an answer, so that a reason is known when it is silent.
const PROBE_AFTER: Duration = Duration::from_millis(900);
/// The time between two probes of a peer.
const PROBE_EVERY: Duration = Duration::from_secs(60);
/// The time for an error to come back. The kernel gives up an address on the link 3 seconds after the first
/// handshake, which came before the probe.
const PROBE_FOR: Duration = Duration::from_millis(2800);
/// The time from the first message of a silence to the second. It doubles up to [`TELL_AT_LEAST_EVERY`].
const TELL_EVERY: Duration = Duration::from_secs(60);
const TELL_AT_LEAST_EVERY: Duration = Duration::from_secs(3600);
/// The most probed peers at a time.
const MOST_PROBES: usize = 16;

/// Begins a probe of an address, from a node that listens on a port.
pub type Begin<P> = fn(SocketAddr, u16) -> std::io::Result<P>;

/// A probe, or a test's.
pub trait Probing {
    /// The error that came back since the last call.
    fn refusal(&self) -> Option<Error>;
}

impl Probing for Probe {
    fn refusal(&self) -> Option<Error> {
        Probe::refusal(self)
    }
}

/// The silences of a node.
pub struct Silences<P = Probe> {
    /// The peers with an `endpoint`, by name, and whether they have a keepalive.
    called: Called,
    source_port: u16,
    begin: Begin<P>,
    after: Duration,
    silences: Vec<Silence<P>>,
}

/// One peer's.
struct Silence<P> {
    peer: String,
    /// Its present address.
    to: SocketAddr,
    since: Duration,
    /// Packets refused before: without a keepalive, a node calls its peer only for packets.
    refused_before: u64,
    probe: Option<(P, Duration)>,
    probed_at: Option<Duration>,
    reason: Option<String>,
    /// When the log has it again, and the time from the last message to that one.
    tell_at: Duration,
    tell_after: Duration,
    is_over: bool,
}

impl Silences {
    /// For the peers with an `endpoint`, by name, and whether they have a keepalive. The node listens on
    /// `source_port`. A peer is silent after `after`, at most [`SILENT_AFTER`].
    pub fn new(called: Called, source_port: u16, after: Duration) -> Self {
        Silences::with(called, source_port, after, |to, port| Probe::begin(to, port, PROBE_FOR))
    }
}

impl<P: Probing> Silences<P> {
    fn with(called: Called, source_port: u16, after: Duration, begin: Begin<P>) -> Self {
        Silences { called, source_port, begin, after: after.min(SILENT_AFTER), silences: Vec::new() }
    }

    /// Other peers are called from now on.
    pub fn call(&mut self, called: Called) {
        self.called = called;
    }

    /// Compares with the peers' state at `now`. Returns the new messages for the log.
    pub fn step(&mut self, now: Duration, peers: &[PeerStatus]) -> Vec<String> {
        let mut told = Vec::new();
        self.silences.iter_mut().for_each(|silence| silence.is_over = true);
        for peer in peers {
            let Some(&has_keepalive) = self.called.get(&peer.name) else { continue };
            let answers = peer.session_age_seconds.is_some() && peer.reachable;
            let (false, false, Some(endpoint)) = (answers, peer.revoked, peer.endpoint) else { continue };
            let refused = peer.counters.unreachable;
            let probes = self.silences.iter().filter(|silence| silence.probe.is_some()).count();
            let at = self.silences.iter().position(|silence| silence.peer == peer.name);
            let at = at.unwrap_or_else(|| {
                self.silences.push(Silence::new(peer.name.clone(), endpoint, now, refused));
                self.silences.len() - 1
            });
            let silence = &mut self.silences[at];
            (silence.is_over, silence.to) = (false, endpoint);
            let is_called = has_keepalive || refused > silence.refused_before;
            if now < silence.since + PROBE_AFTER.min(self.after) || !is_called {
                continue;
            }
            silence.examine(now, self.source_port, self.begin, probes < MOST_PROBES);
            if now >= silence.since + self.after {
                told.extend(silence.tell(now));
            }
        }
        self.silences.retain(|silence| !silence.is_over);
        told
    }

    /// The silent peers, with the known reasons.
    pub fn all(&self, now: Duration) -> Vec<Silent> {
        let silent = self.silences.iter().filter(|silence| now >= silence.since + self.after);
        let all = silent.filter_map(|silence| {
            let (peer, reason) = (silence.peer.clone(), silence.reason.clone()?);
            Some(Silent { peer, seconds: now.saturating_sub(silence.since).as_secs_f64(), reason })
        });
        all.collect()
    }

    /// The peers that have not answered until now, however short the time, with the likely reasons.
    pub fn unanswered(&self) -> Vec<String> {
        let unanswered = self.silences.iter().map(|silence| {
            let reason = silence.reason.clone().unwrap_or_else(|| reason(&silence.peer, silence.to, None));
            format!("{}: {reason}", silence.peer)
        });
        unanswered.collect()
    }
}

impl<P: Probing> Silence<P> {
    fn new(peer: String, to: SocketAddr, now: Duration, refused_before: u64) -> Self {
        Silence {
            peer,
            to,
            since: now,
            refused_before,
            probe: None,
            probed_at: None,
            reason: None,
            tell_at: now,
            tell_after: TELL_EVERY,
            is_over: false,
        }
    }

    /// Begins a due probe, and takes the result of one that has begun.
    fn examine(&mut self, now: Duration, source_port: u16, begin: Begin<P>, may_probe: bool) {
        if let Some((probe, sent_at)) = &self.probe {
            let refusal = probe.refusal();
            if refusal.is_some() || now >= *sent_at + PROBE_FOR {
                self.reason = Some(reason(&self.peer, self.to, refusal.as_ref()));
                self.probe = None;
            }
        } else if may_probe && self.probed_at.is_none_or(|at| now >= at + PROBE_EVERY) {
            self.probed_at = Some(now);
            match begin(self.to, source_port) {
                Ok(probe) => self.probe = Some((probe, now)),
                Err(why) => self.reason = Some(reason(&self.peer, self.to, Some(&why))),
            }
        }
    }

    /// The message for the log, if it is due.
    fn tell(&mut self, now: Duration) -> Option<String> {
        let reason = self.reason.as_ref().filter(|_| now >= self.tell_at)?;
        self.tell_at = now + self.tell_after;
        self.tell_after = (2 * self.tell_after).min(TELL_AT_LEAST_EVERY);
        Some(format!("no session with {}: {reason}", self.peer))
    }
}

/// The sentence for an operator.
fn reason(peer: &str, to: SocketAddr, refusal: Option<&Error>) -> String {
    let Some(refusal) = refusal else {
        return format!(
            "no answer from {to}, and no ICMP message: a firewall or another host is there, the network keys differ, \
             public_key of [[peer]] {peer:?} is not that node's, or that node has no [[peer]] with this node's key; \
             look at its log, and at `refused` in its `overheard status`"
        );
    };
    match refusal.kind() {
        ErrorKind::ConnectionRefused => format!(
            "no answer from {to}: ICMP port unreachable; start the node there, or correct the port in endpoint"
        ),
        ErrorKind::HostUnreachable => format!(
            "no answer from {to}: host unreachable; switch that machine on, or correct the address in endpoint"
        ),
        ErrorKind::NetworkUnreachable => {
            format!(
                "no answer from {to}: network unreachable; add a route, or correct the address in endpoint"
            )
        }
        ErrorKind::PermissionDenied => format!(
            "no answer from {to}: a firewall or a route of this machine forbids it; permit UDP to that port"
        ),
        _ => format!("no answer from {to}: {refusal}"),
    }
}

#[cfg(test)]
mod tests;
