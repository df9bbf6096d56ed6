//! The configuration of a source of routes, for all programs.

use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The longest interval; older routes no longer describe the mesh.
const MOST_REFRESH_SECONDS: u32 = 600;

/// Where routes are learnt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// A file.
    Static,
    /// The kernel's routes.
    Kernel,
    /// babeld.
    Babeld,
    /// OLSRv2's daemon, olsrd2.
    Olsrv2,
}

/// A source that can be asked.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Which source.
    pub source: Source,
    /// The file of a static source; empty for others.
    pub file: PathBuf,
    /// The socket of a daemon; empty for others.
    pub socket: String,
    /// How often the source is asked.
    pub refresh: Duration,
}

impl Settings {
    /// Checks the section `[routing]`. Paths are relative to the configuration's `folder`. An error is the
    /// key, and a sentence with a remedy.
    pub fn new(
        source: Source,
        file: Option<&Path>,
        folder: &Path,
        socket: Option<&str>,
        refresh_seconds: u32,
    ) -> Result<Self, (&'static str, String)> {
        let is_static = source == Source::Static;
        let is_daemon = matches!(source, Source::Babeld | Source::Olsrv2);
        if is_static != file.is_some() {
            return Err(("[routing] file", "goes with source = \"static\", and only with it".to_owned()));
        }
        if !(1..=MOST_REFRESH_SECONDS).contains(&refresh_seconds) {
            let what = format!(
                "{refresh_seconds} is no time to go by the same routes; give 1 to {MOST_REFRESH_SECONDS}"
            );
            return Err(("[routing] refresh_seconds", what));
        }
        if is_daemon != socket.is_some() {
            let what = "goes with source = \"babeld\" or \"olsrv2\", and only with them";
            return Err(("[routing] socket", what.to_owned()));
        }
        let is_port = socket.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0));
        if source == Source::Olsrv2 && !is_port {
            return Err(("[routing] socket", "is the port of olsrd2's telnet, as \"2009\"".to_owned()));
        }
        // If it is no port, it is a file.
        let socket = match socket {
            Some(named) if source == Source::Babeld && !is_port => {
                folder.join(named).to_string_lossy().into_owned()
            }
            named => named.unwrap_or_default().to_owned(),
        };
        Ok(Settings {
            source,
            file: file.map(|named| folder.join(named)).unwrap_or_default(),
            socket,
            refresh: Duration::from_secs(refresh_seconds.into()),
        })
    }
}
