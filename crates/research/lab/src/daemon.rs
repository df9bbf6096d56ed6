//! A daemon of the scenario: its texts are filled in, and it is started, awaited, queried, and ended.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::error::{Doing, LabError, end_of_log};
use crate::http_server::is_listening;
use crate::namespace::Namespace;
use crate::program::Program;
use crate::programs::Programs;
use crate::scenario::{Daemon, Ready};

/// Interval of checks for a daemon's readiness.
const INTERVAL: Duration = Duration::from_millis(5);
/// Timeout of a status command and of an event's command.
const COMMAND_PATIENCE: Duration = Duration::from_secs(10);

/// Values of the placeholders in a scenario's texts.
#[derive(Debug, Clone)]
pub(crate) struct Placeholders {
    /// `{overheard}` and `{lab}`.
    pub(crate) programs: Programs,
    /// `{folder}`.
    pub(crate) folder: PathBuf,
}

impl Placeholders {
    fn fill(&self, text: &str, daemon: Option<&str>) -> String {
        let mut filled = text
            .replace("{overheard}", &self.programs.overheard.to_string_lossy())
            .replace("{lab}", &self.programs.laboratory.to_string_lossy())
            .replace("{folder}", &self.folder.to_string_lossy());
        if let Some(daemon) = daemon {
            for (placeholder, ending) in [("{config}", "toml"), ("{socket}", "socket")] {
                let path = self.path_of(daemon, ending);
                filled = filled.replace(placeholder, &path.to_string_lossy());
            }
        }
        filled
    }

    fn path_of(&self, daemon: &str, ending: &str) -> PathBuf {
        self.folder.join(format!("{daemon}.{ending}"))
    }

    /// The command of these words, without input.
    fn command(&self, words: &[String], daemon: Option<&str>) -> Command {
        let mut words = words.iter().map(|word| self.fill(word, daemon));
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words).current_dir(&self.folder).stdin(Stdio::null());
        command
    }
}

/// The Debian package of a program. Most have its name.
fn package_of(program: &str) -> &str {
    if program == "wpa_supplicant" { "wpasupplicant" } else { program }
}

/// A daemon that runs.
pub(crate) struct Running {
    program: Program,
    log: PathBuf,
}

impl Running {
    /// Starts a daemon in its place, and waits until it is ready.
    pub(crate) fn start(
        daemon: &Daemon,
        place: &Namespace,
        placeholders: &Placeholders,
    ) -> Result<Self, LabError> {
        let name = Some(daemon.name.as_str());
        let config = placeholders.path_of(&daemon.name, "toml");
        fs::write(&config, placeholders.fill(&daemon.config, name))
            .doing(|| format!("write {}", config.display()))?;
        let log = placeholders.path_of(&daemon.name, "log");
        let output = File::options().create(true).append(true).open(&log);
        let output = output.doing(|| format!("make {}", log.display()))?;
        let mut command = placeholders.command(&daemon.command, name);
        command.stdout(output.try_clone().doing(|| format!("share {}", log.display()))?).stderr(output);
        let mut running =
            Self { program: Program::start(place, command, package_of(&daemon.command[0]))?, log };
        let deadline = Instant::now() + Duration::from_secs(daemon.within_seconds());
        let mut wait = Duration::ZERO;
        while !is_ready(daemon, place, placeholders, &running.log)? {
            if running.program.wait_until(Instant::now() + wait)?.is_some() {
                return Err(running.complain(daemon, "ended before it was ready"));
            }
            if Instant::now() >= deadline {
                let within_seconds = daemon.within_seconds();
                let detail = format!("did not become ready in {within_seconds} seconds");
                return Err(running.complain(daemon, &detail));
            }
            wait = INTERVAL;
        }
        Ok(running)
    }

    /// Runs the daemon's status command; `None` without one.
    pub(crate) fn status(
        &mut self,
        daemon: &Daemon,
        place: &Namespace,
        placeholders: &Placeholders,
    ) -> Result<Option<serde_json::Value>, LabError> {
        if let Some(status) = self.program.wait_until(Instant::now())? {
            return Err(self.complain(daemon, &format!("ended too early ({status})")));
        }
        if daemon.status.is_empty() {
            return Ok(None);
        }
        let said = run_command(&daemon.status, Some(&daemon.name), place, placeholders)?;
        let status = serde_json::from_str(&said).map_err(|error| LabError::Command {
            command: daemon.status.join(" "),
            detail: format!("its output is not JSON: {error}"),
        })?;
        Ok(Some(status))
    }

    /// Ends the daemon by SIGTERM, and kills it after a timeout.
    pub(crate) fn stop(mut self) {
        self.program.stop();
    }

    fn complain(&self, daemon: &Daemon, detail: &str) -> LabError {
        let log = String::from_utf8_lossy(&fs::read(&self.log).unwrap_or_default()).into_owned();
        LabError::Daemon {
            daemon: daemon.name.clone(),
            detail: detail.to_owned(),
            log: end_of_log(&log, 2000),
        }
    }
}

fn is_ready(
    daemon: &Daemon,
    place: &Namespace,
    placeholders: &Placeholders,
    log: &Path,
) -> Result<bool, LabError> {
    let name = daemon.name.as_str();
    match &daemon.ready {
        Ready::AtOnce => Ok(true),
        Ready::Path(path) => Ok(Path::new(&placeholders.fill(path, Some(name))).exists()),
        Ready::Interface(interface) => place.enter(|| is_up(interface)),
        Ready::Listening(port) => place.enter(|| is_listening(*port)),
        Ready::Said { text, .. } => {
            let said = fs::read(log).unwrap_or_default();
            Ok(String::from_utf8_lossy(&said).contains(text))
        }
        Ready::Succeeds { command, .. } => match run_command(command, Some(name), place, placeholders) {
            Ok(_) => Ok(true),
            Err(LabError::Command { .. }) => Ok(false),
            Err(error) => Err(error),
        },
    }
}

/// Whether the calling thread's namespace has an interface of this name with IPv4 or IPv6 addresses. An
/// interface is listed there as soon as it is up and has one.
fn is_up(interface: &str) -> bool {
    let listed = |path: &str, column: usize| {
        let table = fs::read_to_string(path).unwrap_or_default();
        table.lines().any(|line| line.split_whitespace().nth(column) == Some(interface))
    };
    // Both tables show the namespace of the thread that reads them.
    listed("/proc/thread-self/net/route", 0) || listed("/proc/thread-self/net/if_inet6", 5)
}

/// Runs a command to its end and returns its standard output.
pub(crate) fn run_command(
    words: &[String],
    daemon: Option<&str>,
    place: &Namespace,
    placeholders: &Placeholders,
) -> Result<String, LabError> {
    let said = placeholders.folder.join("said");
    let complained = placeholders.folder.join("complained");
    let create = |path: &Path| File::create(path).doing(|| format!("make {}", path.display()));
    let read = |path: &Path| String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned();
    let mut command = placeholders.command(words, daemon);
    command.stdout(create(&said)?).stderr(create(&complained)?);
    let mut program = Program::start(place, command, &words[0])?;
    let status = program.wait_until(Instant::now() + COMMAND_PATIENCE)?;
    match status {
        Some(status) if status.success() => Ok(read(&said)),
        _ => {
            let how = status.map_or("it did not end in ten seconds".to_owned(), |status| status.to_string());
            Err(LabError::Command {
                command: words.join(" "),
                detail: format!("{how}; it said: {}", end_of_log(&read(&complained), 1000)),
            })
        }
    }
}
