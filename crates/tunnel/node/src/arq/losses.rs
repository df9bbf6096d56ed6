//! Losses: which of them are the air's, and which a full queue's.
//!
//! Both look alike in a receipt. The air does not care how long a queue is; a full queue loses packets while
//! it is long. So of what is lost beside a long queue as much is the air's as is lost beside a short one, and
//! the rest the queue's. A sender whose window keeps a queue standing where nothing overflows is thereby not
//! told of the air's losses, and one that fills the queue of a path that loses nothing else is told of each.

/// Fates over which the share of losses beside a short queue is taken: twice as many at most.
const SPAN: u32 = 2048;
/// So many packets that came are assumed at first: one loss says little.
const ASSUMED: u32 = 64;
/// Losses of the air come in uneven numbers: so much more than their share is forgiven over time ...
const FORGIVENESS: f64 = 1.25;
/// ... and at once as many as the air takes of so many packets,
const AT_ONCE_OF: f64 = 2048.0;
/// ... but no more than this.
const AT_ONCE: f64 = 32.0;

/// Knowledge of losses on one hop.
#[derive(Debug, Default)]
pub struct Losses {
    /// Packets of whose fate was heard while the queue was short, and how many of them were lost.
    heard: u32,
    lost: u32,
    /// How many losses beside a long queue are still the air's.
    forgiven: f64,
    /// The air's share by what arrived, where repairs restore most of it.
    told: f64,
}

impl Losses {
    /// The share of packets that the air loses.
    fn air(&self) -> f64 {
        (f64::from(self.lost) / f64::from(self.heard + ASSUMED)).max(self.told)
    }

    /// Says which share of packets the air loses, restored ones among them.
    pub fn set_air(&mut self, loss: f64) {
        self.told = loss;
    }

    fn hear(&mut self, queue_is_long: bool, is_lost: bool) {
        if queue_is_long {
            let air = self.air();
            self.forgiven = (self.forgiven + air * FORGIVENESS).min((air * AT_ONCE_OF).min(AT_ONCE));
            return;
        }
        self.heard += 1;
        self.lost += u32::from(is_lost);
        if self.heard == 2 * SPAN {
            self.heard /= 2;
            self.lost /= 2;
        }
    }

    /// A packet came; whether the queue was long when this was heard.
    pub fn came(&mut self, queue_is_long: bool) {
        self.hear(queue_is_long, false);
    }

    /// A packet was lost: whether a full queue lost it, by whether the queue was long when this was heard.
    pub fn is_by_congestion(&mut self, queue_is_long: bool) -> bool {
        self.hear(queue_is_long, true);
        if !queue_is_long {
            return false;
        }
        if self.forgiven < 1.0 {
            return true;
        }
        self.forgiven -= 1.0;
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every so many-th packet of 10,000 is lost; how many of them to a full queue.
    fn of_losses(losses: &mut Losses, queue_is_long: bool, one_in: u32) -> usize {
        let mut by_congestion = 0;
        for at in 0..10_000 {
            if at % one_in == 0 {
                by_congestion += usize::from(losses.is_by_congestion(queue_is_long));
            } else {
                losses.came(queue_is_long);
            }
        }
        by_congestion
    }

    #[test]
    fn where_the_air_loses_nothing_every_loss_beside_a_long_queue_is_the_queue_s() {
        let mut losses = Losses::default();
        assert_eq!(of_losses(&mut losses, true, 100), 100, "nothing is known of the air");
        (0..5000).for_each(|_| losses.came(false));
        assert_eq!(of_losses(&mut losses, true, 100), 100);
    }

    #[test]
    fn of_as_many_losses_as_beside_a_short_queue_none_is_the_queue_s_and_of_more_the_excess() {
        let mut losses = Losses::default();
        assert_eq!(of_losses(&mut losses, false, 20), 0);
        assert!(of_losses(&mut losses, true, 20) <= 1, "the first of all");
        let excess = of_losses(&mut losses, true, 5);
        assert!(
            (1300..1400).contains(&excess),
            "2000 less five quarters of 500 and what is forgiven at once: {excess}"
        );
    }

    #[test]
    fn an_air_that_is_clean_again_forgives_nothing_more() {
        let mut losses = Losses::default();
        of_losses(&mut losses, false, 10);
        of_losses(&mut losses, true, 10);
        (0..40_000).for_each(|_| losses.came(false));
        assert_eq!(of_losses(&mut losses, true, 100), 100);
    }
}
