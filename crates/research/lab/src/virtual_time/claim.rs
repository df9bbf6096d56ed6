//! Claims on processors: a virtual-time kernel stays on one, and two on the same wait for each other.
//!
//! A claim is a lock on a file in the temporary folder, which every process of this user sees. The kernel
//! releases it at the end of the process.

use std::path::Path;

use rustix::fd::OwnedFd;
use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::process::geteuid;
use rustix::thread::{CpuSet, sched_getaffinity};

use crate::error::{Doing, LabError};

/// A processor for one kernel, until dropped.
#[derive(Debug)]
pub(crate) struct Claim {
    processor: usize,
    _lock: Option<OwnedFd>,
}

impl Claim {
    /// Claims one of these processors that no other claim has. Where all are claimed, it shares the one of
    /// this number.
    pub(crate) fn any(processors: &[usize], number: usize) -> Self {
        Self::in_folder(&std::env::temp_dir(), processors, number)
    }

    fn in_folder(folder: &Path, processors: &[usize], number: usize) -> Self {
        let free = processors.iter().find_map(|&processor| Some((processor, lock(folder, processor)?)));
        match free {
            Some((processor, lock)) => Self { processor, _lock: Some(lock) },
            None => Self { processor: processors[number % processors.len()], _lock: None },
        }
    }

    /// The processor.
    pub(crate) fn processor(&self) -> usize {
        self.processor
    }
}

/// The lock of a processor, if nobody has it.
fn lock(folder: &Path, processor: usize) -> Option<OwnedFd> {
    let path = folder.join(format!("overheard-processor-{}-{processor}", geteuid().as_raw()));
    let flags = OFlags::CREATE | OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let file = open(path, flags, Mode::RUSR | Mode::WUSR).ok()?;
    flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
    Some(file)
}

/// The processors that this thread may use; at least one.
pub(crate) fn processors() -> Result<Vec<usize>, LabError> {
    let set = sched_getaffinity(None).doing(|| "learn which processors there are".to_owned())?;
    Ok((0..CpuSet::MAX_CPU).filter(|processor| set.is_set(*processor)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_take_different_processors_while_there_are_some_and_give_them_back() {
        let folder = tempfile::tempdir().unwrap();
        let claim = |number| Claim::in_folder(folder.path(), &[3, 5], number);
        let (one, other) = (claim(0), claim(0));
        assert_eq!((one.processor(), other.processor()), (3, 5));
        assert_eq!((claim(0).processor(), claim(1).processor(), claim(2).processor()), (3, 5, 3), "shared");
        drop(one);
        assert_eq!(claim(1).processor(), 3);
    }
}
