//! How large a datagram the path to a peer carries: packetization layer path MTU discovery for datagrams (RFC
//! 8899).
//!
//! Sizes are bytes of UDP payload. A path begins with the size of the configuration, usually the interface's.
//! While receipts show that large datagrams arrive, the node sends no probe: packets are the probes (section
//! 3.3). It ignores ICMP messages of routers, because any host can forge them.
//!
//! When large datagrams stay without a sign of arrival, the size in use is *verified* by a probe, a datagram
//! of that size which the peer answers. If it cannot be, the path is a black hole for that size (section
//! 4.4): [`BASE_BYTES`] are used, or [`LEAST_BYTES`] where not even those pass, and a *search* by halves
//! finds what does. Every so often a wider path is looked for, [`RAISE_AFTER`] after a search and only while
//! there are large datagrams to gain by it.
//!
//! An unanswered probe means something only if the peer answers otherwise: each is followed by a ping, and an
//! attempt whose ping is not answered either does not count, for the way may be cut, in one direction or
//! both. How many count is a matter of the loss on the way. A probe takes no link sequence, so that its loss
//! is neither congestion nor a gap that packets wait behind.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::time::Duration;

/// Nearly every path carries this size (RFC 8899, 5.1.2; RFC 9000, 14).
pub const BASE_BYTES: usize = 1200;
/// The size for a path that carries less: the smallest datagram that IPv4 hosts must take (RFC 1122, 3.3.2).
pub const LEAST_BYTES: usize = 576 - 28;
/// A search ends when it knows the size this well.
const STEP_BYTES: usize = 8;
/// Attempts that have to fail on a path without loss (RFC 8899, 5.1.2: MAX_PROBES).
const ATTEMPTS: u32 = 3;
const MOST_ATTEMPTS: u32 = 10;
/// When a wider path is looked for (RFC 8899, 5.1.1: PMTU_RAISE_TIMER).
pub const RAISE_AFTER: Duration = Duration::from_secs(600);
/// The same where this host's own interface is what is narrow: an attempt costs nothing on the air.
const RAISE_SOON: Duration = Duration::from_secs(4);
/// How long large datagrams may stay without a sign of arrival, a few and several; at least so many round
/// trips. The last ones before a silence may be lost without a black hole.
const PATIENCE: Duration = Duration::from_secs(1);
const PATIENCE_WITH_SEVERAL: Duration = Duration::from_millis(500);
const SEVERAL: u32 = 4;
const PATIENCE_ROUND_TRIPS: u32 = 4;
/// A probe confirms its size for this long, without receipts.
const CONFIRMED_FOR: Duration = Duration::from_secs(15);
/// The wait for an answer: at least this, at least so many round trips, and the first where none is known.
const LEAST_WAIT: Duration = Duration::from_millis(250);
const WAIT_ROUND_TRIPS: u32 = 3;
const UNKNOWN_WAIT: Duration = Duration::from_secs(1);
/// How often in a row the wait doubles while nothing is heard.
const MAX_BACKOFF: u32 = 5;
/// How many large datagrams are remembered that receipts have not told of.
const MAX_REMEMBERED: usize = 64;

/// The aim of the probes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Aim {
    /// Whether the size in use passes.
    Verify,
    /// How much more than the size in use passes.
    Search,
}

#[derive(Debug, Clone, Copy)]
struct Probe {
    bytes: usize,
    aim: Aim,
    /// When it left; `None`: it is to leave now.
    left_at: Option<Duration>,
    failed: u32,
    /// Attempts in a row during which no ping was answered.
    silent: u32,
    /// Whether a ping that left after it was answered.
    heard: bool,
}

/// Measurements of the path, for waiting times and the number of attempts.
#[derive(Debug, Clone, Copy, Default)]
pub struct Measured {
    /// Smoothed round trip.
    pub srtt: Option<Duration>,
    /// Share of datagrams lost.
    pub loss: Option<f64>,
}

impl Measured {
    /// Ever longer while nothing is heard of the peer.
    fn wait(&self, probe: &Probe) -> Duration {
        let wait = self.srtt.map_or(UNKNOWN_WAIT, |srtt| (srtt * WAIT_ROUND_TRIPS).max(LEAST_WAIT));
        wait * (1 << probe.silent.min(MAX_BACKOFF))
    }

    /// With so many large datagrams without a sign of arrival.
    fn patience(&self, unproven: u32) -> Duration {
        let least = if unproven >= SEVERAL { PATIENCE_WITH_SEVERAL } else { PATIENCE };
        self.srtt.map_or(PATIENCE, |srtt| (srtt * PATIENCE_ROUND_TRIPS).max(least))
    }
}

/// So many that on a path which carries the size, and loses this share of datagrams, all of them fail less
/// than once in a hundred times, up to a loss of 40% each way.
fn attempts(loss: Option<f64>) -> u32 {
    let more = (loss.unwrap_or(0.0).clamp(0.0, 1.0) * 20.0) as u32;
    (ATTEMPTS + more).min(MOST_ATTEMPTS)
}

/// One path.
#[derive(Debug)]
pub struct PathMtu {
    offered: usize,
    most: usize,
    limit: usize,
    /// Whether something as large as `limit` has been seen to pass.
    confirmed: bool,
    /// The smallest size that is known not to pass.
    fails: usize,
    probe: Option<Probe>,
    /// Large datagrams under way: link sequence and size.
    large: VecDeque<(u64, usize)>,
    unproven_since: Option<Duration>,
    /// Large datagrams that have left since then.
    unproven: u32,
    /// The share of datagrams lost when that time began: a black hole for large ones looks like loss.
    loss_before: Option<f64>,
    confirmed_until: Duration,
    /// From when on a wider path may be looked for.
    raise_from: Option<Duration>,
    /// The last size that failed was refused by this host's own interface.
    refused_here: bool,
    /// Probes sent.
    pub probes: u64,
    /// How often the size in use turned out not to pass.
    pub black_holes: u64,
}

impl PathMtu {
    /// A path for which datagrams of `offered` bytes are tried first, and of which no more than `most` are
    /// wanted.
    #[must_use]
    pub fn new(offered: usize, most: usize) -> Self {
        let most = most.max(offered);
        PathMtu {
            offered,
            most,
            limit: offered,
            confirmed: false,
            fails: most + 1,
            probe: None,
            large: VecDeque::new(),
            unproven_since: None,
            unproven: 0,
            loss_before: None,
            confirmed_until: Duration::ZERO,
            raise_from: (offered < most).then_some(Duration::ZERO),
            refused_here: false,
            probes: 0,
            black_holes: 0,
        }
    }

    /// The peer is elsewhere, or somebody else: nothing is known of the path to it.
    pub fn begin_anew(&mut self) {
        let (probes, black_holes) = (self.probes, self.black_holes);
        *self = PathMtu { probes, black_holes, ..PathMtu::new(self.offered, self.most) };
    }

    /// The largest datagram that is to be sent now.
    #[must_use]
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Whether the path was seen to carry that much.
    #[must_use]
    pub fn is_confirmed(&self) -> bool {
        self.confirmed
    }

    /// Below this nothing can be lost by its size alone.
    fn floor(&self) -> usize {
        if self.limit > BASE_BYTES { BASE_BYTES } else { LEAST_BYTES }
    }

    /// A datagram of `bytes` left, whose first packet has this link sequence. `loss`: the share of datagrams
    /// that receipts say is lost, so far as is known.
    pub fn sent(&mut self, now: Duration, sequence: u64, bytes: usize, loss: Option<f64>) {
        let settled = self.probe.is_none() && (self.confirmed || self.limit <= LEAST_BYTES);
        if settled && 2 * bytes > self.limit && self.raise_from.is_some_and(|from| from <= now) {
            self.raise_from = None;
            self.fails = self.most + 1;
            // if the path is as narrow as before, one size tells; an interface says so of any size at once
            let next = if self.refused_here { self.most } else { self.limit + STEP_BYTES };
            self.try_size(next.min(self.most), Aim::Search);
        }
        if bytes <= self.floor() {
            return;
        }
        // some of those under way are enough; the oldest are told of first
        if self.large.len() < MAX_REMEMBERED {
            self.large.push_back((sequence, bytes));
        }
        if self.unproven_since.is_none() {
            (self.unproven_since, self.unproven, self.loss_before) = (Some(now), 0, loss);
        }
        self.unproven = self.unproven.saturating_add(1);
    }

    /// Notes a retransmission of `sequence`. Its arrival no longer proves the first datagram.
    pub fn sent_again(&mut self, sequence: u64) {
        self.large.retain(|(large, _)| *large != sequence);
    }

    /// A receipt says that `sequence` arrived.
    pub fn held(&mut self, now: Duration, sequence: u64) {
        let at = self.large.partition_point(|(large, _)| *large < sequence);
        let Some(&(_, bytes)) = self.large.get(at).filter(|(large, _)| *large == sequence) else { return };
        // it proves nothing for larger ones, but for all that are no larger, whatever became of them
        self.large.retain(|&(_, other)| other > bytes);
        if self.large.is_empty() {
            self.unproven_since = None;
        }
        let passes = bytes + STEP_BYTES >= self.limit;
        self.confirmed |= passes;
        if passes && self.probe.is_some_and(|probe| probe.aim == Aim::Verify) {
            self.probe = None;
            self.search_unless_done(now);
        }
    }

    /// The peer answered a ping that left at `left_at`, which is told in whole microseconds.
    pub fn answered_ping(&mut self, left_at: Duration) {
        if let Some(probe) = &mut self.probe {
            probe.heard |= probe.left_at.is_some_and(|at| at.as_micros() <= left_at.as_micros());
        }
    }

    /// The peer answered a probe of `bytes`.
    pub fn answered(&mut self, now: Duration, bytes: usize) {
        let Some(probe) = self.probe.filter(|probe| probe.bytes == bytes) else { return };
        self.probe = None;
        self.limit = self.limit.max(bytes);
        self.confirmed = true;
        self.confirmed_until = now + CONFIRMED_FOR;
        self.unproven_since = None;
        self.large.clear();
        match probe.aim {
            Aim::Search => self.search_on(now),
            Aim::Verify => self.search_unless_done(now),
        }
    }

    /// Goes on after the size in use was found to pass, if a greater one was found not to.
    fn search_unless_done(&mut self, now: Duration) {
        if self.fails <= self.most && self.limit + STEP_BYTES < self.fails {
            self.search_on(now);
        }
    }

    fn try_size(&mut self, bytes: usize, aim: Aim) {
        self.probe = Some(Probe { bytes, aim, left_at: None, failed: 0, silent: 0, heard: false });
    }

    /// The next size between the largest that passes and the smallest that does not.
    fn search_on(&mut self, now: Duration) {
        let all_is_open = self.fails > self.most;
        if self.limit == self.most || !all_is_open && self.limit + STEP_BYTES >= self.fails {
            self.raise_from = (self.limit < self.most).then_some(now + self.raise_after());
        } else if all_is_open && self.limit + 2 * STEP_BYTES >= self.most {
            self.try_size(self.most, Aim::Search);
        } else {
            self.try_size(self.limit + (self.fails - self.limit) / 2, Aim::Search);
        }
    }

    /// All attempts at a size failed, and the peer answered beside them.
    fn failed(&mut self, now: Duration, probe: Probe) {
        self.fails = probe.bytes;
        self.probe = None;
        match probe.aim {
            Aim::Search => self.search_on(now),
            Aim::Verify => {
                self.black_holes += 1;
                self.limit = self.floor().min(self.limit);
                self.confirmed = false;
                self.large.clear();
                self.unproven_since = None;
                if self.limit < probe.bytes {
                    // what everything else stands on comes first
                    self.try_size(self.limit, Aim::Verify);
                } else {
                    self.raise_from = Some(now + self.raise_after());
                }
            }
        }
    }

    fn raise_after(&self) -> Duration {
        if self.refused_here { RAISE_SOON } else { RAISE_AFTER }
    }

    /// This host's own interface does not take a datagram of `bytes`. No router can make it say so.
    pub fn refused(&mut self, now: Duration, bytes: usize) {
        let probe = self.probe.filter(|probe| probe.left_at.is_some() && probe.bytes == bytes);
        if probe.is_none() && (bytes > self.limit || self.limit <= LEAST_BYTES) {
            return;
        }
        let (aim, silent) = (Aim::Verify, 0);
        let of_packets = Probe { bytes, aim, left_at: Some(now), failed: 0, silent, heard: true };
        self.refused_here = true;
        self.failed(now, probe.unwrap_or(of_packets));
    }

    /// Does what is due.
    pub fn handle_timeout(&mut self, now: Duration, measured: &Measured) {
        match self.probe {
            Some(mut probe) => {
                if probe.left_at.is_none_or(|at| now < at + measured.wait(&probe)) {
                    return;
                }
                probe.failed += u32::from(probe.heard);
                probe.silent = if probe.heard { 0 } else { probe.silent + 1 };
                (probe.left_at, probe.heard) = (None, false);
                self.probe = Some(probe);
                if probe.failed >= attempts(self.loss_before.or(measured.loss)) {
                    self.refused_here = false;
                    self.failed(now, probe);
                }
            }
            None if self.verify_at(measured).is_some_and(|at| at <= now) => {
                self.try_size(self.limit, Aim::Verify);
            }
            None => {}
        }
    }

    fn verify_at(&self, measured: &Measured) -> Option<Duration> {
        let at = self.unproven_since? + measured.patience(self.unproven);
        (self.limit > LEAST_BYTES).then(|| at.max(self.confirmed_until))
    }

    /// When [`PathMtu::handle_timeout`] has something to do.
    #[must_use]
    pub fn timeout(&self, measured: &Measured) -> Option<Duration> {
        match self.probe {
            Some(probe) => probe.left_at.map(|at| at + measured.wait(&probe)),
            None => self.verify_at(measured),
        }
    }

    /// Whether a probe is under way: the ping that follows it goes alone, for what is large may be lost with
    /// it.
    #[must_use]
    pub fn is_probing(&self) -> bool {
        self.probe.is_some_and(|probe| probe.left_at.is_some())
    }

    /// Whether a probe is to leave now.
    #[must_use]
    pub fn has_probe(&self) -> bool {
        self.probe.is_some_and(|probe| probe.left_at.is_none())
    }

    /// The size of the probe that leaves now.
    pub fn take_probe(&mut self, now: Duration) -> Option<usize> {
        let probe = self.probe.as_mut().filter(|probe| probe.left_at.is_none())?;
        probe.left_at = Some(now);
        self.probes += 1;
        Some(probe.bytes)
    }
}
