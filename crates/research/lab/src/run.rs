//! A run: one process's claim on the names of namespaces, and the sweeping up after runs that died.
//!
//! Every namespace is named `oh<process>x<n>-<place>`. A live run holds a lock on a file of its own, in which
//! it has written where its folder is; when the process dies, however it dies, the kernel lets go of the
//! lock. Whoever begins a run later finds namespaces and files whose lock is free, ends what still runs in
//! them, and deletes them.

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

/// Where the locks of live runs are.
const LOCKS: &str = "/run/overheard-lab";

/// A claim on a prefix of namespace names, and a folder for everything that the run writes; held until
/// dropped.
pub struct Run {
    prefix: String,
    folder: TempDir,
    lock_path: PathBuf,
    _lock: File,
}

impl Run {
    /// Claims a prefix that no other run has, and sweeps up what dead runs left.
    ///
    /// # Errors
    ///
    /// [`LabError::NeedsRoot`] for anyone but root; [`LabError::System`] when the files cannot be written.
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
        // Written only now: an empty lock file is one that is not locked yet, and is let alone.
        lock.write_all(folder.path().as_os_str().as_encoded_bytes()).doing(doing)?;
        Ok(Self { prefix, folder, lock_path, _lock: lock })
    }

    /// Where the run may write.
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

/// Deletes what runs that are no more have left. Failing is not an error: the next run will try again.
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
        // Opened, not created: a lock file that does not exist belongs to nobody.
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
