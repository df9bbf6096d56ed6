//! The log on standard error: text lines, or one JSON object a line.

use std::io::IsTerminal;
use tracing_subscriber::EnvFilter;

/// Format of log lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Text for people.
    #[default]
    Text,
    /// One JSON object a line: `timestamp`, `level`, `message`, and further fields.
    Json,
}

/// Starts the log. `OVERHEARD_LOG` selects the level, as in `OVERHEARD_LOG=debug`.
pub fn start(format: Format) {
    // nl80211's attributes without a name are irrelevant to the user.
    const USUAL: &str = "info,wl_nl80211=error,netlink_packet_route=error";
    let chosen = EnvFilter::try_from_env("OVERHEARD_LOG").unwrap_or_else(|_| EnvFilter::new(USUAL));
    let stderr = std::io::stderr;
    let log = tracing_subscriber::fmt().with_env_filter(chosen).with_target(false).with_writer(stderr);
    // A failed write to a closed log must not end the program.
    let log = log.log_internal_errors(false);
    match format {
        Format::Text => log.with_ansi(stderr().is_terminal()).init(),
        Format::Json => log.json().flatten_event(true).init(),
    }
}
