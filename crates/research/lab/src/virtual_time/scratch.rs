//! Folders shared between this machine and a guest kernel, and the cleanup after killed processes.
//!
//! As with [`crate::Run`], a live owner holds a lock, which the kernel releases at any end.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use tempfile::TempDir;

use crate::error::{Doing, LabError};

const PREFIX: &str = "overheard-virtual-";
/// The locked file in each folder.
const LOCK: &str = "alive";

/// A folder, removed when dropped.
#[derive(Debug)]
pub(crate) struct Scratch {
    folder: TempDir,
    _lock: File,
}

impl Scratch {
    /// Makes a folder.
    pub(crate) fn new() -> Result<Self, LabError> {
        let base = base();
        let doing = || format!("make a folder in {}", base.display());
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(&base).doing(doing)?;
        // Locked before it gets its name, so that it is never found unlocked.
        let fresh = folder.path().join("fresh");
        let lock = File::create(&fresh).doing(doing)?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive).doing(doing)?;
        fs::rename(&fresh, folder.path().join(LOCK)).doing(doing)?;
        Ok(Self { folder, _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Removes this user's folders without a live process. Failures are ignored, because the next cleanup tries
/// again.
pub(crate) fn sweep() {
    let user = rustix::process::geteuid().as_raw();
    for entry in fs::read_dir(base()).into_iter().flatten().flatten() {
        let ours = entry.metadata().is_ok_and(|folder| folder.is_dir() && folder.uid() == user);
        if !ours || !entry.file_name().to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        let dead = File::open(entry.path().join(LOCK))
            .is_ok_and(|lock| flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok());
        if dead {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// A base folder that both see, outside the guest's own mounts.
fn base() -> PathBuf {
    let usual = std::env::temp_dir();
    let hidden = ["/run", "/dev", "/proc", "/sys"].iter().any(|own| usual.starts_with(own));
    if hidden { PathBuf::from("/tmp") } else { usual }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_of_the_dead_is_removed_and_that_of_the_living_is_not() {
        let alive = Scratch::new().unwrap();
        let dead = Scratch::new().unwrap();
        // As after a kill: the folder stays, the lock is released.
        let Scratch { folder, _lock } = dead;
        let left = folder.keep();
        drop(_lock);
        sweep();
        assert!(alive.path().exists());
        assert!(!left.exists());
        let path = alive.path().to_owned();
        drop(alive);
        assert!(!path.exists());
    }
}
