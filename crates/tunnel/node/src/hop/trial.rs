//! Whose queue it is: found out by taking bytes from under way.
//!
//! Of a queue that only our own bytes fill, a window of half the bytes leaves half the round trip. Where
//! others fill it too, the round trip hardly changes: our bytes were a part of it, and others take the place.
//! Until that is known ([`super::Controller::is_trying`]) the window stays as it is, and CoDel waits.

use std::time::Duration;

/// The window has its effect after so many round trips, and the next ones are heard for so many.
const EFFECT: f64 = 1.5;
const LENGTH: f64 = 1.0;
/// The least share of the expected effect with which the queue is ours.
const LEAST_SHARE: f64 = 0.7;
/// A round trip that has grown by so much tells of a slower link.
const SLOWER: f64 = 1.1;

/// Round trips that differ by more than this share are those of a link whose rate changes. There nobody can
/// tell, and others seldom share a queue of it.
const EVEN: f64 = 0.15;

/// A trial.
#[derive(Debug)]
pub struct Trial {
    begun_at: Duration,
    round_trip: Duration,
    /// The share of bytes that the window left under way.
    left: f64,
    sum: Duration,
    samples: u32,
    extremes: (Duration, Duration),
}

/// Whose queue it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// Ours, or nobody can tell.
    Us,
    /// Others fill it, too.
    Others,
}

impl Trial {
    /// A trial that begins with a window of this share of the bytes under way, and this round trip.
    #[must_use]
    pub fn new(now: Duration, round_trip: Duration, left: f64) -> Self {
        let (sum, extremes) = (Duration::ZERO, (Duration::MAX, Duration::ZERO));
        Trial { begun_at: now, round_trip, left, sum, samples: 0, extremes }
    }

    /// Takes a round trip. The owner, at the end.
    pub fn note_round_trip(&mut self, now: Duration, round_trip: Duration) -> Option<Owner> {
        let passed = now.saturating_sub(self.begun_at).div_duration_f64(self.round_trip);
        if passed > EFFECT {
            self.sum += round_trip;
            self.samples += 1;
            let (shortest, longest) = self.extremes;
            self.extremes = (shortest.min(round_trip), longest.max(round_trip));
        }
        (passed > EFFECT + LENGTH).then(|| self.owner())
    }

    fn owner(&self) -> Owner {
        let mean = self.sum / self.samples.max(1);
        let share = mean.div_duration_f64(self.round_trip);
        let effect = (1.0 - share) / (1.0 - self.left);
        let (shortest, longest) = self.extremes;
        let is_even = (longest.saturating_sub(shortest)).div_duration_f64(self.round_trip) < EVEN;
        if is_even && effect < LEAST_SHARE && share < SLOWER { Owner::Others } else { Owner::Us }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// The verdict where half of the bytes were left of a round trip of 200 ms, by the round trip at each
    /// millisecond after that.
    fn verdict(round_trip: impl Fn(u32) -> u32) -> Option<Owner> {
        let mut trial = Trial::new(Duration::ZERO, 200 * MS, 0.5);
        (0..1000).find_map(|ms| trial.note_round_trip(ms * MS, round_trip(ms) * MS))
    }

    #[test]
    fn a_round_trip_that_follows_the_window_is_ours_and_one_that_stays_is_others() {
        assert_eq!(verdict(|_| 100), Some(Owner::Us));
        assert_eq!(verdict(|_| 120), Some(Owner::Us));
        assert_eq!(verdict(|_| 160), Some(Owner::Others));
        assert_eq!(verdict(|_| 205), Some(Owner::Others));
    }

    #[test]
    fn on_a_link_whose_rate_changes_nobody_can_tell() {
        assert_eq!(verdict(|_| 300), Some(Owner::Us), "it became slower");
        assert_eq!(verdict(|ms| 130 + ms % 100), Some(Owner::Us));
    }
}
