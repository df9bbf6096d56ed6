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
/// How long large datagrams may stay without a sign of arrival; at least so many round trips.
const PATIENCE: Duration = Duration::from_secs(1);
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

    fn patience(&self) -> Duration {
        self.srtt.map_or(PATIENCE, |srtt| (srtt * PATIENCE_ROUND_TRIPS).max(PATIENCE))
    }

    /// So many that on a path which carries the size all of them fail less than once in a hundred times, up
    /// to a loss of 40% each way.
    fn attempts(&self) -> u32 {
        let more = (self.loss.unwrap_or(0.0).clamp(0.0, 1.0) * 20.0) as u32;
        (ATTEMPTS + more).min(MOST_ATTEMPTS)
    }
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
    confirmed_until: Duration,
    /// From when on a wider path may be looked for.
    raise_from: Option<Duration>,
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
            confirmed_until: Duration::ZERO,
            raise_from: (offered < most).then_some(Duration::ZERO),
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

    /// A datagram of `bytes` left, whose first packet has this link sequence.
    pub fn sent(&mut self, now: Duration, sequence: u64, bytes: usize) {
        let settled = self.probe.is_none() && (self.confirmed || self.limit <= LEAST_BYTES);
        if settled && 2 * bytes > self.limit && self.raise_from.is_some_and(|from| from <= now) {
            self.raise_from = None;
            self.fails = self.most + 1;
            // if the path is as narrow as before, one size tells
            self.try_size((self.limit + STEP_BYTES).min(self.most), Aim::Search);
        }
        if bytes <= self.floor() {
            return;
        }
        // some of those under way are enough; the oldest are told of first
        if self.large.len() < MAX_REMEMBERED {
            self.large.push_back((sequence, bytes));
        }
        self.unproven_since.get_or_insert(now);
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
            self.raise_from = (self.limit < self.most).then_some(now + RAISE_AFTER);
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
                    self.raise_from = Some(now + RAISE_AFTER);
                }
            }
        }
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
                if probe.failed >= measured.attempts() {
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
        let at = self.unproven_since? + measured.patience();
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    const MS: Duration = Duration::from_millis(1);

    /// A path that carries `carries` bytes, and a peer behind it.
    struct Path {
        mtu: PathMtu,
        carries: usize,
        cut: bool,
        receipts: bool,
        now: Duration,
        answers: BTreeMap<Duration, Vec<(usize, Option<u64>)>>,
        sequence: u64,
        measured: Measured,
    }

    impl Path {
        fn new(offered: usize, most: usize, carries: usize) -> Self {
            let measured = Measured { srtt: Some(20 * MS), loss: None };
            // no clock stands at whole microseconds
            let (now, mtu) = (Duration::from_nanos(1), PathMtu::new(offered, most));
            let answers = BTreeMap::new();
            Path { mtu, carries, cut: false, receipts: true, now, answers, sequence: 0, measured }
        }

        /// Every 5 ms a datagram as large as may be, for so long.
        fn run(&mut self, time: Duration) {
            let end = self.now + time;
            while self.now < end {
                self.now += 5 * MS;
                while let Some(entry) = self.answers.first_entry().filter(|entry| *entry.key() <= self.now) {
                    for (bytes, sequence) in entry.remove() {
                        match sequence {
                            Some(u64::MAX) => {
                                self.mtu.answered_ping(self.now - 20 * MS - Duration::from_nanos(1))
                            }
                            Some(sequence) => self.mtu.held(self.now, sequence),
                            None => self.mtu.answered(self.now, bytes),
                        }
                    }
                }
                self.mtu.handle_timeout(self.now, &self.measured);
                if let Some(bytes) = self.mtu.take_probe(self.now) {
                    self.leave(bytes, None);
                    self.leave(60, Some(u64::MAX)); // the ping beside it
                }
                let (bytes, sequence) = (self.mtu.limit(), self.sequence);
                self.mtu.sent(self.now, sequence, bytes);
                if self.receipts {
                    self.leave(bytes, Some(sequence));
                }
                self.sequence += 1;
            }
        }

        fn leave(&mut self, bytes: usize, sequence: Option<u64>) {
            if !self.cut && bytes <= self.carries {
                self.answers.entry(self.now + 20 * MS).or_default().push((bytes, sequence));
            }
        }
    }

    #[test]
    fn where_large_datagrams_arrive_nothing_is_probed() {
        let mut path = Path::new(1452, 1452, 1472);
        path.run(Duration::from_secs(60));
        assert_eq!((path.mtu.limit(), path.mtu.probes, path.mtu.is_confirmed()), (1452, 0, true));
    }

    #[test]
    fn where_more_is_under_way_than_is_remembered_nothing_is_probed_either() {
        let mut mtu = PathMtu::new(1452, 1452);
        let measured = Measured { srtt: Some(600 * MS), loss: None };
        for sequence in 0..20_000u64 {
            let now = sequence as u32 * MS;
            mtu.sent(now, sequence, 1452);
            if let Some(held) = sequence.checked_sub(600).filter(|held| held % 5 != 0) {
                mtu.held(now, held);
            }
            mtu.handle_timeout(now, &measured);
            assert!(!mtu.has_probe(), "{sequence}");
        }
    }

    #[test]
    fn what_passes_is_no_proof_for_what_is_larger() {
        let mut path = Path::new(1452, 1452, 1300);
        for _ in 0..1000 {
            path.run(5 * MS);
            path.mtu.sent(path.now, path.sequence, path.mtu.limit().min(1280));
            path.leave(path.mtu.limit().min(1280), Some(path.sequence));
            path.sequence += 1;
        }
        assert!((1292..=1300).contains(&path.mtu.limit()), "{}", path.mtu.limit());
    }

    #[test]
    fn a_narrow_path_is_found_within_seconds_and_a_black_hole_too() {
        for receipts in [true, false] {
            let mut path = Path::new(1452, 1452, 1300);
            path.receipts = receipts;
            path.run(Duration::from_secs(6));
            assert!((1292..=1300).contains(&path.mtu.limit()), "{}", path.mtu.limit());
            assert_eq!(path.mtu.black_holes, 1);
            path.carries = 1250;
            path.run(Duration::from_secs(20));
            assert!((1242..=1250).contains(&path.mtu.limit()), "{}", path.mtu.limit());
            assert_eq!(path.mtu.black_holes, 2);
        }
    }

    #[test]
    fn a_wider_path_is_found_when_its_time_comes() {
        let mut path = Path::new(1452, 1452, 1300);
        path.run(Duration::from_secs(10));
        let probes = path.mtu.probes;
        path.run(Duration::from_secs(580));
        assert_eq!(path.mtu.probes, probes, "not before");
        path.run(Duration::from_secs(30));
        assert!(path.mtu.probes <= probes + 4, "as narrow as before: one size tells");
        path.carries = 1500;
        path.run(Duration::from_secs(610));
        assert_eq!(path.mtu.limit(), 1452);
    }

    #[test]
    fn more_than_is_offered_is_found_if_it_is_wanted() {
        let mut path = Path::new(1452, 8972, 4000);
        path.run(Duration::from_secs(30));
        assert!((3992..=4000).contains(&path.mtu.limit()), "{}", path.mtu.limit());
    }

    #[test]
    fn a_path_that_is_cut_is_no_narrow_path() {
        let mut path = Path::new(1452, 1452, 1472);
        path.run(Duration::from_secs(1));
        path.cut = true;
        path.run(Duration::from_secs(60));
        assert!(path.mtu.probes < 40, "{} probes", path.mtu.probes);
        path.cut = false;
        path.run(Duration::from_secs(20));
        assert_eq!((path.mtu.limit(), path.mtu.black_holes), (1452, 0));
    }

    proptest! {
        /// After any reports in any order, the size stays within its bounds, and a timer is later than now or
        /// a probe is due.
        #[test]
        fn bounds_hold(
            offered in 576usize..2000, more in 0usize..8000,
            steps in proptest::collection::vec((0u8..7, 0usize..9000, 0u64..3000), 1..300),
        ) {
            let mut mtu = PathMtu::new(offered, offered + more);
            let (mut now, mut sequence) = (Duration::ZERO, 0);
            let measured = Measured { srtt: Some(30 * MS), loss: Some(0.2) };
            for (step, bytes, ms) in steps {
                now += Duration::from_millis(ms);
                match step {
                    0 | 1 => {
                        mtu.sent(now, sequence, bytes.min(mtu.limit()));
                        sequence += 1;
                    }
                    2 => mtu.held(now, sequence.saturating_sub(ms % 5)),
                    3 => mtu.answered_ping(now.saturating_sub(MS * bytes as u32)),
                    4 => {
                        let probed = mtu.probe.map_or(bytes, |probe| probe.bytes);
                        mtu.answered(now, probed);
                    }
                    5 => drop(mtu.take_probe(now)),
                    _ => {
                        mtu.handle_timeout(now, &measured);
                        prop_assert!(mtu.has_probe() || mtu.timeout(&measured).is_none_or(|at| at > now));
                    }
                }
                prop_assert!((LEAST_BYTES..=offered + more).contains(&mtu.limit()));
                prop_assert!(mtu.large.len() <= MAX_REMEMBERED);
                prop_assert!(mtu.probe.is_none_or(|probe| probe.bytes <= offered + more));
            }
        }

        /// Wherever the path ends, that is found.
        #[test]
        fn every_size_is_found(carries in LEAST_BYTES..1472) {
            let mut path = Path::new(1452, 1452, carries);
            path.run(Duration::from_secs(40));
            let limit = path.mtu.limit();
            prop_assert!(limit <= carries && limit + STEP_BYTES >= carries.min(1452), "{} {}", limit, carries);
        }
    }
}
