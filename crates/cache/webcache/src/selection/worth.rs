//! Whether a search pays. It costs its timeout if no router has the content. Otherwise it gains the
//! difference of the gateway's and a neighbour's answer times.

use std::time::Duration;

/// Weight of each new observation.
const WEIGHT: f64 = 1.0 / 16.0;
/// Share of searches, one in this many, that are made although they do not pay, to detect changes. It
/// decreases with time.
const EXPLORED: u32 = 32;
const SELDOM_EXPLORED: u32 = 1024;

/// Observations of searches and answers.
#[derive(Debug, Clone)]
pub struct Worth {
    /// The share of successful searches.
    found: f64,
    /// Time to an answer's head, in seconds, from a holder and by the path to the gateway.
    holder_seconds: Option<f64>,
    gateway_seconds: Option<f64>,
    passed_over: u32,
    explored: u32,
}

impl Default for Worth {
    fn default() -> Self {
        Worth { found: 0.5, holder_seconds: None, gateway_seconds: None, passed_over: 0, explored: EXPLORED }
    }
}

impl Worth {
    /// Whether to search, if a failed search takes `timeout`.
    pub fn decide(&mut self, timeout: Duration) -> bool {
        let pays = match (self.holder_seconds, self.gateway_seconds) {
            (Some(holder), Some(gateway)) => {
                // A successful search also takes a part of its timeout.
                let gain = gateway - holder - timeout.as_secs_f64() / 2.0;
                self.found * gain > (1.0 - self.found) * timeout.as_secs_f64()
            }
            // Nothing is known yet.
            _ => self.found > 0.1,
        };
        if pays {
            self.explored = EXPLORED;
            return true;
        }
        self.passed_over += 1;
        if self.passed_over >= self.explored {
            self.passed_over = 0;
            self.explored = (2 * self.explored).min(SELDOM_EXPLORED);
            return true;
        }
        false
    }

    /// Notes the result of a search.
    pub fn searched(&mut self, found: bool) {
        self.found += WEIGHT * (f64::from(u8::from(found)) - self.found);
    }

    /// Notes the time of a holder's answer.
    pub fn holder_took(&mut self, took: Duration) {
        note(&mut self.holder_seconds, took);
    }

    /// Notes the time of an answer by the path to the gateway.
    pub fn gateway_took(&mut self, took: Duration) {
        note(&mut self.gateway_seconds, took);
    }
}

fn note(mean: &mut Option<f64>, took: Duration) {
    let took = took.as_secs_f64();
    *mean = Some(mean.map_or(took, |mean| mean + WEIGHT * (took - mean)));
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT: Duration = Duration::from_millis(25);

    fn searches_of_1000(worth: &mut Worth) -> usize {
        (0..1000).filter(|_| worth.decide(TIMEOUT)).count()
    }

    #[test]
    fn searches_that_find_nothing_stop_but_for_a_few() {
        let mut worth = Worth::default();
        (0..100).for_each(|_| worth.searched(false));
        worth.gateway_took(Duration::from_millis(200));
        worth.holder_took(Duration::from_millis(10));
        assert_eq!(searches_of_1000(&mut worth), 5, "after 32, 64, 128, 256 and 512");
        (0..100).for_each(|_| worth.searched(true));
        assert_eq!(searches_of_1000(&mut worth), 1000);
    }

    /// Total seconds until the heads of 3,000 answers, with searches where they pay, and without any.
    fn with_and_without(found: f64, holder_ms: f64, gateway_ms: f64, seed: u64) -> (f64, f64) {
        use rand::{RngExt, SeedableRng};
        let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
        let (mut worth, mut with, mut without) = (Worth::default(), 0.0, 0.0);
        let timeout = TIMEOUT.as_secs_f64();
        for _ in 0..3000 {
            let mut around = |milliseconds: f64| milliseconds / 1000.0 * random.random_range(0.5..1.5);
            let (holder, gateway, answered) = (around(holder_ms), around(gateway_ms), around(6.0));
            let is_found = random.random_bool(found);
            without += gateway;
            if !worth.decide(TIMEOUT) {
                with += gateway;
                worth.gateway_took(Duration::from_secs_f64(gateway));
                continue;
            }
            worth.searched(is_found);
            if is_found {
                with += answered + holder;
                worth.holder_took(Duration::from_secs_f64(holder));
            } else {
                with += timeout + gateway;
                worth.gateway_took(Duration::from_secs_f64(gateway));
            }
        }
        (with, without)
    }

    proptest::proptest! {
        #[test]
        fn searching_where_it_pays_is_never_slower_than_not_searching(
            found in 0.0..1.0, gateway_ms in 1.0..300.0, nearness in 0.05..1.0, seed: u64,
        ) {
            // A router farther than the gateway is not asked (`Selector::is_better_than_gateway`).
            let (with, without) = with_and_without(found, nearness * gateway_ms, gateway_ms, seed);
            // Two per cent, and a second for learning over these 3,000.
            proptest::prop_assert!(with <= without * 1.02 + 1.0, "{with} s instead of {without} s");
        }
    }

    #[test]
    fn searching_pays_where_neighbours_are_near_and_have_much() {
        let (with, without) = with_and_without(0.6, 20.0, 200.0, 1);
        assert!(with < 0.6 * without, "{with} s instead of {without} s");
    }

    #[test]
    fn a_near_gateway_is_asked_at_once() {
        let mut worth = Worth::default();
        (0..100).for_each(|_| worth.searched(true));
        worth.gateway_took(Duration::from_millis(8));
        worth.holder_took(Duration::from_millis(5));
        assert!(searches_of_1000(&mut worth) < 50);
    }
}
