//! A run: one process's claim on the names of namespaces, and the sweeping up after runs that died.
//!
//! Every namespace is named `oh<process>x<n>-<place>`. A live run holds a lock on a file of its own; when the
//! process dies, however it dies, the kernel lets go of the lock. Whoever begins a run later finds namespaces
//! whose lock is free, ends what still runs in them, and deletes them.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, Signal, kill_process};

use crate::error::{Doing, LabError};
use crate::namespace;

/// Where the locks of live runs are.
const LOCKS: &str = "/run/overheard-lab";

/// A claim on a prefix of namespace names, held until dropped.
pub struct Run {
    prefix: String,
    lock_path: PathBuf,
    _lock: File,
}

impl Run {
    /// Claims a prefix that no other run has, and sweeps up what dead runs left.
    ///
    /// # Errors
    ///
    /// [`LabError::NeedsRoot`] for anyone but root; [`LabError::System`] when the locks cannot be written.
    pub fn begin() -> Result<Self, LabError> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        if !rustix::process::geteuid().is_root() {
            return Err(LabError::NeedsRoot);
        }
        fs::create_dir_all(LOCKS).doing(|| format!("make {LOCKS}"))?;
        sweep();
        let prefix = format!("oh{}x{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let lock_path = lock_path(&prefix);
        let lock = File::create(&lock_path).doing(|| format!("make {}", lock_path.display()))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)
            .doing(|| format!("lock {}", lock_path.display()))?;
        Ok(Self { prefix, lock_path, _lock: lock })
    }

    /// The name of this run's namespace for a place.
    pub fn namespace_name(&self, place: &str) -> String {
        format!("{}-{place}", self.prefix)
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        // Namespaces borrow their run and are gone by now; a lock file that stays behind is harmless.
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

/// Deletes the namespaces of runs that are no more, with the processes in them. Failing is not an error: the next
/// run will try again.
fn sweep() {
    let Ok(entries) = fs::read_dir(namespace::FOLDER) else { return };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    for name in names {
        let Some(prefix) = prefix_of(&name) else { continue };
        let path = lock_path(prefix);
        // Opened, not created: a lock file that does not exist belongs to nobody.
        let lock = File::open(&path);
        if let Ok(lock) = &lock
            && flock(lock, FlockOperation::NonBlockingLockExclusive).is_err()
        {
            continue;
        }
        tracing::info!(namespace = name, "sweeping up after a run that died");
        for process in namespace::processes_in(&name) {
            if let Some(pid) = Pid::from_raw(process) {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
        let _ = namespace::delete(&name);
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
        for foreign in ["ohm-gateway", "oh12-gateway", "ohx1-gateway", "oh12x-gateway", "oh12x0", "office-1x2"] {
            assert_eq!(prefix_of(foreign), None, "{foreign}");
        }
    }
}
