//! The part of a series received so far, for incremental requests.

use crate::node::history::Series;
use crate::node::sample::{Columns, Sample};
use ::page::ring::Step;

/// The newest steps of one length.
#[derive(Debug, Clone, Default)]
pub struct Gathered {
    /// The node's uptime at the last request.
    pub uptime_seconds: f64,
    /// The rate of the air times.
    pub air_rate: String,
    /// End and duration of each step, in seconds.
    pub times: Vec<(f64, f64)>,
    /// Air time of the offered and of the sent traffic in each step, in seconds.
    pub air: Vec<(f64, f64)>,
    /// All peers.
    pub whole: Vec<Sample>,
    /// Each peer, with its name.
    pub peers: Vec<(String, Vec<Sample>)>,
}

impl Gathered {
    /// Start of the next request.
    #[must_use]
    pub fn since_seconds(&self) -> f64 {
        self.times.last().map_or(0.0, |(end, _)| *end)
    }

    /// Appends newer steps, and drops those that the node drops. A smaller uptime means a restarted node, and
    /// clears everything.
    pub fn take(&mut self, series: &Series) {
        if series.uptime_seconds < self.uptime_seconds {
            *self = Gathered::default();
        }
        self.uptime_seconds = series.uptime_seconds;
        self.air_rate.clone_from(&series.air_rate);
        let most = Step::of_seconds(series.step_seconds).map_or(0, Step::most);
        let steps = series.end_seconds.len();
        let late = |times: &[f64], at: usize| times.get(at).copied().unwrap_or(0.0);
        for at in 0..steps {
            self.times.push((series.end_seconds[at], late(&series.seconds, at)));
            self.air.push((late(&series.offered_air_seconds, at), late(&series.sent_air_seconds, at)));
        }
        extend(&mut self.whole, &series.whole, steps);
        for (at, peer) in series.peers.iter().enumerate() {
            let before = self.times.len() - steps;
            if self.peers.get(at).is_none_or(|(name, _)| *name != peer.name) {
                self.peers.truncate(at);
                self.peers.push((peer.name.clone(), vec![Sample::default(); before]));
            }
            extend(&mut self.peers[at].1, &peer.columns, steps);
        }
        keep(&mut self.times, most);
        keep(&mut self.air, most);
        keep(&mut self.whole, most);
        self.peers.iter_mut().for_each(|(_, samples)| keep(samples, most));
    }
}

/// Appends one sample for each step, whatever was received.
fn extend(samples: &mut Vec<Sample>, columns: &Columns, steps: usize) {
    let before = samples.len();
    samples.extend(columns.samples().take(steps));
    samples.resize(before + steps, Sample::default());
}

fn keep<T>(list: &mut Vec<T>, most: usize) {
    list.drain(..list.len().saturating_sub(most));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::air_time::AirTime;
    use crate::node::history::History;
    use crate::node::report::tests::{peer, status};

    #[test]
    fn what_is_gathered_bit_by_bit_is_what_the_node_keeps() {
        let (mut history, mut gathered) = (History::new(AirTime::at(24e6)), Gathered::default());
        for second in 1..=900 {
            let mut roof = peer("roof");
            roof.counters.inner_sent_bytes = second * second;
            history.note(&status(second as f64, vec![roof]));
            if second % 7 == 0 || second == 900 {
                gathered.take(&history.series(Step::Second, gathered.since_seconds()));
            }
        }
        let mut at_once = Gathered::default();
        at_once.take(&history.series(Step::Second, 0.0));
        assert_eq!(gathered.times, at_once.times);
        assert_eq!((gathered.whole.len(), &gathered.whole), (600, &at_once.whole));
        assert_eq!(gathered.peers, at_once.peers);
        // A restarted node.
        let mut anew = History::new(AirTime::at(24e6));
        anew.note(&status(1.0, vec![peer("yard")]));
        gathered.take(&anew.series(Step::Second, gathered.since_seconds()));
        assert_eq!(gathered.times.len(), 0, "what was asked for is later than all that it has");
        gathered.take(&anew.series(Step::Second, gathered.since_seconds()));
        assert_eq!((gathered.times.len(), gathered.peers[0].0.as_str()), (1, "yard"));
    }

    #[test]
    fn a_series_whose_columns_are_of_different_lengths_breaks_nothing() {
        let mut series = Series { step_seconds: 1, uptime_seconds: 3.0, ..Series::default() };
        series.end_seconds = vec![1.0, 2.0, 3.0];
        series.whole.offered_bytes = vec![9];
        series.peers = vec![crate::node::history::PeerSeries::default()];
        let mut gathered = Gathered::default();
        gathered.take(&series);
        assert_eq!((gathered.whole.len(), gathered.peers[0].1.len(), gathered.air.len()), (3, 3, 3));
    }
}
