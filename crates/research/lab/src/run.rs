//! A run: one process's claim on names of namespaces, and the cleanup after dead runs.
//!
//! Every namespace is named `oh<process>x<n>-<place>`. A live run holds a lock on its own file, which
//! contains its folder's path. At any end of the process the kernel releases the lock. A later run finds
//! namespaces and files without a lock, ends their processes, and deletes them.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::error::{Doing, LabError};
use crate::namespace;

/// Folder of the locks of live runs.
const LOCKS: &str = "/run/overheard-lab";

/// A claim on a prefix of namespace names, and a folder for the run's files; held until dropped.
pub struct Run {
    prefix: String,
    folder: TempDir,
    lock_path: PathBuf,
    _lock: File,
}

impl Run {
    /// Claims an unused prefix, and removes the leftovers of dead runs.
    ///
    /// # Errors
    ///
    /// [`LabError::NeedsRoot`] without root; [`LabError::System`] if the files cannot be written.
    pub fn begin() -> Result<Self, LabError> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        if !rustix::process::geteuid().is_root() {
            return Err(LabError::NeedsRoot);
        }
        fs::create_dir_all(LOCKS).doing(|| format!("make {LOCKS}"))?;
        sweep();
        let prefix = format!("oh{}x{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let lock_path = lock_path(&prefix);
        let mut lock = File::create(&lock_path).doing(|| format!("make {}", lock_path.display()))?;
        let doing = || format!("lock {}", lock_path.display());
        flock(&lock, FlockOperation::NonBlockingLockExclusive).doing(doing)?;
        let folder = tempfile::Builder::new().prefix("overheard-lab-").tempdir();
        let folder = folder.doing(|| "make a folder for the run".to_owned())?;
        // Written after locking: an empty lock file is not locked yet, and is skipped.
        lock.write_all(folder.path().as_os_str().as_encoded_bytes()).doing(doing)?;
        Ok(Self { prefix, folder, lock_path, _lock: lock })
    }

    /// The run's folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The name of this run's namespace for a place.
    pub fn namespace_name(&self, place: &str) -> String {
        format!("{}-{place}", self.prefix)
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        // Namespaces borrow their run and are already dropped; a remaining lock file is harmless.
        let _ = fs::remove_file(&self.lock_path);
    }
}

fn lock_path(prefix: &str) -> PathBuf {
    Path::new(LOCKS).join(format!("{prefix}.lock"))
}

/// The run's prefix in the name of a namespace, if the name is one of ours.
fn prefix_of(namespace: &str) -> Option<&str> {
    let (prefix, _place) = namespace.split_once('-')?;
    let (process, count) = prefix.strip_prefix("oh")?.split_once('x')?;
    let numeric = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (numeric(process) && numeric(count)).then_some(prefix)
}

/// Deletes leftovers of dead runs. Failures are ignored, because the next run tries again.
fn sweep() {
    let names = |folder: &str| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect::<Vec<String>>()
    };
    let (namespaces, locks) = (names(namespace::FOLDER), names(LOCKS));
    let prefixes: BTreeSet<&str> = (namespaces.iter().filter_map(|name| prefix_of(name)))
        .chain(locks.iter().filter_map(|name| name.strip_suffix(".lock")))
        .collect();
    for prefix in prefixes {
        let path = lock_path(prefix);
        // Opened, not created: a missing lock file means no owner.
        let lock = File::open(&path);
        if let Ok(lock) = &lock {
            let folder = fs::read_to_string(&path).unwrap_or_default();
            if folder.is_empty() || flock(lock, FlockOperation::NonBlockingLockExclusive).is_err() {
                continue;
            }
            let _ = fs::remove_dir_all(folder);
        }
        for name in namespaces.iter().filter(|name| prefix_of(name) == Some(prefix)) {
            tracing::info!(namespace = name, "sweeping up after a run that died");
            for process in namespace::processes_in(name) {
                if let Some(pid) = Pid::from_raw(process) {
                    let _ = kill_process(pid, Signal::KILL);
                }
            }
            let _ = namespace::delete(name);
        }
        let _ = fs::remove_file(&path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_a_run_gives_are_recognised() {
        assert_eq!(prefix_of("oh12x0-gateway"), Some("oh12x0"));
        assert_eq!(prefix_of("oh12x3-a-b"), Some("oh12x3"));
        for foreign in
            ["ohm-gateway", "oh12-gateway", "ohx1-gateway", "oh12x-gateway", "oh12x0", "office-1x2"]
        {
            assert_eq!(prefix_of(foreign), None, "{foreign}");
        }
    }
}
