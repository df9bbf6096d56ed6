//! Messages to a service manager (sd_notify), and its requests. Without one, nothing is sent.

use crate::keeper::Keeper;
use crate::last_addresses;
use node::PublicKey;
use sd_notify::NotifyState;
use std::ffi::OsStr;
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// The option of a wait for the first session. A restart does not repeat it: a reload must not end a node.
const WAIT: &str = "--wait";

/// Reports that everything is set up.
pub fn is_ready() {
    tell(&[NotifyState::Ready]);
}

/// Reports that the node has answered, if the manager wants it. The manager restarts a node that stays
/// silent.
pub fn is_alive() {
    if sd_notify::watchdog_enabled().is_some() {
        tell(&[NotifyState::Watchdog]);
    }
}

/// Reports that everything is being removed.
pub fn stops() {
    tell(&[NotifyState::Stopping]);
}

/// Reports that the configuration is read again; [`is_ready`] ends that.
pub fn reloads() {
    if let Ok(now) = NotifyState::monotonic_usec_now() {
        tell(&[NotifyState::Reloading, now]);
    }
}

/// Executes this program again with the same arguments and process id, after a change of its configuration.
/// It is the running program even if its file was replaced, because a sandboxed process can execute no other.
/// The new program inherits `keeper`, and the addresses of the peers that it begins handshakes with. Returns
/// only after a failure.
pub fn begin_anew(keeper: Option<&Keeper>, peers: &[(PublicKey, SocketAddr)]) -> std::io::Error {
    reloads();
    let mut arguments = std::env::args_os().filter(|argument| !is_wait(argument));
    let name = arguments.next().unwrap_or_default();
    let mut command = Command::new(itself());
    command.arg0(name).args(arguments);
    last_addresses::hand_on(peers, &mut command);
    let handed_on = match keeper {
        Some(keeper) => keeper.hand_on(&mut command),
        None => {
            Keeper::hand_on_none(&mut command);
            Ok(())
        }
    };
    handed_on.err().unwrap_or_else(|| command.exec())
}

fn is_wait(argument: &OsStr) -> bool {
    let argument = argument.as_encoded_bytes();
    argument.strip_prefix(WAIT.as_bytes()).is_some_and(|rest| rest.is_empty() || rest[0] == b'=')
}

/// The running program, by its name if that still exists.
pub fn itself() -> PathBuf {
    let named = std::env::current_exe().ok().filter(|program| program.exists());
    named.unwrap_or_else(|| PathBuf::from("/proc/self/exe"))
}

fn tell(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::debug!("the service manager is not told: {error}");
    }
}
