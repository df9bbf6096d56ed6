//! The last hour by steps, in rings of ten minutes of seconds and of an hour of ten seconds.
//!
//! About once a second a program adds one [`Sample`] for each *track*, such as a peer. A reader gets the
//! steps newer than its own, by columns.

use std::collections::VecDeque;

mod columns;

/// Length of steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    /// One second, for ten minutes.
    Second,
    /// Ten seconds, for an hour.
    TenSeconds,
}

impl Step {
    /// Its length. Steps are a little longer if the program was polled late.
    #[must_use]
    pub const fn seconds(self) -> u32 {
        match self {
            Step::Second => 1,
            Step::TenSeconds => 10,
        }
    }

    /// The step with this many seconds, if there is one.
    #[must_use]
    pub const fn of_seconds(seconds: u32) -> Option<Self> {
        match seconds {
            1 => Some(Step::Second),
            10 => Some(Step::TenSeconds),
            _ => None,
        }
    }

    /// The most steps kept.
    #[must_use]
    pub const fn most(self) -> usize {
        match self {
            Step::Second => 600,
            Step::TenSeconds => 360,
        }
    }
}

/// Time spans of charts, in seconds.
const SPANS: [u32; 8] = [60, 120, 300, 600, 900, 1200, 1800, 3600];

impl Step {
    /// The time span of a chart, in seconds: the shortest round one that shows all steps since the program's
    /// start, and at most that of the kept steps.
    #[must_use]
    pub fn span_seconds(self, uptime_seconds: f64) -> u32 {
        let kept = self.most() as u32 * self.seconds();
        let shown = SPANS.into_iter().find(|span| f64::from(*span) >= uptime_seconds);
        shown.unwrap_or(kept).min(kept)
    }
}

/// Counts and states of one step. [`columns!`](crate::columns) defines one.
pub trait Sample: Copy + Default {
    /// Samples by columns, for transfer.
    type Columns: Default;

    /// Adds a later step.
    fn then(&mut self, later: &Self);

    /// Appends this step to `columns`.
    fn push_to(&self, columns: &mut Self::Columns);
}

/// The newest steps of one length.
#[derive(Debug)]
struct Ring<S> {
    step: Step,
    /// End and duration of each step, in seconds of the program's uptime.
    times: VecDeque<(f64, f64)>,
    tracks: Vec<VecDeque<S>>,
}

impl<S: Sample> Ring<S> {
    fn new(step: Step) -> Self {
        Ring { step, times: VecDeque::new(), tracks: Vec::new() }
    }

    fn arrange(&mut self, from: &[Option<usize>]) {
        let steps = self.times.len();
        let mut before: Vec<_> = std::mem::take(&mut self.tracks).into_iter().map(Some).collect();
        let track = |at: &Option<usize>| {
            let kept = at.and_then(|at| before.get_mut(at)?.take());
            kept.unwrap_or_else(|| std::iter::repeat_n(S::default(), steps).collect())
        };
        self.tracks = from.iter().map(track).collect();
    }

    fn push(&mut self, time: (f64, f64), samples: &[S]) {
        self.tracks.resize_with(samples.len(), VecDeque::new);
        push(&mut self.times, time, self.step.most());
        for (track, sample) in self.tracks.iter_mut().zip(samples) {
            push(track, *sample, self.step.most());
        }
    }
}

fn push<T>(ring: &mut VecDeque<T>, newest: T, most: usize) {
    if ring.len() == most {
        ring.pop_front();
    }
    ring.push_back(newest);
}

/// The rings of both lengths.
#[derive(Debug)]
pub struct Rings<S> {
    uptime_seconds: f64,
    seconds: Ring<S>,
    ten_seconds: Ring<S>,
    /// The current step of ten seconds: its duration so far, and its samples.
    begun: (f64, Vec<S>),
}

impl<S: Sample> Default for Rings<S> {
    /// The rings of a program that starts.
    fn default() -> Self {
        Rings {
            uptime_seconds: 0.0,
            seconds: Ring::new(Step::Second),
            ten_seconds: Ring::new(Step::TenSeconds),
            begun: (0.0, Vec::new()),
        }
    }
}

impl<S: Sample> Rings<S> {
    /// Whether a step that ends at this time is newer than the known ones.
    #[must_use]
    pub fn is_later(&self, uptime_seconds: f64) -> bool {
        uptime_seconds > self.uptime_seconds
    }

    /// Gives the tracks another order. Each number is the place of a track before; `None` is a new one, whose
    /// steps are empty so far.
    pub fn arrange(&mut self, from: &[Option<usize>]) {
        self.seconds.arrange(from);
        self.ten_seconds.arrange(from);
        let before = std::mem::take(&mut self.begun.1);
        let sample = |at: &Option<usize>| at.and_then(|at| before.get(at).copied()).unwrap_or_default();
        self.begun.1 = from.iter().map(sample).collect();
    }

    /// Adds the samples of a step for each track, and its end. An old step is ignored.
    pub fn push(&mut self, uptime_seconds: f64, samples: &[S]) {
        if !self.is_later(uptime_seconds) {
            return;
        }
        let passed = uptime_seconds - self.uptime_seconds;
        self.uptime_seconds = uptime_seconds;
        self.seconds.push((uptime_seconds, passed), samples);
        let (seconds, begun) = &mut self.begun;
        *seconds += passed;
        begun.resize(samples.len(), S::default());
        begun.iter_mut().zip(samples).for_each(|(begun, sample)| begun.then(sample));
        // Half a step early is nearer than half a step late.
        if *seconds > f64::from(Step::TenSeconds.seconds()) - 0.5 {
            let (seconds, begun) = std::mem::take(&mut self.begun);
            self.ten_seconds.push((uptime_seconds, seconds), &begun);
        }
    }

    /// The steps of one length that ended after `since_seconds` of the program's uptime.
    #[must_use]
    pub fn newer(&self, step: Step, since_seconds: f64) -> Newer<S::Columns> {
        let ring = match step {
            Step::Second => &self.seconds,
            Step::TenSeconds => &self.ten_seconds,
        };
        let first = ring.times.iter().take_while(|(end, _)| *end <= since_seconds).count();
        let columns = |samples: &VecDeque<S>| {
            let mut columns = S::Columns::default();
            samples.iter().skip(first).for_each(|sample| sample.push_to(&mut columns));
            columns
        };
        Newer {
            uptime_seconds: self.uptime_seconds,
            end_seconds: ring.times.iter().skip(first).map(|(end, _)| *end).collect(),
            seconds: ring.times.iter().skip(first).map(|(_, seconds)| *seconds).collect(),
            tracks: ring.tracks.iter().map(columns).collect(),
        }
    }
}

/// Steps of one length, by columns.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Newer<C> {
    /// The program's uptime.
    pub uptime_seconds: f64,
    /// End of each step, by the program's uptime.
    pub end_seconds: Vec<f64>,
    /// Duration of each step.
    pub seconds: Vec<f64>,
    /// The samples of each track.
    pub tracks: Vec<C>,
}

#[cfg(test)]
mod tests;
