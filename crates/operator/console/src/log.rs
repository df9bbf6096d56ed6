//! The log, on standard error: lines for people, or one JSON object a line for programs.

use std::io::IsTerminal;
use tracing_subscriber::EnvFilter;

/// How lines are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line: `timestamp`, `level`, `message`, and what else is known.
    Json,
}

/// Starts it; `OVERHEARD_LOG` chooses what is told, as in `OVERHEARD_LOG=debug`.
pub fn start(format: Format) {
    // nl80211's attributes that this program has no name for are of no interest to its user
    const USUAL: &str = "info,wl_nl80211=error,netlink_packet_route=error";
    let chosen = EnvFilter::try_from_env("OVERHEARD_LOG").unwrap_or_else(|_| EnvFilter::new(USUAL));
    let stderr = std::io::stderr;
    let log = tracing_subscriber::fmt().with_env_filter(chosen).with_target(false).with_writer(stderr);
    // a line that cannot be written, since nobody reads the log any more, must not end what logs
    let log = log.log_internal_errors(false);
    match format {
        Format::Text => log.with_ansi(stderr().is_terminal()).init(),
        Format::Json => log.json().flatten_event(true).init(),
    }
}
