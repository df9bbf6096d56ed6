//! The last hour of a cache: what it answered, by where it came from, in steps of a second and of ten.

use serde::Serialize;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use webcache::statistics::Answered;

/// Steps of so many seconds, and how many of them are kept.
const RINGS: [(u64, usize); 2] = [(1, 600), (10, 360)];
/// A step may be so much shorter than it is called: whoever asks once a second is sometimes early.
const EARLY: Duration = Duration::from_millis(100);

/// What was counted until some moment.
#[derive(Debug, Clone, Copy, Default)]
struct Until {
    at: Duration,
    requests: u64,
    bytes: Answered,
}

#[derive(Debug)]
struct Ring {
    length: Duration,
    kept: usize,
    before: Until,
    /// The end of each step, and what was counted in it.
    steps: VecDeque<(Duration, Until)>,
}

/// The rings.
#[derive(Debug)]
pub struct History(Mutex<[Ring; 2]>);

/// Steps by columns; octets are those of contents sent to clients and neighbours.
#[derive(Debug, Default, PartialEq, Serialize)]
pub struct Series {
    /// When the last of these steps ended, since the cache began.
    uptime_seconds: f64,
    /// How long each step took.
    seconds: Vec<f64>,
    /// When it ended, since the cache began.
    end_seconds: Vec<f64>,
    /// Requests of clients.
    requests: Vec<u64>,
    /// Octets that were here.
    local_bytes: Vec<u64>,
    /// Octets that another router had.
    remote_bytes: Vec<u64>,
    /// Octets that came from origins.
    origin_bytes: Vec<u64>,
}

impl Default for History {
    /// Of a cache that begins.
    fn default() -> Self {
        let ring = |(seconds, kept)| Ring {
            length: Duration::from_secs(seconds),
            kept,
            before: Until::default(),
            steps: VecDeque::new(),
        };
        History(Mutex::new(RINGS.map(ring)))
    }
}

impl History {
    /// Notes what was counted until `at`, since the cache began.
    pub fn note(&self, at: Duration, requests: &Answered, bytes: &Answered) {
        let now = Until { at, requests: requests.all(), bytes: *bytes };
        for ring in self.0.lock().unwrap_or_else(PoisonError::into_inner).iter_mut() {
            let took = now.at.saturating_sub(ring.before.at);
            if took + EARLY < ring.length {
                continue;
            }
            let step = Until {
                at: took,
                requests: now.requests.saturating_sub(ring.before.requests),
                bytes: now.bytes.since(&ring.before.bytes),
            };
            if ring.steps.len() == ring.kept {
                ring.steps.pop_front();
            }
            ring.steps.push_back((now.at, step));
            ring.before = now;
        }
    }

    /// The steps of so many seconds that ended later than `since`; `None`: there are none so long.
    #[must_use]
    pub fn series(&self, step_seconds: u64, since: Duration) -> Option<Series> {
        let rings = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let ring = rings.iter().find(|ring| ring.length.as_secs() == step_seconds)?;
        let uptime_seconds = ring.before.at.as_secs_f64();
        let mut series = Series { uptime_seconds, ..Series::default() };
        for (end, step) in ring.steps.iter().filter(|(end, _)| *end > since) {
            series.end_seconds.push(end.as_secs_f64());
            series.seconds.push(step.at.as_secs_f64());
            series.requests.push(step.requests);
            let Answered { remote, .. } = step.bytes;
            series.local_bytes.push(step.bytes.kept_off() - remote);
            series.remote_bytes.push(remote);
            series.origin_bytes.push(step.bytes.all() - step.bytes.kept_off());
        }
        Some(series)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(second: u64) -> Duration {
        Duration::from_secs(second)
    }

    #[test]
    fn a_step_holds_what_was_counted_in_it_by_where_it_came_from() {
        let history = History::default();
        for at in 1..=25 {
            let bytes = Answered { local: 100 * at, remote: 10 * at, miss: at, ..Answered::default() };
            history.note(second(at), &Answered { local: 2 * at, ..Answered::default() }, &bytes);
        }
        let seconds = history.series(1, second(23)).unwrap();
        assert_eq!(seconds.end_seconds, [24.0, 25.0]);
        assert_eq!((&seconds.requests[..], &seconds.local_bytes[..]), (&[2, 2][..], &[100, 100][..]));
        assert_eq!((&seconds.remote_bytes[..], &seconds.origin_bytes[..]), (&[10, 10][..], &[1, 1][..]));
        let tens = history.series(10, Duration::ZERO).unwrap();
        assert_eq!((&tens.end_seconds[..], &tens.local_bytes[..]), (&[10.0, 20.0][..], &[1000, 1000][..]));
        assert_eq!(history.series(2, Duration::ZERO), None);
    }

    #[test]
    fn an_hour_is_kept_and_no_more() {
        let history = History::default();
        for at in 1..=5000 {
            history.note(second(at), &Answered::default(), &Answered::default());
        }
        let steps = |length| history.series(length, Duration::ZERO).unwrap().seconds.len();
        assert_eq!((steps(1), steps(10)), (600, 360));
    }
}
