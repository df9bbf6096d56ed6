//! What a service manager is told (sd_notify), and what it asks for. Where there is none, nobody is told.

use sd_notify::NotifyState;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Everything has been set up.
pub fn is_ready() {
    tell(&[NotifyState::Ready]);
}

/// The node has answered. Told only where the manager wants to know, which then starts a node anew that has
/// not for long.
pub fn is_alive() {
    if sd_notify::watchdog_enabled().is_some() {
        tell(&[NotifyState::Watchdog]);
    }
}

/// Everything is being taken out.
pub fn stops() {
    tell(&[NotifyState::Stopping]);
}

/// Becomes this program anew, as it is now on disk, with the same arguments and process id: what a changed
/// configuration takes, or an upgrade. Returns only what went wrong.
pub fn begin_anew() -> std::io::Error {
    if let Ok(now) = NotifyState::monotonic_usec_now() {
        tell(&[NotifyState::Reloading, now]);
    }
    let mut arguments = std::env::args_os();
    let program = arguments.next().unwrap_or_default();
    Command::new(program).args(arguments).exec()
}

fn tell(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::debug!("the service manager is not told: {error}");
    }
}
