//! Runs scenarios on the driver that was asked for, over all processors, and shows how far it has come.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use anyhow::{Context as _, Result, bail};
use indicatif::ProgressBar;
use lab::virtual_time::Kernel;
use lab::{Outcome, Programs, Scenario, Virtual};

use crate::row::Driver;
use crate::whole_file;

/// The usual number of parallel runs on this machine's kernel. A link of 1 MByte/s leaves a processor mostly
/// idle.
pub const LAB_LANES: usize = 4;

/// What runs scenarios.
#[derive(Debug, Clone)]
pub struct Runner {
    /// The driver; not [`Driver::Sim`], which takes no scenarios.
    pub driver: Driver,
    /// The programs that scenarios start.
    pub programs: Programs,
    /// The program and first arguments that run [`lab::guest::main`] inside the virtual-time kernel.
    pub guest: Vec<String>,
    /// Number of parallel runs on this machine's kernel.
    pub lanes: usize,
    /// Folder of kept outcomes, so that an interrupted run can continue.
    pub kept: Option<Kept>,
    /// [`Runner::ended`], which clones share.
    pub ended: Arc<AtomicU32>,
}

/// A folder of kept outcomes, with a file for each run. It belongs to one state of the project, and its
/// contents are not checked.
#[derive(Debug, Clone)]
pub struct Kept(PathBuf);

impl Kept {
    /// In this folder, which is made if it is not there.
    ///
    /// # Errors
    ///
    /// When it cannot be made.
    pub fn in_folder(folder: PathBuf) -> Result<Self> {
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(Self(folder))
    }

    fn path(&self, driver: Driver, scenario: &str, seed: u64) -> PathBuf {
        let letter = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
        let name: String = scenario.chars().map(letter).collect();
        self.0.join(format!("{driver}-{name}-{seed}.json"))
    }

    /// Takes the kept outcomes of a scenario, and removes their seeds from it.
    fn take(&self, driver: Driver, scenario: &mut Scenario) -> Vec<Outcome> {
        let mut outcomes = Vec::new();
        scenario.seeds.retain(|&seed| {
            let found = fs::read(self.path(driver, &scenario.name, seed)).ok();
            let outcome = found.and_then(|bytes| serde_json::from_slice::<Outcome>(&bytes).ok());
            let outcome = outcome.filter(|it| it.scenario == scenario.name && it.seed == seed);
            let is_missing = outcome.is_none();
            outcomes.extend(outcome);
            is_missing
        });
        outcomes
    }

    /// What cannot be kept is run again another time.
    fn keep(&self, driver: Driver, outcome: &Outcome) {
        let path = self.path(driver, &outcome.scenario, outcome.seed);
        let written = serde_json::to_vec(outcome).map_err(std::io::Error::from);
        if let Err(error) = written.and_then(|bytes| whole_file::write(&path, bytes)) {
            tracing::warn!("cannot keep {}: {error}", path.display());
        }
    }
}

/// All outcomes, by their scenarios' names, in the order of the seeds.
pub type Outcomes = BTreeMap<String, Vec<Outcome>>;

impl Runner {
    /// Runs each scenario once for each of its seeds. Names must differ.
    ///
    /// # Errors
    ///
    /// When a scenario could not be run to its end, which is not the same as ending badly.
    pub fn run(&self, mut scenarios: Vec<Scenario>, progress: &ProgressBar) -> Result<Outcomes> {
        let mut by_name = Outcomes::new();
        if let Some(kept) = &self.kept {
            for scenario in &mut scenarios {
                let outcomes = kept.take(self.driver, scenario);
                by_name.entry(scenario.name.clone()).or_default().extend(outcomes);
            }
            scenarios.retain(|scenario| !scenario.seeds.is_empty());
        }
        // The longest first, so that no processor is left with one at the end.
        scenarios.sort_by_key(|scenario| std::cmp::Reverse(scenario.seeds.len()));
        let runs: usize = scenarios.iter().map(|scenario| scenario.seeds.len()).sum();
        progress.set_length(runs as u64);
        progress.set_position(0);
        let mut report = |outcome: &Outcome| self.report(outcome, progress);
        let outcomes = match self.driver {
            Driver::Virtual => {
                let how = Virtual::new(Kernel::find()?, self.programs.clone(), self.guest.clone());
                lab::run_reporting(&lab::Driver::Virtual(how), &scenarios, &mut report)?
            }
            Driver::Qemu if guest_commit().is_none() => {
                bail!(
                    "the driver qemu runs inside the guest of scripts/in-qemu: begin the command with scripts/in-qemu"
                )
            }
            Driver::Lab | Driver::Qemu => self.run_in_lanes(&scenarios, &mut report)?,
            Driver::Sim | Driver::Offline | Driver::Ns2 | Driver::Recorded => {
                bail!("the driver {} takes no scenarios", self.driver)
            }
        };
        for outcome in outcomes {
            by_name.entry(outcome.scenario.clone()).or_default().push(outcome);
        }
        by_name.values_mut().for_each(|outcomes| outcomes.sort_by_key(|outcome| outcome.seed));
        Ok(by_name)
    }

    /// The kernel that the driver's TCP is, as it calls itself.
    #[must_use]
    pub fn kernel(&self) -> String {
        match self.driver {
            Driver::Virtual => Kernel::find()
                .ok()
                .and_then(|kernel| said(std::process::Command::new(kernel.path()).arg("--version")))
                .map_or_else(|| "unknown".to_owned(), |version| format!("User-Mode Linux {version}")),
            Driver::Lab | Driver::Qemu => {
                said(std::process::Command::new("uname").arg("-sr")).unwrap_or_default()
            }
            Driver::Sim | Driver::Offline | Driver::Ns2 | Driver::Recorded => "none".to_owned(),
        }
    }

    /// Number of runs that this runner and its clones ended. Outcomes from [`Runner::kept`] are not counted:
    /// their time passed before.
    #[must_use]
    pub fn ended(&self) -> u32 {
        self.ended.load(Ordering::Relaxed)
    }

    fn report(&self, outcome: &Outcome, progress: &ProgressBar) {
        self.ended.fetch_add(1, Ordering::Relaxed);
        if let Some(kept) = &self.kept {
            kept.keep(self.driver, outcome);
        }
        progress.set_message(outcome.scenario.clone());
        progress.inc(1);
    }

    /// Several runs at a time on this kernel, each in namespaces of its own.
    fn run_in_lanes(
        &self,
        scenarios: &[Scenario],
        report: &mut (dyn FnMut(&Outcome) + Send),
    ) -> Result<Vec<Outcome>> {
        let driver = lab::Driver::Lab { programs: self.programs.clone() };
        let mut single: Vec<Scenario> = scenarios
            .iter()
            .flat_map(|scenario| {
                scenario.seeds.iter().map(|seed| Scenario { seeds: vec![*seed], ..scenario.clone() })
            })
            .collect();
        // Compared runs are adjacent, so that other load on the machine affects both.
        single.sort_by_key(|scenario| scenario.seeds[0]);
        let queue = Mutex::new(single.iter());
        let report = Mutex::new(report);
        let lane = || -> Result<Vec<Outcome>> {
            let mut outcomes = Vec::new();
            loop {
                let next = queue.lock().ok().and_then(|mut queue| queue.next());
                let Some(scenario) = next else { return Ok(outcomes) };
                let ran = lab::run_reporting(&driver, std::slice::from_ref(scenario), &mut |outcome| {
                    if let Ok(mut report) = report.lock() {
                        report(outcome);
                    }
                });
                match ran {
                    Ok(ran) => outcomes.extend(ran),
                    Err(error) => {
                        // The other lanes finish their current runs.
                        if let Ok(mut queue) = queue.lock() {
                            queue.by_ref().for_each(drop);
                        }
                        return Err(error).with_context(|| scenario.name.clone());
                    }
                }
            }
        };
        std::thread::scope(|scope| {
            let lanes: Vec<_> = (0..self.lanes.min(single.len())).map(|_| scope.spawn(lane)).collect();
            let joined = lanes
                .into_iter()
                .map(|lane| lane.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            Ok(joined.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
        })
    }
}

/// The commit that `scripts/in-qemu` names to the programs of its guest; `None` elsewhere, and without git.
fn guest_commit() -> Option<String> {
    std::env::var("OVERHEARD_GUEST_COMMIT").ok().filter(|commit| !commit.is_empty())
}

/// The state of the project that this program was built from, as git describes it now; the version where
/// there is no git. A guest has no git, and its host names the commit.
#[must_use]
pub fn commit() -> String {
    if let Some(commit) = guest_commit() {
        return commit;
    }
    let mut git = std::process::Command::new("git");
    git.args(["-C", env!("CARGO_MANIFEST_DIR"), "describe", "--always", "--dirty"]);
    said(&mut git).unwrap_or_else(|| format!("version {}", env!("CARGO_PKG_VERSION")))
}

/// This machine: its kernel, how many cores it has, and of what.
#[must_use]
pub fn machine() -> String {
    let kernel = said(std::process::Command::new("uname").arg("-sr")).unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let processors = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = processors.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = model.map_or("an unnamed processor", |(_, model)| model);
    format!("{kernel}, {cores} cores of {model}")
}

/// The date, as in 2012-06-18; empty if the system does not supply it.
#[must_use]
pub fn date() -> String {
    said(std::process::Command::new("date").args(["-u", "+%F"])).unwrap_or_default()
}

/// What a command prints, if it succeeds.
fn said(command: &mut std::process::Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(seed: u64) -> Outcome {
        let written = serde_json::json!({
            "scenario": "a", "seed": seed, "links": [], "downloads": [], "streams": [], "statuses": {}, "said": [],
        });
        serde_json::from_value(written).unwrap()
    }

    #[test]
    fn outcomes_of_an_earlier_command_are_taken_and_not_counted() {
        let folder = tempfile::tempdir().unwrap();
        let runner = Runner {
            driver: Driver::Lab,
            programs: Programs { overheard: PathBuf::new(), laboratory: PathBuf::new() },
            guest: Vec::new(),
            lanes: 1,
            kept: Some(Kept::in_folder(folder.path().to_owned()).unwrap()),
            ended: Arc::default(),
        };
        let progress = ProgressBar::hidden();
        for seed in [1, 2] {
            runner.report(&outcome(seed), &progress);
        }
        assert_eq!(runner.ended(), 2);
        let topology =
            serde_json::json!({ "name": "a", "seeds": [1, 2], "topology": { "places": [], "links": [] } });
        let scenario: Scenario = serde_json::from_value(topology).unwrap();
        let resumed = Runner { ended: Arc::default(), ..runner };
        let outcomes = resumed.run(vec![scenario], &progress).unwrap();
        assert_eq!(outcomes["a"], [outcome(1), outcome(2)]);
        assert_eq!(resumed.ended(), 0);
    }
}
