//! Trials: one mix in one setting under one scheme, with seeds; and the traffic that all of them share.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use indicatif::ProgressBar;

use super::air_time::Clock;
use super::as_printed::Cache;
use super::overhearing::Overhearing;
use super::run::Run;
use super::scheme::Scheme;
use super::tally::Tally;
use crate::figure::Setting;
use crate::parallel;
use crate::trace::{Composer, Fresh, Kind, Mix};

/// A trial's parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trial {
    /// Share of repetition, by receiver.
    pub mix: Mix,
    /// In what pieces.
    pub kind: Kind,
    /// Where C2 stands.
    pub overhearing: Overhearing,
    /// Handling of redundancy.
    pub scheme: Scheme,
    /// Method of computing air time.
    pub clock: Clock,
}

/// Traffic for trials.
pub struct Traffic {
    fresh: Arc<Fresh>,
    /// Payload of a trace.
    bytes: u64,
    /// Caches of two to this many slots: eight for each chunk of the trace that is no repetition, so that the
    /// ways in which collisions are met do not decide figures that are about something else.
    slot_bits: u8,
    /// The paper's cache, scaled to a trace.
    scaled: Cache,
    seeds: u64,
    note: String,
}

/// Bytes of a chunk in the mean.
const CHUNK_BYTES: u64 = 64;

impl Traffic {
    /// As much as the plan wants.
    ///
    /// # Errors
    ///
    /// When there is no content.
    pub fn of(setting: &Setting<'_>) -> Result<Self> {
        let bytes: u64 = setting.plan.choose(32 << 20, 4 << 20, 4 << 20);
        let seeds = setting.plan.seeds(2, 1, 1);
        let fresh = fresh(setting)?;
        let slots = (4 * bytes / CHUNK_BYTES).next_power_of_two();
        let slot_bits = slots.trailing_zeros().clamp(14, 24) as u8;
        let megabytes = bytes >> 20;
        let note = format!("{megabytes} MiB of payload a trace, caches of 2^{slot_bits} slots");
        let scaled = Cache::for_trace(bytes);
        Ok(Self { fresh, bytes, slot_bits, scaled, seeds: seeds.into(), note })
    }

    /// What traces are composed of.
    #[must_use]
    pub fn fresh(&self) -> &Arc<Fresh> {
        &self.fresh
    }

    /// Payload of a trace.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Caches have two to this many slots.
    #[must_use]
    pub fn slot_bits(&self) -> u8 {
        self.slot_bits
    }

    /// What a reader must know of a scheme's runs.
    #[must_use]
    pub fn note_of(&self, scheme: Scheme) -> String {
        if !scheme.has_scaled_cache() {
            return self.note.clone();
        }
        let (scale, slot_bits) = (self.scaled.scale(), self.scaled.slot_bits());
        let (megabytes, flush_kilobytes) = (self.bytes >> 20, self.scaled.flush_bytes() / 1000);
        format!(
            "{megabytes} MiB of payload a trace, 512 MB scaled 1:{scale} to 2^{slot_bits} slots, flushed every \
             {flush_kilobytes} kB"
        )
    }

    /// How many seeds every trial has.
    #[must_use]
    pub fn seeds(&self) -> u32 {
        self.seeds as u32
    }

    /// Runs trials, each with every seed.
    ///
    /// # Errors
    ///
    /// When one does not come to its end.
    pub fn run_all(&self, trials: impl IntoIterator<Item = Trial>) -> Result<Tallies> {
        let trials: Vec<Trial> = trials.into_iter().collect();
        let runs = trials.iter().flat_map(|trial| (1..=self.seeds).map(move |seed| (trial, seed)));
        let mut tallies =
            parallel::map(runs, &ProgressBar::hidden(), |(trial, seed)| self.run(trial, seed))?.into_iter();
        let mut of_trials = BTreeMap::new();
        for trial in trials {
            of_trials.insert(trial.key(), tallies.by_ref().take(self.seeds as usize).collect());
        }
        Ok(Tallies(of_trials))
    }

    fn run(&self, trial: &Trial, seed: u64) -> Result<Tally> {
        let trace = Composer::new(Arc::clone(&self.fresh), trial.mix, trial.kind, self.bytes, seed);
        let run = Run {
            radios: &trial.overhearing.radios(),
            scheme: trial.scheme,
            clock: trial.clock,
            slot_bits: if trial.scheme.has_scaled_cache() { self.scaled.slot_bits() } else { self.slot_bits },
            seed,
        };
        run.of(trace).with_context(|| format!("{}, seed {seed}", trial.key()))
    }
}

/// Bytes to compose of: all there is.
///
/// # Errors
///
/// When it cannot be read.
pub fn fresh(setting: &Setting<'_>) -> Result<Arc<Fresh>> {
    /// Seed of the alphabets.
    const SEED: u64 = 11;
    let contents = setting.contents.all()?;
    Ok(Arc::new(Fresh::from_contents(contents.iter().map(|content| &content.bytes[..]), SEED)?))
}

/// Results of trials.
pub struct Tallies(BTreeMap<String, Vec<Tally>>);

impl Tallies {
    /// A trial's, in the order of the seeds.
    #[must_use]
    pub fn of(&self, trial: &Trial) -> &[Tally] {
        self.0.get(&trial.key()).map_or(&[], Vec::as_slice)
    }

    /// Pairs of a quantity of one trial and of another with the same seeds.
    pub fn pairs(
        &self,
        trial: &Trial,
        baseline: &Trial,
        quantity: impl Fn(&Tally) -> f64,
    ) -> Vec<(f64, f64)> {
        let (ours, theirs) = (self.of(trial).iter(), self.of(baseline).iter());
        ours.zip(theirs).map(|(one, other)| (quantity(one), quantity(other))).collect()
    }
}

impl Trial {
    fn key(&self) -> String {
        let Self { mix, kind, overhearing, scheme, clock } = self;
        format!("{mix} {kind} {} {scheme} {clock}", overhearing.place())
    }

    /// The same under another scheme.
    #[must_use]
    pub fn under(self, scheme: Scheme) -> Self {
        Self { scheme, ..self }
    }
}
