//! The shared air of one access point: who receives a transmission, and who overhears it.

use air::loss::LossProcess;

use super::overhearing::Radio;

/// Number of tries after which a frame counts as delivered; no setting comes near.
const MOST_TRIES: u8 = 60;

/// The fate of one frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fate {
    /// How often it was sent until it arrived.
    pub tries: u8,
    /// Which other stations heard it at least once; station `i` is bit `i`.
    pub overheard_by: u64,
}

/// The losses of every station.
pub struct Medium {
    stations: Vec<Losses>,
}

struct Losses {
    to_it: LossProcess,
    /// None where a recording tells both.
    to_others: Option<LossProcess>,
}

impl Medium {
    /// For these radios. Equal seeds lose equally: frame by frame and try by try, by their numbers.
    #[must_use]
    pub fn new(radios: &[Radio], seed: u64) -> Self {
        let losses = |(number, radio): (usize, &Radio)| {
            let seed = seed << 16 | (number as u64) << 1;
            Losses {
                to_it: LossProcess::new(&radio.loss, seed),
                to_others: radio.overhearing_loss.as_ref().map(|loss| LossProcess::new(loss, seed | 1)),
            }
        };
        Self { stations: radios.iter().enumerate().map(losses).collect() }
    }

    /// Whether a station receives a frame without retransmission.
    pub fn once(&mut self, to: usize, number: u64, bytes: usize) -> bool {
        self.stations.get_mut(to).is_some_and(|losses| !losses.to_it.lose(number, 0, bytes as u64 * 8))
    }

    /// Sends a frame until its station has it. Frames of one `number` meet the same air in every run, but for
    /// their lengths.
    pub fn send(&mut self, to: usize, number: u64, bytes: usize) -> Fate {
        let bits = bytes as u64 * 8;
        let mut fate = Fate::default();
        loop {
            let mut arrived = false;
            for (station, losses) in self.stations.iter_mut().enumerate() {
                let process = match &mut losses.to_others {
                    Some(to_others) if station != to => to_others,
                    _ => &mut losses.to_it,
                };
                let heard = !process.lose(number, fate.tries, bits);
                match station == to {
                    true => arrived = heard,
                    false => fate.overheard_by |= u64::from(heard) << station,
                }
            }
            fate.tries += 1;
            if arrived || fate.tries == MOST_TRIES {
                return fate;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::refactor::overhearing::Overhearing;

    #[test]
    fn losses_and_overhearing_are_those_of_the_setting_and_shorter_frames_fare_better() {
        let radios = Overhearing::PAPER[2].radios();
        let rates = |bytes: usize| {
            let mut medium = Medium::new(&radios, 3);
            let (mut tries, mut overheard) = (0, 0);
            for number in 0..20_000 {
                tries += u32::from(medium.send(1, number, bytes).tries);
                let fate = medium.send(0, number, bytes);
                assert_eq!(fate.tries, 1, "C1 loses nothing");
                overheard += u32::from(fate.overheard_by == 0b10);
            }
            (1.0 - 20_000.0 / f64::from(tries), f64::from(overheard) / 20_000.0)
        };
        let (loss, overheard) = rates(1400);
        assert!((loss - 0.085).abs() < 0.006, "{loss}");
        assert!((overheard - 0.5).abs() < 0.011, "{overheard}");
        let (less, more) = rates(700);
        assert!((less - 0.0434).abs() < 0.005 && (more - 0.707).abs() < 0.011, "{less} {more}");
    }
}
