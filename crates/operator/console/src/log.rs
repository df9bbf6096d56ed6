//! The log on standard error: text lines, or one JSON object a line.

use std::io::IsTerminal;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

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
    let asked = std::env::var("OVERHEARD_LOG").ok().and_then(|asked| asked.parse().ok());
    let chosen: Targets = asked.unwrap_or_else(|| USUAL.parse().unwrap_or_default());
    let stderr = std::io::stderr;
    // A failed write to a closed log must not end the program.
    let log =
        tracing_subscriber::fmt::layer().with_target(false).with_writer(stderr).log_internal_errors(false);
    let filtered = tracing_subscriber::registry().with(chosen);
    match format {
        Format::Text => filtered.with(log.with_ansi(stderr().is_terminal())).init(),
        Format::Json => filtered.with(log.json().flatten_event(true)).init(),
    }
}
