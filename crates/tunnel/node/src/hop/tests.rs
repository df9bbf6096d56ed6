//! The controller over a model of a path: a queue before a link of some rate, and the path's own length.

use super::{Controller, Policer, Span};
use crate::arq::Progress;
use crate::arq::delay::Delay;
use std::collections::VecDeque;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);
const BYTES: usize = 1500;

/// Datagrams of one sender, and bytes of others, in the queue of a link.
struct Path {
    now: Duration,
    controller: Controller,
    delay: Delay,
    sent: u64,
    /// What waits: when a datagram left, or what is another's.
    queue: VecDeque<Option<(u64, Duration)>>,
    arriving: VecDeque<(Duration, u64, Duration)>,
    /// Datagrams that others keep in the queue.
    others: usize,
    credit: f64,
    /// Datagrams a millisecond that a policer lets pass, and those it would let pass at once.
    policed: Option<f64>,
    bucket: f64,
    /// The air loses every so many datagrams one.
    air: Option<u64>,
    lost: u64,
    came: u64,
    /// Bytes of a datagram.
    bytes: usize,
}

impl Path {
    const LENGTH: Duration = Duration::from_millis(40);

    fn new() -> Self {
        Self::with(Controller::default())
    }

    fn with(controller: Controller) -> Self {
        Path {
            now: Duration::ZERO,
            controller,
            delay: Delay::default(),
            sent: 0,
            queue: VecDeque::new(),
            arriving: VecDeque::new(),
            others: 0,
            credit: 0.0,
            policed: None,
            bucket: 0.0,
            air: None,
            lost: 0,
            came: 0,
            bytes: BYTES,
        }
    }

    /// Whether a datagram is lost on its way.
    fn loses(&mut self, sequence: u64) -> bool {
        let is_over = self.policed.is_some() && self.bucket < 1.0;
        self.bucket -= if self.policed.is_some() && !is_over { 1.0 } else { 0.0 };
        is_over || self.air.is_some_and(|air| sequence.is_multiple_of(air))
    }

    /// Lets so much time pass over a link of so many datagrams a millisecond, with a sender that has always
    /// something to send, up to `most` under way. The longest and the mean queueing of what arrived, in
    /// milliseconds, and the datagrams that arrived.
    fn run(&mut self, milliseconds: u32, rate: f64, most: usize) -> (u32, u32, u32) {
        let (mut longest, mut sum, mut arrived) = (0, 0, 0);
        for _ in 0..milliseconds {
            self.now += MS;
            let most_sent = self.sent + self.policed.map_or(1000, |_| 16);
            while self.queue.iter().flatten().count() + self.arriving.len() < most
                && self.sent < most_sent
                && self.controller.admits(self.now)
            {
                match self.loses(self.sent) {
                    true => self.lost += 1,
                    false => self.queue.push_back(Some((self.sent, self.now))),
                }
                self.controller.note_sent(self.now, Some(self.sent), self.bytes);
                self.sent += 1;
            }
            while self.queue.iter().filter(|datagram| datagram.is_none()).count() < self.others {
                self.queue.push_back(None);
            }
            self.bucket = (self.bucket + self.policed.unwrap_or(0.0)).min(20.0);
            self.credit = (self.credit + rate).min(rate.max(1.0));
            while self.credit >= 1.0 && !self.queue.is_empty() {
                self.credit -= 1.0;
                if let Some(Some((sequence, left_at))) = self.queue.pop_front() {
                    self.arriving.push_back((self.now + Self::LENGTH, sequence, left_at));
                }
            }
            while let Some(&(at, sequence, left_at)) = self.arriving.front()
                && at <= self.now
            {
                self.arriving.pop_front();
                self.delay.sample(self.now, self.now - left_at);
                self.came += 1;
                let (sent, came) = (sequence + 1, self.came);
                let progress = Progress {
                    newest: sequence,
                    sent,
                    came,
                    waited: Duration::ZERO,
                    air_loss: 0.0,
                    delay: &self.delay,
                };
                self.controller.note_receipt(self.now, &progress);
                let queueing = (self.now - left_at - Self::LENGTH).as_millis() as u32;
                (longest, sum, arrived) = (longest.max(queueing), sum + queueing, arrived + 1);
            }
        }
        (longest, sum.checked_div(arrived).unwrap_or(0), arrived)
    }
}

#[test]
fn a_deep_queue_becomes_short_and_the_link_stays_busy() {
    let mut path = Path::new();
    let (longest, ..) = path.run(1000, 1.0, 400);
    assert!(longest > 300, "the end hosts fill the queue: {longest} ms");
    path.run(2000, 1.0, 400);
    let (longest, mean, arrived) = path.run(5000, 1.0, 400);
    assert!(longest < 60 && mean < 30, "{longest} and {mean} ms");
    assert!(arrived > 4900, "{arrived} of 5000");
}

#[test]
fn a_shallow_queue_is_left_to_the_end_hosts() {
    let mut path = Path::new();
    path.run(5000, 1.0, 100);
    assert!(!path.controller.is_bound(), "60 ms");
}

#[test]
fn the_window_follows_a_rate_that_falls_and_rises() {
    let mut path = Path::new();
    path.run(3000, 2.0, 800);
    assert!(path.controller.is_bound());
    path.run(1000, 0.5, 800);
    let (longest, _, arrived) = path.run(2000, 0.5, 800);
    assert!(longest < 80, "{longest} ms");
    assert!(arrived > 950, "{arrived} of 1000");
    path.run(1000, 4.0, 800);
    let (_, mean, arrived) = path.run(2000, 4.0, 800);
    assert!(mean < 40, "{mean} ms");
    assert!(arrived > 7600, "{arrived} of 8000");
}

#[test]
fn a_queue_that_others_fill_is_left_to_them_and_longer_each_time() {
    let mut path = Path::new();
    path.others = 300;
    path.run(2000, 1.0, 400);
    assert!(path.controller.is_bound(), "nobody knows whose the queue is");
    path.run(4000, 1.0, 400);
    assert!(!path.controller.is_bound());
    let (.., arrived) = path.run(20_000, 1.0, 400);
    assert!(arrived > 10_000, "the share that the end hosts had: {arrived}");
    let mut bound = 0;
    for second in 0..600 {
        path.others = if second % 8 == 0 { 0 } else { 300 };
        path.run(1000, 1.0, 400);
        bound += u32::from(path.controller.is_bound());
    }
    assert!((1..60).contains(&bound), "{bound} of 600 s");
}

#[test]
fn a_window_that_is_not_needed_is_given_up() {
    let mut path = Path::new();
    path.run(3000, 1.0, 400);
    assert!(path.controller.is_bound());
    path.run(12_000, 1.0, 5);
    assert!(!path.controller.is_bound());
}

#[test]
fn without_receipts_a_packet_leaves_after_a_while() {
    let mut path = Path::new();
    path.run(3000, 1.0, 400);
    path.run(100, 0.0, 400);
    assert!(!path.controller.admits(path.now), "as much is under way as may be");
    let at = path.controller.timeout().expect("a time");
    assert!(at > path.now && at < path.now + 1000 * MS, "{:?}", at - path.now);
    assert!(path.controller.admits(at));
}

/// A controller of a link that carries so many datagrams a millisecond.
fn told(datagrams: f64) -> Controller {
    Controller::new(Some(datagrams * 1000.0 * (BYTES + 28) as f64), true)
}

#[test]
fn at_a_rate_that_is_told_the_queue_stays_here() {
    let mut path = Path::with(told(1.0));
    let (longest, mean, arrived) = path.run(5000, 1.0, 400);
    assert!(longest < 30 && mean < 6, "{longest} and {mean} ms");
    assert!(arrived > 4850, "{arrived} of 5000");
}

#[test]
fn half_of_the_rate_and_double_of_it_hurt_nobody() {
    let mut half = Path::with(told(0.5));
    half.run(2000, 1.0, 400);
    let (longest, _, arrived) = half.run(8000, 1.0, 400);
    assert!(arrived > 7500 && longest < 30, "{arrived} of 8000, {longest} ms");
    let (mut double, mut none) = (Path::with(told(2.0)), Path::new());
    let (with, without) = (double.run(10_000, 1.0, 400), none.run(10_000, 1.0, 400));
    assert!(with.2 >= without.2 && with.1 <= without.1, "{with:?} and {without:?}");
}

#[test]
fn a_policer_is_found_and_kept_below() {
    let mut path = Path::with(Controller::new(None, true));
    path.run(2000, 4.0, 80);
    path.policed = Some(1.0);
    path.run(3000, 4.0, 80);
    assert!(path.controller.is_bound());
    let before = path.lost;
    let (.., arrived) = path.run(10_000, 4.0, 80);
    assert!(arrived > 8500, "{arrived} of 10,000");
    assert!(path.lost - before < 1000, "{} lost", path.lost - before);
    path.policed = None;
    path.run(10_000, 4.0, 80);
    let (.., arrived) = path.run(1000, 4.0, 80);
    assert!(arrived > 1800, "the policer has gone: {arrived}");
}

#[test]
fn losses_beside_a_deep_queue_begin_no_trial() {
    let begins_a_trial = |queueing| {
        let mut policer = Policer::default();
        (0..3).any(|second: u64| {
            let (sent, lost) = (1000 * (second + 1), 300 * second);
            let totals = Span::totals(sent, sent - lost, 1400 * sent);
            policer.note_receipt(
                1000 * MS * (second as u32 + 1),
                (100 * MS, queueing),
                totals,
                (true, false),
            );
            policer.rate().is_some()
        })
    };
    assert!(begins_a_trial(10 * MS));
    assert!(!begins_a_trial(60 * MS));
}

#[test]
fn losses_of_the_air_are_no_policer() {
    let mut path = Path::with(Controller::new(None, true));
    path.air = Some(5);
    path.run(10_000, 4.0, 80);
    assert!(!path.controller.is_bound(), "they were there from the beginning");
    path.air = None;
    path.run(2000, 4.0, 80);
    path.air = Some(4);
    let mut bound = 0;
    for _ in 0..600 {
        path.run(100, 4.0, 80);
        bound += u32::from(path.controller.is_bound());
    }
    assert!((1..30).contains(&bound), "{bound} of 600 times");
}

#[test]
fn what_bursts_lose_of_a_call_is_no_policer() {
    let mut path = Path::with(Controller::new(None, true));
    path.bytes = 165;
    for _ in 0..60 {
        path.air = None;
        path.run(900, 4.0, 20);
        path.air = Some(3);
        path.run(1200, 4.0, 20);
        assert!(!path.controller.is_bound());
    }
}
