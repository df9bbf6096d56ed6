//! Searches, black holes, and paths that are cut.

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
            self.mtu.sent(self.now, sequence, bytes, self.measured.loss);
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
        mtu.sent(now, sequence, 1452, None);
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
        path.mtu.sent(path.now, path.sequence, path.mtu.limit().min(1280), None);
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
fn the_losses_of_a_black_hole_ask_for_no_further_attempts() {
    let mut path = Path::new(1452, 1452, 1452);
    path.measured.loss = Some(0.0);
    path.run(Duration::from_secs(3));
    path.carries = 1300;
    path.run(200 * MS);
    path.measured.loss = Some(0.9);
    path.run(1700 * MS);
    assert_eq!(path.mtu.black_holes, 1);
    assert!((BASE_BYTES..=1300).contains(&path.mtu.limit()), "{}", path.mtu.limit());
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
                    mtu.sent(now, sequence, bytes.min(mtu.limit()), Some(0.2));
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

#[test]
fn an_interface_that_becomes_narrower_is_heard_at_once_and_a_wider_one_soon() {
    let mut mtu = PathMtu::new(1452, 1452);
    let mut now = Duration::from_secs(1);
    let mut interface = 1272;
    let mut sequence = 0;
    let step = |mtu: &mut PathMtu, now: &mut Duration, interface: usize, sequence: &mut u64| {
        *now += 20 * MS;
        mtu.handle_timeout(*now, &Measured { srtt: Some(20 * MS), loss: None });
        if let Some(bytes) = mtu.take_probe(*now) {
            if bytes > interface {
                mtu.refused(*now, bytes);
            } else {
                mtu.answered(*now, bytes);
            }
            return;
        }
        *sequence += 1;
        let bytes = mtu.limit();
        mtu.sent(*now, *sequence, bytes, None);
        if bytes > interface {
            mtu.refused(*now, bytes);
        } else {
            mtu.held(*now, *sequence);
        }
    };
    step(&mut mtu, &mut now, interface, &mut sequence);
    assert!(mtu.limit() <= 1272, "after the first refusal: {}", mtu.limit());
    for _ in 0..25 {
        step(&mut mtu, &mut now, interface, &mut sequence);
    }
    assert!((1264..=1272).contains(&mtu.limit()), "half a second later: {}", mtu.limit());
    interface = 1452;
    for _ in 0..300 {
        step(&mut mtu, &mut now, interface, &mut sequence);
    }
    assert_eq!(mtu.limit(), 1452, "six seconds later");
}
