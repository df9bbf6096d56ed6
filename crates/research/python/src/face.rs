//! Functions of the module: scenarios, keys, contents, links and estimates.

use std::path::{Path, PathBuf};

use experiments::contents::Contents;
use experiments::estimate::Estimate;
use experiments::pair::{Carrier, Ends, Keys, with_repairs};
use experiments::scheme::Scheme;
use lab::virtual_time::Kernel;
use lab::{Driver, Outcome, Programs, Scenario, Virtual};
use pyo3::prelude::*;

pyo3::create_exception!(overheard_lab, LabError, pyo3::exceptions::PyRuntimeError);

/// An error as Python's, with its causes in one sentence.
pub(crate) fn raise(error: impl std::fmt::Display) -> PyErr {
    LabError::new_err(error.to_string())
}

pub(crate) fn read(scenario: &str) -> PyResult<Scenario> {
    let reader = &mut serde_json::Deserializer::from_str(scenario);
    serde_path_to_error::deserialize(reader).map_err(|error| {
        let sentence = error.inner().to_string();
        // nobody wrote the line, which is Python's
        let mistake = sentence.rsplit_once(" at line ").map_or(&*sentence, |(mistake, _)| mistake);
        raise(format!("the scenario's `{}`: {mistake}", error.path()))
    })
}

pub(crate) fn write(outcomes: &[Outcome]) -> PyResult<Vec<String>> {
    outcomes.iter().map(|outcome| serde_json::to_string(outcome).map_err(raise)).collect()
}

/// Checks a scenario.
#[pyfunction]
pub fn check(scenario: &str) -> PyResult<()> {
    read(scenario)?.check().map_err(raise)
}

/// Runs scenarios, and returns an outcome for each of their seeds. `report` is called after each of them.
#[pyfunction]
#[pyo3(signature = (scenarios, driver, overheard, laboratory, kernel=None, seeds_per_boot=1, report=None))]
#[allow(clippy::too_many_arguments, reason = "Python names them")]
pub fn run(
    py: Python<'_>,
    scenarios: Vec<String>,
    driver: &str,
    overheard: PathBuf,
    laboratory: PathBuf,
    kernel: Option<PathBuf>,
    seeds_per_boot: usize,
    report: Option<Py<PyAny>>,
) -> PyResult<Vec<String>> {
    let scenarios = scenarios.iter().map(|scenario| read(scenario)).collect::<PyResult<Vec<_>>>()?;
    let guest = vec![laboratory.to_string_lossy().into_owned(), "guest".to_owned()];
    let programs = Programs { overheard, laboratory };
    let driver = match driver {
        "lab" => Driver::Lab { programs },
        "virtual" => {
            let kernel = kernel.as_deref().map_or_else(Kernel::find, Kernel::at).map_err(raise)?;
            Driver::Virtual(Virtual { seeds_per_boot, ..Virtual::new(kernel, programs, guest) })
        }
        other => return Err(raise(format!("no driver is called {other:?}; there are sim, virtual and lab"))),
    };
    let mut progress = |_: &Outcome| {
        if let Some(report) = &report {
            // an interpreter that ends, as after a second interruption, is told nothing
            Python::try_attach(|py| {
                if let Err(error) = report.call0(py) {
                    error.write_unraisable(py, None);
                }
            });
        }
    };
    let outcomes = py.detach(|| lab::run_reporting(&driver, &scenarios, &mut progress));
    write(&outcomes.map_err(raise)?)
}

/// A scenario in the form in which the laboratory writes it: with everything that was left out.
#[pyfunction]
pub fn written(scenario: &str) -> PyResult<String> {
    serde_json::to_string(&read(scenario)?).map_err(raise)
}

/// The files of a tunnel's keys, by their names, and its two nodes as daemons in JSON.
type Tunnel = (Vec<(String, String)>, Vec<String>);

/// A tunnel as the experiments have it: the same keys, and the same text of each configuration.
#[pyfunction]
pub fn tunnel(
    scheme: &str,
    gateway: &str,
    station: &str,
    endpoint: &str,
    repairs: bool,
    beyond: Vec<String>,
) -> PyResult<Tunnel> {
    let carrier = Carrier::from(scheme.parse::<Scheme>().map_err(raise)?);
    let keys = Keys::new(0);
    let ends = Ends { gateway, station, endpoint, beyond: &beyond };
    let daemons = keys.daemons("{files}", &carrier, &ends);
    if daemons.is_empty() {
        return Err(raise("the scheme bare has no tunnel: leave out `tunnel`"));
    }
    let daemons = if repairs { daemons.into_iter().map(with_repairs).collect() } else { daemons };
    let daemons = daemons.iter().map(|daemon| serde_json::to_string(daemon).map_err(raise));
    let files = keys.files().map(|(name, key)| (name.to_owned(), key));
    Ok((files.into(), daemons.collect::<PyResult<_>>()?))
}

/// A content of the experiments: its bytes, and its source.
#[pyfunction]
pub fn content(name: &str) -> PyResult<(Vec<u8>, String)> {
    let contents = Contents::find();
    let content = match name {
        "file-1" => contents.file_1(),
        "file-2" => contents.file_2(),
        "ebook" => contents.ebook(),
        "documents" => contents.documents(),
        _ => {
            return Err(raise(format!(
                "no content is called {name:?}; there are file-1, file-2, ebook and documents"
            )));
        }
    };
    let content = content.map_err(|error| raise(format!("{error:#}")))?;
    Ok((content.bytes, content.origin))
}

/// The experiments' random bytes.
#[pyfunction]
pub fn random_bytes(length: usize) -> Vec<u8> {
    Contents::random(length).bytes
}

/// A familiar link, as JSON: down, then up.
#[pyfunction]
pub fn preset(name: &str) -> PyResult<(String, String)> {
    let Some(preset) = air::presets::by_name(name) else {
        let names: Vec<&str> = air::presets::all().iter().map(|preset| preset.name).collect();
        return Err(raise(format!("no link is called {name:?}; there are {}", names.join(", "))));
    };
    let text = |link: &air::LinkConfig| serde_json::to_string(link).map_err(raise);
    Ok((text(&preset.down)?, text(&preset.up)?))
}

/// A quantity, and its interval.
type Estimated = (f64, Option<(f64, f64)>);

/// A mean, a median, or the quotient of two paired samples, with its 95% interval.
#[pyfunction]
#[pyo3(signature = (kind, sample, other=None))]
pub fn estimate(kind: &str, sample: Vec<f64>, other: Option<Vec<f64>>) -> PyResult<Option<Estimated>> {
    let pairs = |other: Option<Vec<f64>>| -> PyResult<Vec<(f64, f64)>> {
        let other = other.ok_or_else(|| raise(format!("the estimate {kind} takes two samples")))?;
        Ok(sample.iter().copied().zip(other).collect())
    };
    let estimate = match kind {
        "mean" => Estimate::mean(&sample),
        "median" => Estimate::median(&sample),
        "paired-ratio" => Estimate::paired_ratio(&pairs(other)?),
        "paired-median" => Estimate::paired_median(&pairs(other)?),
        _ => {
            let known = "mean, median, paired-ratio and paired-median";
            return Err(raise(format!("no estimate is called {kind:?}; there are {known}")));
        }
    };
    Ok(estimate.map(|estimate| (estimate.value, estimate.interval)))
}

/// The virtual-time kernel's file: the named one, or the one that is found.
#[pyfunction]
#[pyo3(signature = (path=None))]
pub fn find_kernel(path: Option<&str>) -> PyResult<PathBuf> {
    let kernel = path.map_or_else(Kernel::find, |path| Kernel::at(Path::new(path)));
    Ok(kernel.map_err(raise)?.path().to_owned())
}
