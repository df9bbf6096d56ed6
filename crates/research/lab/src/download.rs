//! One transfer by curl, and its result.

use std::fs::File;
use std::io::{BufReader, Read};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use serde::Deserialize;

use crate::error::{Doing, LabError};
use crate::namespace::Namespace;
use crate::outcome::{DownloadOutcome, Ending};
use crate::program::Program;
use crate::scenario::Download;

/// curl's exit code for a transfer slower than `--speed-limit` or a connection later than
/// `--connect-timeout`.
const TIMED_OUT: i32 = 28;

/// A download about to be made.
pub(crate) struct Transfer<'a> {
    pub(crate) download: &'a Download,
    pub(crate) place: &'a Namespace,
    /// The server's file.
    pub(crate) original: PathBuf,
    /// The downloaded copy; deleted afterwards.
    pub(crate) copy: PathBuf,
}

/// The used part of `curl --write-out '%{json}'`.
#[derive(Deserialize)]
struct Written {
    #[serde(default)]
    response_code: u32,
    #[serde(default)]
    time_total: f64,
    #[serde(default)]
    time_starttransfer: f64,
    #[serde(default)]
    errormsg: Option<String>,
}

impl Transfer<'_> {
    /// Fetches until complete, stalled or `deadline`.
    pub(crate) fn run(&self, ready: Instant, deadline: Instant) -> Result<DownloadOutcome, LabError> {
        let mut command = Command::new("curl");
        let stall = self.download.stall_seconds.to_string();
        // --disable comes first, so that no configuration file of the user's is read.
        command.args(["--disable", "--silent", "--noproxy", "*", "--no-keepalive"]);
        command.args(["--connect-timeout", &stall, "--speed-limit", "1", "--speed-time", &stall]);
        command.args(["--write-out", "%{json}", "--output"]).arg(&self.copy).arg(self.url());
        let said = self.copy.with_extension("json");
        let output = File::create(&said).doing(|| format!("make {}", said.display()))?;
        command.stdin(Stdio::null()).stdout(output).stderr(Stdio::null());

        let started = Instant::now();
        let mut program = Program::start(self.place, command, "curl")?;
        let status = program.wait_until(deadline)?;
        let ran_seconds = started.elapsed().as_secs_f64();
        drop(program);

        let written = std::fs::read(&said).doing(|| format!("read {}", said.display()))?;
        let written: Option<Written> = serde_json::from_slice(&written).ok();
        let comparison = compare(&self.copy, &self.original)?;
        for path in [&said, &self.copy] {
            let _ = std::fs::remove_file(path);
        }
        let found = written.as_ref().is_some_and(|written| written.response_code == 200);
        let whole = comparison.copy_bytes == comparison.original_bytes;
        let ending = match status.map(|status| status.code()) {
            None => Ending::OutOfTime,
            Some(Some(0)) if found && whole => Ending::Complete,
            Some(Some(TIMED_OUT)) => Ending::Stalled,
            Some(_) => Ending::Failed,
        };
        let complaint = match &written {
            _ if ending == Ending::Complete => String::new(),
            Some(Written { errormsg: Some(message), .. }) => message.clone(),
            Some(written) => format!("HTTP status {}", written.response_code),
            None => "curl was ended".to_owned(),
        };
        Ok(DownloadOutcome {
            ending,
            bytes: comparison.copy_bytes,
            whole_bytes: comparison.original_bytes,
            intact: comparison.equal,
            seconds: written.as_ref().map_or(ran_seconds, |written| written.time_total),
            first_byte_seconds: written.as_ref().map_or(0.0, |written| written.time_starttransfer),
            started_seconds: started.duration_since(ready).as_secs_f64(),
            complaint,
        })
    }

    fn url(&self) -> String {
        let host = match self.download.from {
            IpAddr::V4(address) => address.to_string(),
            IpAddr::V6(address) => format!("[{address}]"),
        };
        format!("http://{host}:{}/{}", self.download.port, self.download.content)
    }
}

/// Comparison of a copy, possibly partial, with its original.
struct Comparison {
    copy_bytes: u64,
    original_bytes: u64,
    /// Whether the copy is a prefix of the original.
    equal: bool,
}

/// A copy that does not exist is an empty one.
fn compare(copy: &Path, original: &Path) -> Result<Comparison, LabError> {
    let length = |path: &Path| path.metadata().map_or(0, |metadata| metadata.len());
    let (copy_bytes, original_bytes) = (length(copy), length(original));
    let equal = match copy_bytes {
        0 => true,
        _ => {
            let open = |path: &Path| File::open(path).doing(|| format!("open {}", path.display()));
            same_beginning(open(copy)?, open(original)?).doing(|| "compare a download".to_owned())?
        }
    };
    Ok(Comparison { copy_bytes, original_bytes, equal })
}

/// Whether `copy` is a prefix of `original`.
fn same_beginning(copy: impl Read, original: impl Read) -> std::io::Result<bool> {
    let (mut copy, mut original) = (BufReader::new(copy), original);
    let (mut ours, mut theirs) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        let length = copy.read(&mut ours)?;
        if length == 0 {
            return Ok(true);
        }
        match original.read_exact(&mut theirs[..length]) {
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(false),
            other => other?,
        }
        if ours[..length] != theirs[..length] {
            return Ok(false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beginning_equals_and_anything_else_does_not() {
        let original = b"what was sent".as_slice();
        for (copy, equal) in [
            ("", true),
            ("what", true),
            ("what was sent", true),
            ("whet", false),
            ("what was sent twice", false),
        ] {
            assert_eq!(same_beginning(copy.as_bytes(), original).unwrap(), equal, "{copy}");
        }
    }
}
