//! Recorded capacity in the format of the mahimahi link shells: one line an opportunity to deliver up to 1500
//! bytes, the line being its time in whole milliseconds. The last line is the period after which the
//! recording begins again (R. Netravali et al., "Mahimahi: Accurate Record-and-Replay for HTTP", USENIX ATC
//! 2015).

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Bytes of one opportunity.
pub const OPPORTUNITY_BYTES: usize = 1500;

/// The most opportunities that one recording may have.
pub const MOST_OPPORTUNITIES: usize = 1 << 24;

/// Times of opportunities, in milliseconds, in order, the last one above 0.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Vec<u32>", try_from = "Vec<u32>")]
pub struct CapacityTrace(Arc<[u32]>);

/// The text is not a recording of capacity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MalformedTrace {
    /// It is empty, or all of it is at time 0.
    #[error("the capacity trace ends at 0 ms: it would deliver without bound")]
    NoPeriod,
    /// More than [`MOST_OPPORTUNITIES`].
    #[error("the capacity trace has more than {MOST_OPPORTUNITIES} opportunities")]
    TooLong,
    /// A line is not a whole number of milliseconds (below 2^32).
    #[error("the capacity trace's line {0} is no whole number of milliseconds")]
    NotANumber(usize),
    /// A line is earlier than the one before it.
    #[error("the capacity trace's line {0} is earlier than the line before it")]
    Backwards(usize),
}

impl CapacityTrace {
    /// The period of the recording.
    pub fn period(&self) -> Duration {
        Duration::from_millis(self.period_ms())
    }

    /// Number of opportunities in the recording; at least 1.
    #[expect(clippy::len_without_is_empty, reason = "never empty")]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    fn period_ms(&self) -> u64 {
        u64::from(self.0[self.0.len() - 1])
    }

    /// Time of opportunity `number`, counted through the repetitions.
    fn time(&self, number: u64) -> Duration {
        let count = self.0.len() as u64;
        let within = u64::from(self.0[(number % count) as usize]);
        Duration::from_millis((number / count).saturating_mul(self.period_ms()).saturating_add(within))
    }

    /// The first opportunity after `time`.
    fn first_after(&self, time: Duration) -> u64 {
        let milliseconds = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let (round, within) = (milliseconds / self.period_ms(), milliseconds % self.period_ms());
        // The last opportunity is at the period's end, so one is always left.
        let passed = self.0.partition_point(|&at| u64::from(at) <= within) as u64;
        round.saturating_mul(self.0.len() as u64).saturating_add(passed)
    }
}

impl TryFrom<Vec<u32>> for CapacityTrace {
    type Error = MalformedTrace;

    fn try_from(times: Vec<u32>) -> Result<Self, Self::Error> {
        if times.len() > MOST_OPPORTUNITIES {
            return Err(MalformedTrace::TooLong);
        }
        if times.last().is_none_or(|&last| last == 0) {
            return Err(MalformedTrace::NoPeriod);
        }
        match times.windows(2).position(|pair| pair[1] < pair[0]) {
            Some(before) => Err(MalformedTrace::Backwards(before + 2)),
            None => Ok(Self(times.into())),
        }
    }
}

impl From<CapacityTrace> for Vec<u32> {
    fn from(trace: CapacityTrace) -> Self {
        trace.0.to_vec()
    }
}

impl FromStr for CapacityTrace {
    type Err = MalformedTrace;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut times = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() {
                continue;
            }
            if times.len() == MOST_OPPORTUNITIES {
                return Err(MalformedTrace::TooLong);
            }
            let time: u32 = line.parse().map_err(|_| MalformedTrace::NotANumber(number + 1))?;
            if times.last().is_some_and(|&last| time < last) {
                return Err(MalformedTrace::Backwards(number + 1));
            }
            times.push(time);
        }
        Self::try_from(times)
    }
}

impl fmt::Debug for CapacityTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CapacityTrace({} opportunities in {:?})", self.len(), self.period())
    }
}

/// A transmitter's position in a recording.
#[derive(Debug, Clone)]
pub(crate) struct Opportunities {
    trace: CapacityTrace,
    /// The current opportunity, counted through the repetitions.
    number: u64,
    /// Its unused bytes.
    left_bytes: usize,
}

impl Opportunities {
    pub(crate) fn new(trace: CapacityTrace) -> Self {
        Self { trace, number: 0, left_bytes: OPPORTUNITY_BYTES }
    }

    /// Time at which a frame of `bytes`, waiting since `arrival`, has left. As in mahimahi, frames share and
    /// span opportunities, and use none at or before their arrival.
    pub(crate) fn finish(&mut self, arrival: Duration, bytes: usize) -> Duration {
        let first = self.trace.first_after(arrival);
        if first > self.number {
            self.number = first;
            self.left_bytes = OPPORTUNITY_BYTES;
        }
        if bytes > self.left_bytes {
            let more = bytes - self.left_bytes;
            let opportunities = more.div_ceil(OPPORTUNITY_BYTES);
            self.number = self.number.saturating_add(opportunities as u64);
            self.left_bytes = opportunities.saturating_mul(OPPORTUNITY_BYTES) - more;
        } else {
            self.left_bytes -= bytes;
        }
        self.trace.time(self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    fn opportunities(text: &str) -> Opportunities {
        Opportunities::new(text.parse().unwrap())
    }

    #[test]
    fn a_full_frame_takes_one_opportunity_and_the_recording_repeats() {
        let mut opportunities = opportunities("3\n3\n10\n");
        let finishes: Vec<_> = (0..7).map(|_| opportunities.finish(ms(0), 1500)).collect();
        assert_eq!(finishes, [3, 3, 10, 13, 13, 20, 23].map(ms));
    }

    #[test]
    fn small_frames_share_an_opportunity_and_large_ones_span_them() {
        let mut opportunities = opportunities("1\n2\n3\n");
        assert_eq!(opportunities.finish(ms(0), 500), ms(1));
        assert_eq!(opportunities.finish(ms(0), 1000), ms(1));
        assert_eq!(opportunities.finish(ms(0), 1), ms(2));
        assert_eq!(opportunities.finish(ms(0), 3000), ms(4));
        assert_eq!(opportunities.finish(ms(0), 1499), ms(4));
    }

    #[test]
    fn what_passes_while_nothing_waits_is_wasted() {
        let mut opportunities = opportunities("1\n2\n3\n");
        assert_eq!(opportunities.finish(ms(1), 100), ms(2));
        // A frame that arrives at 2 ms cannot use the rest of that opportunity.
        assert_eq!(opportunities.finish(ms(2), 100), ms(3));
        assert_eq!(opportunities.finish(ms(3_000_000_000), 100), ms(3_000_000_001));
    }

    #[test]
    fn what_is_no_trace_is_refused() {
        for (text, error) in [
            ("", MalformedTrace::NoPeriod),
            ("0\n0\n", MalformedTrace::NoPeriod),
            ("5\nx\n", MalformedTrace::NotANumber(2)),
            ("-5\n", MalformedTrace::NotANumber(1)),
            ("4294967296\n", MalformedTrace::NotANumber(1)),
            ("5\n\n4\n", MalformedTrace::Backwards(3)),
        ] {
            assert_eq!(text.parse::<CapacityTrace>(), Err(error), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[0-9\n x-]{0,60}") {
            if let Ok(trace) = text.parse::<CapacityTrace>() {
                let mut opportunities = Opportunities::new(trace);
                opportunities.finish(Duration::MAX, usize::MAX);
            }
        }

        #[test]
        fn finishes_agree_with_counting_opportunities_one_by_one(
            times in proptest::collection::vec(0u32..50, 0..20),
            frames in proptest::collection::vec((0u64..40, 0usize..4000), 1..40),
        ) {
            let mut times = times;
            times.push(50);
            times.sort_unstable();
            let mut opportunities = Opportunities::new(times.clone().try_into().unwrap());
            // The reference walks the whole schedule, one opportunity after the other.
            let schedule = |number: usize| ms((number / times.len()) as u64 * 50 + u64::from(times[number % times.len()]));
            let (mut number, mut left, mut arrival) = (0, OPPORTUNITY_BYTES, ms(0));
            for (gap, mut bytes) in frames {
                arrival += ms(gap);
                while schedule(number) <= arrival {
                    number += 1;
                    left = OPPORTUNITY_BYTES;
                }
                let finish = opportunities.finish(arrival, bytes);
                while bytes > left {
                    bytes -= left;
                    number += 1;
                    left = OPPORTUNITY_BYTES;
                }
                left -= bytes;
                prop_assert_eq!(finish, schedule(number));
            }
        }
    }
}
