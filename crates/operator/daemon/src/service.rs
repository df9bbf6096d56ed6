//! What a service manager is told (sd_notify), and what it asks for. Where there is none, nobody is told.

use crate::keeper::Keeper;
use sd_notify::NotifyState;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
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

/// Becomes this program anew, with the same arguments and process id: what a changed configuration takes. The
/// program is the one that runs, also where another has taken its place on disk: a process that is held by a
/// sandbox can become no other. It has `keeper` then. Returns only what went wrong.
pub fn begin_anew(keeper: Option<&Keeper>) -> std::io::Error {
    if let Ok(now) = NotifyState::monotonic_usec_now() {
        tell(&[NotifyState::Reloading, now]);
    }
    let mut arguments = std::env::args_os();
    let name = arguments.next().unwrap_or_default();
    let mut command = Command::new(itself());
    command.arg0(name).args(arguments);
    let handed_on = match keeper {
        Some(keeper) => keeper.hand_on(&mut command),
        None => {
            Keeper::hand_on_none(&mut command);
            Ok(())
        }
    };
    handed_on.err().unwrap_or_else(|| command.exec())
}

/// The program that runs, by its name if it still has that.
pub fn itself() -> PathBuf {
    let named = std::env::current_exe().ok().filter(|program| program.exists());
    named.unwrap_or_else(|| PathBuf::from("/proc/self/exe"))
}

fn tell(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::debug!("the service manager is not told: {error}");
    }
}
