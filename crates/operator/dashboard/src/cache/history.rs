//! The last hour of a cache: its answers by source.

use ::page::ring::{Newer, Rings, Step};
use serde::Serialize;
use std::time::Duration;
use webcache::statistics::Answered;

::page::columns! {
    /// The answers of one step. Octets are those of contents sent to clients and neighbours.
    sample Sample
    /// The same by columns.
    columns Columns
    counts {
        /// Requests of clients.
        requests,
        /// Octets from this router.
        local_bytes,
        /// Octets from another router.
        remote_bytes,
        /// Octets from origins.
        origin_bytes,
    }
    states {}
}

/// A cache's samples.
#[derive(Debug, Default)]
pub struct History {
    /// Counts until the last step.
    requests: u64,
    bytes: Answered,
    rings: Rings<Sample>,
}

/// Steps by columns, for transfer.
#[derive(Debug, Default, PartialEq, Serialize)]
pub struct Series {
    /// The cache's uptime.
    uptime_seconds: f64,
    /// Duration of each step.
    seconds: Vec<f64>,
    /// End of each step, since the cache's start.
    end_seconds: Vec<f64>,
    /// Its answers.
    #[serde(flatten)]
    columns: Columns,
}

impl History {
    /// Notes the counts until `at`, since the cache's start.
    pub fn note(&mut self, at: Duration, requests: &Answered, bytes: &Answered) {
        if !self.rings.is_later(at.as_secs_f64()) {
            return;
        }
        let since = bytes.since(&self.bytes);
        let sample = Sample {
            requests: requests.all().saturating_sub(self.requests),
            local_bytes: since.kept_off() - since.remote,
            remote_bytes: since.remote,
            origin_bytes: since.all() - since.kept_off(),
        };
        (self.requests, self.bytes) = (requests.all(), *bytes);
        self.rings.push(at.as_secs_f64(), &[sample]);
    }

    /// The steps of one length that ended after `since_seconds`.
    #[must_use]
    pub fn series(&self, step: Step, since_seconds: f64) -> Series {
        let Newer { uptime_seconds, end_seconds, seconds, tracks } = self.rings.newer(step, since_seconds);
        let columns = tracks.into_iter().next().unwrap_or_default();
        Series { uptime_seconds, seconds, end_seconds, columns }
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
        let mut history = History::default();
        for at in 1..=25 {
            let bytes = Answered { local: 100 * at, remote: 10 * at, miss: at, ..Answered::default() };
            history.note(second(at), &Answered { local: 2 * at, ..Answered::default() }, &bytes);
        }
        let seconds = history.series(Step::Second, 23.0);
        assert_eq!(seconds.end_seconds, [24.0, 25.0]);
        assert_eq!(
            (&seconds.columns.requests[..], &seconds.columns.local_bytes[..]),
            (&[2, 2][..], &[100, 100][..])
        );
        assert_eq!(
            (&seconds.columns.remote_bytes[..], &seconds.columns.origin_bytes[..]),
            (&[10, 10][..], &[1, 1][..])
        );
        let tens = history.series(Step::TenSeconds, 0.0);
        assert_eq!(
            (&tens.end_seconds[..], &tens.columns.local_bytes[..]),
            (&[10.0, 20.0][..], &[1000, 1000][..])
        );
        assert_eq!(Step::of_seconds(2), None);
    }

    #[test]
    fn a_series_travels_with_its_columns_beside_its_times() {
        let mut history = History::default();
        let bytes = Answered { local: 5, remote: 3, pass: 2, ..Answered::default() };
        history.note(second(1), &Answered { local: 4, ..Answered::default() }, &bytes);
        let text = serde_json::to_string(&history.series(Step::Second, 0.0)).unwrap();
        let form = r#"{"uptime_seconds":1.0,"seconds":[1.0],"end_seconds":[1.0],"requests":[4],"local_bytes":[5],"remote_bytes":[3],"origin_bytes":[2]}"#;
        assert_eq!(text, form);
    }

    #[test]
    fn an_hour_is_kept_and_no_more() {
        let mut history = History::default();
        for at in 1..=5000 {
            history.note(second(at), &Answered::default(), &Answered::default());
        }
        let steps = |length| history.series(length, 0.0).seconds.len();
        assert_eq!((steps(Step::Second), steps(Step::TenSeconds)), (600, 360));
    }
}
