//! The kernel of a scenario, and the distribution of scenarios over boots and processors.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::error::{Doing, LabError};
use crate::guest::Line;
use crate::outcome::Outcome;
use crate::programs::Programs;
use crate::scenario::Scenario;
use crate::trial::run_here;
use crate::virtual_time::{Boot, Claim, Kernel, SILENCE, Scratch, SeedLibrary, processors};

/// The kernel and the clock.
#[derive(Debug, Clone)]
pub enum Driver {
    /// This kernel and the clock on the wall, one run after the other. Needs root.
    Lab {
        /// Values of placeholders in scenarios.
        programs: Programs,
    },
    /// The virtual-time kernel, one on each processor at a time.
    Virtual(Virtual),
}

/// Parameters of runs in virtual time.
#[derive(Debug, Clone)]
pub struct Virtual {
    /// The kernel.
    pub kernel: Kernel,
    /// Values of placeholders in scenarios.
    pub programs: Programs,
    /// The program and first arguments that run [`crate::guest::main`]. The scenario's file, the outcomes'
    /// file and the two programs follow.
    pub guest: Vec<String>,
    /// Seeds of a scenario in one boot. A run depends on its scenario and on the earlier seeds of its boot. A
    /// change of this number thus changes figures as another seed would.
    pub seeds_per_boot: usize,
    /// Kernels that run at a time, at most one for each processor.
    pub kernels: usize,
    /// Wall-clock time without progress after which a kernel is killed.
    pub silence: Duration,
}

impl Virtual {
    /// The default: one kernel for each processor, eight seeds a boot.
    pub fn new(kernel: Kernel, programs: Programs, guest: Vec<String>) -> Self {
        Self { kernel, programs, guest, seeds_per_boot: 8, kernels: usize::MAX, silence: SILENCE }
    }
}

/// The most additional silence of a run with unbounded length.
const MOST_PATIENCE_SECONDS: f64 = 7200.0;
/// The most guest memory for a program. Unused memory costs nothing.
const MEBIBYTES_A_PROGRAM: u32 = 32;

/// Runs every scenario with each of its seeds, and returns the outcomes in that order.
///
/// # Errors
///
/// The first [`LabError`]; runs that have not begun are omitted.
pub fn run(driver: &Driver, scenarios: &[Scenario]) -> Result<Vec<Outcome>, LabError> {
    run_reporting(driver, scenarios, &mut |_| {})
}

/// As [`run`], and passes each outcome to `report` in order of completion.
///
/// # Errors
///
/// As [`run`]; outcomes already passed to `report` are valid.
pub fn run_reporting(
    driver: &Driver,
    scenarios: &[Scenario],
    report: &mut (dyn FnMut(&Outcome) + Send),
) -> Result<Vec<Outcome>, LabError> {
    scenarios.iter().try_for_each(Scenario::check)?;
    match driver {
        Driver::Lab { programs } => {
            let mut outcomes = Vec::new();
            for scenario in scenarios {
                run_here(scenario, programs, &mut |outcome| {
                    report(&outcome);
                    outcomes.push(outcome);
                    Ok(())
                })?;
            }
            Ok(outcomes)
        }
        Driver::Virtual(how) => run_virtual(how, scenarios, report),
    }
}

/// Slices of scenarios, each for one boot, taken by one worker a processor.
fn run_virtual(
    how: &Virtual,
    scenarios: &[Scenario],
    report: &mut (dyn FnMut(&Outcome) + Send),
) -> Result<Vec<Outcome>, LabError> {
    let library = SeedLibrary::compile()?;
    let slices: Vec<Scenario> = scenarios.iter().flat_map(|scenario| sliced(scenario, how)).collect();
    let queue = Mutex::new(slices.iter().enumerate());
    let done = Mutex::new(vec![Vec::new(); slices.len()]);
    let report = Mutex::new(report);
    let failure = Mutex::new(None);
    let processors = processors()?;
    let work = |number: usize| {
        let claim = Claim::any(&processors, number);
        loop {
            let next = lock(&queue).next();
            let Some((index, slice)) = next else { return };
            let report = |outcome: &Outcome| lock(&report)(outcome);
            match boot(how, &library, slice, claim.processor(), &report) {
                Ok(outcomes) => lock(&done)[index] = outcomes,
                Err(error) => {
                    lock(&failure).get_or_insert(error);
                    lock(&queue).by_ref().for_each(drop);
                    return;
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for number in 0..processors.len().min(how.kernels).min(slices.len()) {
            let work = &work;
            scope.spawn(move || work(number));
        }
    });
    match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(error),
        None => Ok(done.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().flatten().collect()),
    }
}

fn lock<T: ?Sized>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The scenario in slices of at most one boot's seeds.
fn sliced(scenario: &Scenario, how: &Virtual) -> impl Iterator<Item = Scenario> {
    let seeds = scenario.seeds.chunks(how.seeds_per_boot.max(1));
    seeds.map(|seeds| Scenario { seeds: seeds.to_vec(), ..scenario.clone() })
}

/// Boots a kernel for one slice, and follows the file into which the guest writes.
fn boot(
    how: &Virtual,
    library: &SeedLibrary,
    slice: &Scenario,
    processor: usize,
    report: &(dyn Fn(&Outcome) + Sync),
) -> Result<Vec<Outcome>, LabError> {
    let folder = Scratch::new()?;
    let (scenario, lines) = (folder.path().join("scenario.json"), folder.path().join("outcomes.json"));
    let text = serde_json::to_vec(slice).map_err(std::io::Error::from);
    let text = text.doing(|| "write the scenario".to_owned())?;
    std::fs::write(&scenario, text).doing(|| format!("write {}", scenario.display()))?;
    let Programs { overheard, laboratory } = &how.programs;
    let paths = [&scenario, &lines, overheard, laboratory].map(|path| path.to_string_lossy().into_owned());
    let command = how.guest.iter().cloned().chain(paths).collect();
    let seed = slice.seeds.first().copied().unwrap_or_default();
    let processor = Some(processor);
    let boot = Boot::new(command, seed);
    let radios = slice.topology.wi_fi.iter().map(|network| network.members().count()).sum();
    let programs = slice.daemons.len() + slice.clients.len() + radios;
    let boot = Boot {
        processor,
        // A minute of a busy mesh takes several seconds.
        silence: how.silence + Duration::from_secs_f64(slice.bound_seconds.min(MOST_PATIENCE_SECONDS)),
        memory_mebibytes: boot.memory_mebibytes + MEBIBYTES_A_PROGRAM * programs as u32,
        radios,
        ..boot
    };

    let mut outcomes = Vec::new();
    let mut failed = None;
    let mut read_bytes = 0;
    let mut progress = || {
        let text = std::fs::read(&lines).unwrap_or_default();
        let fresh = &text[read_bytes.min(text.len())..];
        // The last line may still be half written.
        let whole = fresh.iter().rposition(|octet| *octet == b'\n').map_or(0, |end| end + 1);
        for line in fresh[..whole].split(|octet| *octet == b'\n').filter(|line| !line.is_empty()) {
            match serde_json::from_slice(line) {
                Ok(Line::Outcome(outcome)) => {
                    report(&outcome);
                    outcomes.push(*outcome);
                }
                Ok(Line::Failed(error)) => failed = Some(error),
                Err(error) => failed = Some(format!("the guest wrote what is no outcome: {error}")),
            }
        }
        read_bytes += whole;
        whole > 0
    };
    let booted = boot.run(&how.kernel, library, &mut progress);
    if let Some(detail) = failed {
        return Err(LabError::InGuest { name: slice.name.clone(), detail });
    }
    booted?;
    if outcomes.len() != slice.seeds.len() {
        let detail = format!("only {} of {} seeds were reported", outcomes.len(), slice.seeds.len());
        return Err(LabError::InGuest { name: slice.name.clone(), detail });
    }
    Ok(outcomes)
}
