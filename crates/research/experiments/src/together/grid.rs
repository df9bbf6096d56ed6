//! The grid of losses and delays, and three ways to look at it.

use anyhow::Result;
use lab::Outcome;

use super::combination::{Combination, Mechanism};
use super::network::Trial;
use crate::estimate::Estimate;
use crate::figure::{Figure, Need, Results, Setting};
use crate::row::Row;

/// Waiting time of users.
pub const WAITED: Figure = Figure {
    id: "waited",
    title: "How long users waited, by what is on",
    x: "what is on",
    remark: "Seconds from asking to having, summed over six downloads by three stations: 400 KB that all want, one after the \
             other, and 200 KB that each wants alone. One 802.11b channel at 11 Mbit/s; whom \
             a radio's frames are for take turns at it, as at Linux's. A frame is tried twice, and each try lost with the \
             probability that stands there. The hop's own repair of losses belongs to \
             RE (its policy adaptive) and is off without; recovery is that of TCP segments above it. Boost needs a kernel with BPF and is switched by \
             the driver `lab` only.",
    needs,
    rows: waited_rows,
};

/// All on, by the best.
pub const AGAINST_BEST: Figure = Figure {
    id: "against-best",
    title: "Everything on, by the best combination",
    x: "% of tries lost",
    remark: "The median over seeds of what users waited with everything on, by what they waited with the best combination in \
             that cell. The least of sixteen noisy means is less than it should be: so one half of the seeds chooses the \
             combination whose mean is least, and the other half is compared, and the other way about.",
    needs,
    rows: against_best,
};

/// What each adds.
pub const ADDED: Figure = Figure {
    id: "added",
    title: "What each mechanism adds",
    x: "% of tries lost",
    remark: "The median over seeds of what users waited with a mechanism on, by the same with it off: alone, where nothing \
             else is on, and last, where everything else is. \"by zstd and ARQ\" is everything, and RE alone, by a tunnel that \
             compresses each packet and repairs the hop's losses, and does nothing else.",
    needs,
    rows: added,
};

/// Prefix of the series against the fair baseline.
pub(super) const BY_BASELINE: &str = "by zstd and ARQ";

/// The mechanisms that this driver can switch: the virtual-time kernel has no BPF.
fn switched(setting: &Setting<'_>) -> usize {
    if setting.driver.uses_own_kernel() { Mechanism::ALL.len() } else { Mechanism::ALL.len() - 1 }
}

fn seeds(setting: &Setting<'_>) -> u32 {
    setting.plan.seeds(10, 4, 3)
}

fn cells(setting: &Setting<'_>) -> Vec<(u32, u32)> {
    let losses: &[u32] = setting.plan.choose(&[0, 10, 25], &[10], &[10]);
    let delays: &[u32] = setting.plan.choose(&[20, 100, 300], &[100], &[100]);
    losses.iter().flat_map(|loss| delays.iter().map(|delay| (*loss, *delay))).collect()
}

fn trial((loss_percent, wire_milliseconds): (u32, u32), combination: Combination) -> Trial {
    Trial { loss_percent, wire_milliseconds, combination, is_repaired: false }
}

/// The fair baseline: nothing but compression of each packet and the hop's repair.
fn baseline(cell: (u32, u32)) -> Trial {
    Trial { is_repaired: true, ..trial(cell, Combination::NOTHING) }
}

fn needs(setting: &Setting<'_>) -> Vec<Need> {
    let trials = cells(setting).into_iter().flat_map(|cell| {
        let combinations = Combination::of_first(switched(setting));
        combinations.map(move |combination| trial(cell, combination)).chain([baseline(cell)])
    });
    trials.map(|trial| Need::Scenario(Box::new(trial.scenario(setting, seeds(setting))))).collect()
}

/// A quantity of a trial's runs, by seed.
fn sample(
    results: &Results<'_>,
    trial: &Trial,
    quantity: fn(&Outcome) -> Option<f64>,
) -> Result<Vec<Option<f64>>> {
    Ok(results.outcomes(&trial.name())?.iter().map(quantity).collect())
}

fn waited_rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let setting = &results.setting;
    let mut rows = Vec::new();
    for cell in cells(setting) {
        for combination in Combination::of_first(switched(setting)) {
            let trial = trial(cell, combination);
            for (what, unit, quantity) in [
                ("waited", "s", Outcome::waited_seconds as fn(&Outcome) -> Option<f64>),
                ("on the air", "s", Outcome::air_seconds),
            ] {
                let sample = sample(results, &trial, quantity)?;
                let whole: Vec<f64> = sample.iter().copied().flatten().collect();
                let series = format!("{what}: {}% lost, wire of {} ms", cell.0, cell.1);
                let row = Row::new(WAITED.id, series, combination.to_string().as_str(), unit);
                let row = row.measured(Estimate::mean(&whole), setting.driver, sample.len() as u32);
                let broken = sample.len() - whole.len();
                rows.push(if broken > 0 { row.note(format!("{broken} runs did not end")) } else { row });
            }
        }
    }
    Ok(rows)
}

/// The median of what one trial's users waited by what the other's did.
fn quotient(results: &Results<'_>, one: Trial, other: Trial) -> Result<Option<Estimate>> {
    let (ours, theirs) =
        (sample(results, &one, Outcome::waited_seconds)?, sample(results, &other, Outcome::waited_seconds)?);
    let pairs: Vec<(f64, f64)> =
        ours.into_iter().zip(theirs).filter_map(|(ours, theirs)| Some((ours?, theirs?))).collect();
    Ok(Estimate::paired_median(&pairs))
}

fn against_best(results: &Results<'_>) -> Result<Vec<Row>> {
    let setting = &results.setting;
    let all = Combination::all_of_first(switched(setting));
    let mut rows = Vec::new();
    for cell in cells(setting) {
        let mut samples = Vec::new();
        for combination in Combination::of_first(switched(setting)) {
            let sample = sample(results, &trial(cell, combination), Outcome::waited_seconds)?;
            let whole: Option<Vec<f64>> = sample.into_iter().collect();
            let whole = whole.filter(|whole| !whole.is_empty()); // of a part, the rest was not run
            samples.extend(whole.map(|whole| (combination, whole)));
        }
        let Some(against) = AgainstBest::of(all, &samples) else { continue };
        let row = Row::new(AGAINST_BEST.id, format!("wire of {} ms", cell.1), cell.0, "ratio");
        let estimate = Estimate::paired_median(&against.pairs);
        let best: Vec<String> = against.best.iter().map(Combination::to_string).collect();
        let row = row.measured(estimate, setting.driver, seeds(setting));
        rows.push(row.note(format!("best: {}", best.join("; "))));
    }
    Ok(rows)
}

/// One combination beside the best of all. The minimum of many noisy means underestimates its own mean. One
/// half of the seeds therefore selects the best combination, and the other half measures the difference.
struct AgainstBest {
    /// Ours and theirs, with the same seed.
    pairs: Vec<(f64, f64)>,
    /// The combinations that either half of the seeds selects as best.
    best: Vec<Combination>,
}

impl AgainstBest {
    /// Of samples that have the same seeds in the same order; `None` without any, or without ours.
    fn of(ours: Combination, samples: &[(Combination, Vec<f64>)]) -> Option<Self> {
        let (_, ours) = samples.iter().find(|(combination, _)| *combination == ours)?;
        let (one, other): (Vec<usize>, Vec<usize>) = (0..ours.len()).partition(|seed| seed % 2 == 0);
        let ways = if other.is_empty() { vec![(&one, &one)] } else { vec![(&one, &other), (&other, &one)] };
        let (mut pairs, mut best) = (Vec::new(), Vec::new());
        for (choosing, compared) in ways {
            let sum = |sample: &[f64]| choosing.iter().map(|seed| sample[*seed]).sum::<f64>();
            let (combination, theirs) =
                samples.iter().min_by(|one, other| sum(&one.1).total_cmp(&sum(&other.1)))?;
            pairs.extend(compared.iter().map(|&seed| (ours[seed], theirs[seed])));
            if !best.contains(combination) {
                best.push(*combination);
            }
        }
        Some(Self { pairs, best })
    }
}

/// The name of a series of what users waited by the fair baseline.
pub(super) fn by_baseline(wire_milliseconds: u32, name: &str) -> String {
    format!("{BY_BASELINE}: wire of {wire_milliseconds} ms, {name}")
}

fn added(results: &Results<'_>) -> Result<Vec<Row>> {
    let setting = &results.setting;
    let count = switched(setting);
    let mut rows = Vec::new();
    for cell in cells(setting) {
        for mechanism in Mechanism::ALL.into_iter().take(count) {
            let without = Combination::all_of_first(count).switched(mechanism);
            for (when, before) in [("alone", Combination::NOTHING), ("last", without)] {
                let estimate =
                    quotient(results, trial(cell, before.switched(mechanism)), trial(cell, before))?;
                let series = format!("wire of {} ms, {when}: {mechanism}", cell.1);
                let row = Row::new(ADDED.id, series, cell.0, "ratio");
                rows.push(row.measured(estimate, setting.driver, seeds(setting)));
            }
        }
        let reduced = Combination::NOTHING.switched(Mechanism::Reduce);
        for (name, combination) in [("everything", Combination::all_of_first(count)), ("RE", reduced)] {
            let estimate = quotient(results, trial(cell, combination), baseline(cell))?;
            let row = Row::new(ADDED.id, by_baseline(cell.1, name), cell.0, "ratio");
            rows.push(row.measured(estimate, setting.driver, seeds(setting)));
        }
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_is_compared_with_seeds_that_did_not_choose_it() {
        let combinations: Vec<Combination> = Combination::of_first(1).collect();
        let (ours, other) = (combinations[1], combinations[0]);
        // the other is best with the seeds 1 and 3 only: chosen by them, it is judged by 2 and 4
        let samples = [(other, vec![1.0, 4.0, 1.0, 4.0]), (ours, vec![2.0; 4])];
        let against = AgainstBest::of(ours, &samples).expect("ours is among them");
        assert_eq!(against.best, [other, ours]);
        assert_eq!(against.pairs, [(2.0, 4.0), (2.0, 4.0), (2.0, 2.0), (2.0, 2.0)]);
    }

    #[test]
    fn one_seed_chooses_and_is_compared() {
        let combinations: Vec<Combination> = Combination::of_first(1).collect();
        let samples = [(combinations[0], vec![1.0]), (combinations[1], vec![2.0])];
        let against = AgainstBest::of(combinations[1], &samples).expect("ours is among them");
        assert_eq!(against.pairs, [(2.0, 1.0)]);
        assert!(AgainstBest::of(combinations[1], &samples[..1]).is_none());
    }
}
