//! Restrictions of a program, in force before it reads from the network, in case it is compromised later.
//!
//! Three mechanisms restrict it, and none can be relaxed: [`rights`] (capabilities), [`files`] (Landlock) and
//! [`calls`] (seccomp), by its [`Profile`]. All are active before the first byte from the network is parsed,
//! on the thread that starts all others. A mechanism that the kernel lacks is logged and skipped.
//!
//! A node restarts in the same process when its configuration changes, and stays restricted. Its profile thus
//! covers its whole run, with its start.

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
mod calls;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
#[path = "sandbox/no_calls.rs"]
mod calls;
mod files;
pub mod rights;

pub use files::Files;

use std::fs::File;

/// The restricted program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// A node. It may execute its own program again, and no other.
    Tunnel,
    /// A web cache. It may execute no program.
    Cache,
}

/// Restricts this thread and its children to the actions of `profile` with `files`.
pub fn enter(profile: Profile, files: &Files) {
    // A restarted process is already restricted, and the kernel bounds the number of restrictions.
    if is_entered() {
        return;
    }
    match files::hold(profile, files) {
        Ok(None) => {}
        Ok(Some(missing)) => tracing::info!("files are not all out of reach: {missing}"),
        Err(why) => tracing::warn!("files are not out of reach: {why}"),
    }
    if let Err(why) = calls::hold(profile) {
        tracing::warn!("system calls are not out of reach: {why}");
    }
}

/// Whether this process is already restricted: the root folder cannot be listed, which others may.
fn is_entered() -> bool {
    File::open("/").is_err()
}

#[cfg(test)]
mod tests;
