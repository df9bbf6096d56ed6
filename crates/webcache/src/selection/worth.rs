//! Whether a search pays. It costs its timeout when nobody has the content, and gains what the gateway takes longer
//! than a neighbour when somebody has.

use std::time::Duration;

/// How much each new observation counts.
const WEIGHT: f64 = 1.0 / 16.0;
/// Where searches do not pay, one in so many is made nevertheless: things change.
const EXPLORED: u32 = 32;

/// What was observed of searches and answers.
#[derive(Debug, Clone)]
pub struct Worth {
    /// The part of searches that found somebody.
    found: f64,
    /// Time to the head of an answer, in seconds, from a router that had the content and by the way of the gateway.
    holder_seconds: Option<f64>,
    gateway_seconds: Option<f64>,
    passed_over: u32,
}

impl Default for Worth {
    fn default() -> Self {
        Worth { found: 0.5, holder_seconds: None, gateway_seconds: None, passed_over: 0 }
    }
}

impl Worth {
    /// Whether to search, where a search that finds nothing takes `timeout`.
    pub fn decide(&mut self, timeout: Duration) -> bool {
        let pays = match (self.holder_seconds, self.gateway_seconds) {
            (Some(holder), Some(gateway)) => {
                // A search that finds somebody takes a part of its timeout too.
                let gain = gateway - holder - timeout.as_secs_f64() / 2.0;
                self.found * gain > (1.0 - self.found) * timeout.as_secs_f64()
            }
            // nothing is known yet
            _ => self.found > 0.1,
        };
        if pays {
            return true;
        }
        self.passed_over += 1;
        if self.passed_over >= EXPLORED {
            self.passed_over = 0;
            return true;
        }
        false
    }

    /// Notes how a search ended.
    pub fn searched(&mut self, found: bool) {
        self.found += WEIGHT * (f64::from(u8::from(found)) - self.found);
    }

    /// Notes how long an answer took from a holder.
    pub fn holder_took(&mut self, took: Duration) {
        note(&mut self.holder_seconds, took);
    }

    /// Notes how long an answer took by the way of the gateway.
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
        assert_eq!(searches_of_1000(&mut worth), 1000 / EXPLORED as usize);
        (0..100).for_each(|_| worth.searched(true));
        assert_eq!(searches_of_1000(&mut worth), 1000);
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
