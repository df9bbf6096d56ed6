//! A browsing client: pages in sequence, each by one run of curl.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde::Deserialize;

use crate::error::{Doing, LabError};
use crate::namespace::Namespace;
use crate::outcome::{Ending, FetchOutcome};
use crate::program::Program;
use crate::scenario::{Client, HTTP_PORT, Page};

/// Seconds without an octet after which curl gives up.
const STALL_SECONDS: &str = "60";
/// curl's exit code for that.
const TIMED_OUT: u32 = 28;

/// A client about to browse.
pub(crate) struct Browsing<'a> {
    pub(crate) client: &'a Client,
    /// What servers send.
    pub(crate) contents: &'a Path,
    /// Folder for downloads; created, and emptied after each page.
    pub(crate) folder: PathBuf,
}

/// curl's report on each content.
#[derive(Deserialize)]
struct Written {
    #[serde(default)]
    response_code: u32,
    #[serde(default)]
    exitcode: u32,
    #[serde(default)]
    time_total: f64,
    #[serde(default)]
    time_starttransfer: f64,
}

impl Browsing<'_> {
    /// Reads pages until the last one or `deadline`. A content in transfer then counts as out of time.
    pub(crate) fn run(
        &self,
        place: &Namespace,
        ready: Instant,
        deadline: Instant,
    ) -> Result<Vec<FetchOutcome>, LabError> {
        fs::create_dir_all(&self.folder).doing(|| format!("make {}", self.folder.display()))?;
        let mut fetches = Vec::new();
        for page in &self.client.pages {
            let start = Instant::now() + Duration::from_secs_f64(page.think_seconds);
            std::thread::sleep(start.min(deadline).saturating_duration_since(Instant::now()));
            if start >= deadline {
                break;
            }
            self.read(page, place, ready, deadline, &mut fetches)?;
        }
        let _ = fs::remove_dir_all(&self.folder);
        Ok(fetches)
    }

    fn read(
        &self,
        page: &Page,
        place: &Namespace,
        ready: Instant,
        deadline: Instant,
        fetches: &mut Vec<FetchOutcome>,
    ) -> Result<(), LabError> {
        let mut command = Command::new("curl");
        // As in `download`; one connection for each content, like the wget of the paper's clients.
        command.args(["--disable", "--silent", "--noproxy", "*", "--header", "Connection: close"]);
        command.args([
            "--connect-timeout",
            STALL_SECONDS,
            "--speed-limit",
            "1",
            "--speed-time",
            STALL_SECONDS,
        ]);
        command.args(["--write-out", "%{json}\n"]);
        let copy = |number: usize| self.folder.join(number.to_string());
        for (number, content) in page.contents.iter().enumerate() {
            command.arg("--output").arg(copy(number));
            let server = SocketAddr::new(self.client.from, HTTP_PORT);
            command.arg(format!("http://{server}/{content}"));
        }
        let said = self.folder.join("said");
        let output = File::create(&said).doing(|| format!("make {}", said.display()))?;
        command.stdin(Stdio::null()).stdout(output).stderr(Stdio::null());

        let started = Instant::now();
        let mut program = Program::start(place, command, "curl")?;
        program.wait_until(deadline)?;
        let ended = Instant::now();
        drop(program);

        let said = fs::read_to_string(&said).doing(|| format!("read {}", said.display()))?;
        let mut lines = said.lines();
        let mut at = started;
        for (number, content) in page.contents.iter().enumerate() {
            let copied = fs::read(copy(number)).unwrap_or_default();
            let written: Option<Written> = lines.next().and_then(|line| serde_json::from_str(line).ok());
            let original = self.contents.join(content);
            let original = fs::read(&original).doing(|| format!("read {}", original.display()))?;
            let intact = copied == original;
            let ending = match &written {
                None => Ending::OutOfTime,
                Some(written) if written.exitcode == TIMED_OUT => Ending::Stalled,
                Some(written) if written.exitcode == 0 && written.response_code == 200 && intact => {
                    Ending::Complete
                }
                Some(_) => Ending::Failed,
            };
            let seconds = written.as_ref().map_or((ended - at).as_secs_f64(), |written| written.time_total);
            fetches.push(FetchOutcome {
                content: content.clone(),
                ending,
                bytes: copied.len() as u64,
                intact,
                started_seconds: at.duration_since(ready).as_secs_f64(),
                seconds,
                first_byte_seconds: written.as_ref().map_or(0.0, |written| written.time_starttransfer),
            });
            let _ = fs::remove_file(copy(number));
            if written.is_none() {
                // The rest was never requested.
                break;
            }
            at += Duration::from_secs_f64(seconds.max(0.0));
        }
        Ok(())
    }
}
