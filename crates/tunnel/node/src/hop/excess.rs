//! Losses that come of the rate: those of a policer, of CoDel, or of a queue of few packets.
//!
//! No round trip tells of them. Now and then the rate is halved for a while. What leaves then is lost by the
//! air alone, and other datagrams are lost more often where the rate is too much. The difference counts from
//! some standard deviations on.

/// Datagrams are compared from so many on, of each kind ...
pub const LEAST: u32 = 64;
/// ... and the latest ones are, about this many.
const MOST_EASED: u32 = 2 * LEAST;
const MOST_SLOW: u32 = 2048;
const MOST_FAST: u32 = 1024;
/// Deviations of the number of losses that do not tell anything; fewer where the rate lost something before.
const DEVIATIONS: f64 = 4.0;
const LATER_DEVIATIONS: f64 = 2.0;

/// Datagrams, and how many of them were lost.
#[derive(Debug, Default, Clone, Copy)]
struct Fates {
    sent: u32,
    lost: u32,
}

impl Fates {
    /// Counts one. Beyond `most`, half of them are forgotten. Whether they are.
    fn note(&mut self, came: bool, most: u32) -> bool {
        let is_full = self.sent >= most;
        if is_full {
            (self.sent, self.lost) = (self.sent / 2, self.lost / 2);
        }
        self.sent += 1;
        self.lost += u32::from(!came);
        is_full
    }

    fn share(self) -> f64 {
        f64::from(self.lost) / f64::from(self.sent.max(1))
    }
}

/// How a datagram left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// During startup, or while a change of the rate has no effect yet.
    Somehow,
    /// At a little less than the path's rate.
    Eased,
    /// At half of the path's rate.
    Slowly,
    /// At the path's rate, or more.
    Fast,
}

/// The losses of datagrams by the rate at which they left.
#[derive(Debug, Default)]
pub struct Excess {
    eased: Fates,
    slow: Fates,
    fast: Fates,
    /// The rate lost something lately.
    is_known: bool,
}

impl Excess {
    /// A datagram came, or is lost.
    pub fn note(&mut self, left: Left, came: bool) {
        match left {
            Left::Somehow => {}
            Left::Eased => _ = self.eased.note(came, MOST_EASED),
            Left::Slowly => _ = self.slow.note(came, MOST_SLOW),
            Left::Fast => self.is_known &= !self.fast.note(came, MOST_FAST),
        }
    }

    /// The most that the air loses, by what did not leave fast; 1 while too little did.
    #[must_use]
    pub fn most_air_loss(&self) -> f64 {
        let known = if self.slow.sent < LEAST { self.eased } else { self.slow };
        if known.sent < LEAST {
            return 1.0;
        }
        let share = known.share();
        share + (share.max(0.01) / f64::from(known.sent)).sqrt()
    }

    /// Whether the rate lost something since the last time that it did.
    pub fn take(&mut self) -> bool {
        let Excess { slow, fast, is_known, .. } = *self;
        if slow.sent < LEAST || fast.sent < LEAST {
            return false;
        }
        // one loss more than there were, so that none at all is no certainty
        let air = f64::from(slow.lost + 1) / f64::from(slow.sent + 1);
        let expected = f64::from(fast.sent) * air;
        let unsure = 1.0 + f64::from(fast.sent) / f64::from(slow.sent);
        let deviations = if is_known { LATER_DEVIATIONS } else { DEVIATIONS };
        let is_more = f64::from(fast.lost) > expected + deviations * (expected * unsure).sqrt();
        if is_more {
            self.is_known = true;
            self.fast = Fates::default();
        }
        is_more
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After how many datagrams a loss of this share at the path's rate counts, where the air loses `air`.
    fn found(air: u32, rate: u32) -> Option<u32> {
        let mut excess = Excess::default();
        let mut dice = 1u32;
        let mut happens = |in_1000: u32| {
            dice = dice.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (dice >> 16) % 1000 < in_1000
        };
        (0..20_000).find(|number| {
            match number % 8 {
                0 => excess.note(Left::Slowly, !happens(air)),
                _ => excess.note(Left::Fast, !happens(rate)),
            }
            excess.take()
        })
    }

    #[test]
    fn more_losses_at_the_paths_rate_count_and_those_of_the_air_do_not() {
        for air in [0, 10, 50, 100, 200] {
            assert_eq!(found(air, air), None, "{air} of 1000");
            assert!(found(air, air + 100).is_some(), "{air} of 1000");
        }
        assert!(found(0, 30).is_some());
    }
}
