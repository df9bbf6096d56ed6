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

/// Where repairs restore them, at least so many losses are forgiven at once: one says little.
const LEAST_AT_ONCE: f64 = 10.0;
/// Signals of congestion that wait at most: what one round trip lost is told by a few.
const MOST_SIGNALS: u64 = 4;

/// How many losses beside a long queue are still the air's.
#[derive(Debug, Default)]
struct Forgiveness(f64);

impl Forgiveness {
    /// So many packets passed a long queue, of which the air loses this share.
    fn earn(&mut self, air: f64, packets: u64, least_at_once: f64) {
        let at_once = (air * AT_ONCE_OF).clamp(least_at_once, AT_ONCE);
        self.0 = (self.0 + packets as f64 * air * FORGIVENESS).min(at_once);
    }

    /// How many of so many further losses are not the air's.
    fn spend(&mut self, losses: u64) -> u64 {
        let forgiven = losses.min(self.0 as u64);
        self.0 -= forgiven as f64;
        losses - forgiven
    }
}

/// Losses of full queues that repairs restore. The end hosts do not notice such a loss, and would never slow
/// down: the node tells them by as many signals.
#[derive(Debug)]
pub struct Overflow {
    forgiveness: Forgiveness,
    signals: u64,
}

impl Default for Overflow {
    fn default() -> Self {
        Overflow { forgiveness: Forgiveness(LEAST_AT_ONCE), signals: 0 }
    }
}

impl Overflow {
    /// Of so many packets that met a long queue, so many were lost; the air loses this share.
    pub fn note(&mut self, packets: u64, lost: u64, air: f64) {
        self.forgiveness.earn(air, packets, LEAST_AT_ONCE);
        self.signals = (self.signals + self.forgiveness.spend(lost)).min(MOST_SIGNALS);
    }

    /// Signals that the end hosts are to have, since the last call.
    pub fn take_signals(&mut self) -> u64 {
        std::mem::take(&mut self.signals)
    }
}

/// Knowledge of losses on one hop.
#[derive(Debug, Default)]
pub struct Losses {
    /// Packets of whose fate was heard while the queue was short, and how many of them were lost.
    heard: u32,
    lost: u32,
    forgiveness: Forgiveness,
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
            self.forgiveness.earn(air, 1, 0.0);
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
        queue_is_long && self.forgiveness.spend(1) > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Signals for 10,000 packets in tens, of each of which so many are lost in turn.
    fn signals(lost: &[u64], air: f64) -> u64 {
        let mut overflow = Overflow::default();
        lost.iter()
            .cycle()
            .take(1000)
            .map(|&lost| {
                overflow.note(10, lost, air);
                overflow.take_signals()
            })
            .sum()
    }

    #[test]
    fn what_is_lost_beyond_the_air_s_share_is_told() {
        assert_eq!(signals(&[1, 0], 0.05), 0, "5%, as the air does");
        let told = signals(&[1], 0.05);
        assert!(
            (300..450).contains(&told),
            "of 1,000 losses 500 are the air's, and some are forgiven: {told}"
        );
        assert_eq!(signals(&[0; 100], 0.0), 0);
        let told = signals(&[0, 1], 0.0);
        assert!((480..=500).contains(&told), "the first few say little: {told}");
        assert!(signals(&[10], 0.02) <= 4000, "four signals at once at most");
    }

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
