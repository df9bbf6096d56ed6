//! What a program can no longer do once it reads from the network, whoever has got hold of it by then.
//!
//! Three things hold it, each of which only becomes tighter: [`rights`] (capabilities), [`files`] (Landlock)
//! and [`calls`] (seccomp), by the [`Profile`] of what it is. All are in force before the first byte from the
//! network is parsed, on the thread that begins all others. What a kernel does not have is told in the log
//! and left out.
//!
//! A node begins anew in the same process when its configuration changes, and stays held: a node's profile is
//! for what it does from start to end, its start included.

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod calls;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[path = "sandbox/no_calls.rs"]
mod calls;
mod files;
pub mod rights;

pub use files::Files;

use std::fs::File;

/// What is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// A node. It may become its own program again, and nothing else.
    Tunnel,
    /// A web cache. It may become no program.
    Cache,
}

/// Holds this thread, and all that it begins from now on, to what `profile` does with `files`.
pub fn enter(profile: Profile, files: &Files) {
    // who began anew is held already, and the kernel bounds how often one can be held again
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

/// Whether this process is held already: the root folder cannot be listed, which everybody else may.
fn is_entered() -> bool {
    File::open("/").is_err()
}

#[cfg(test)]
mod tests;
