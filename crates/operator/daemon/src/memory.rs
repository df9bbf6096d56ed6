//! Keeps this process's memory, with its keys and traffic, from disk and from other processes.

use rustix::mm::{MlockAllFlags, mlockall};
use rustix::process::{DumpableBehavior, Resource, Rlimit, getrlimit, set_dumpable_behavior, setrlimit};

/// Called before a key is read. It disables core dumps, access by processes of the same user (ptrace, /proc),
/// and swapping. A failure is logged, and the other protections apply.
pub fn protect() {
    if let Err(why) = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) }) {
        tracing::warn!("a core might be dumped with keys in it: {why}");
    }
    if let Err(why) = set_dumpable_behavior(DumpableBehavior::NotDumpable) {
        tracing::warn!("other processes of this user may read the memory: {why}");
    }
    if swaps() {
        keep_from_swap();
    }
}

/// Whether the machine has swap. Without it, as on most routers, locked memory would only take the program's
/// own pages from the system, which reclaims them when memory is short.
fn swaps() -> bool {
    let list = std::fs::read_to_string("/proc/swaps").unwrap_or_default();
    list.lines().count() > 1
}

/// Locks pages when they are touched. If the process may lock only some memory, nothing is locked, because
/// allocations beyond the limit would fail.
fn keep_from_swap() {
    let all = Rlimit { current: None, maximum: None };
    let may_lock_all =
        getrlimit(Resource::Memlock).current.is_none() || setrlimit(Resource::Memlock, all).is_ok();
    let locked = if may_lock_all {
        let flags = MlockAllFlags::CURRENT | MlockAllFlags::FUTURE | MlockAllFlags::ONFAULT;
        mlockall(flags).map_err(|why| why.to_string())
    } else {
        Err("the limit of locked memory is too low (LimitMEMLOCK=infinity, ulimit -l unlimited)".to_owned())
    };
    if let Err(why) = locked {
        tracing::info!("keys may be written to the swap device: {why}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::dumpable_behavior;

    #[test]
    fn no_core_is_dumped_and_nobody_looks_in() {
        protect();
        assert_eq!(dumpable_behavior().unwrap(), DumpableBehavior::NotDumpable);
        assert_eq!(getrlimit(Resource::Core).maximum, Some(0));
    }

    #[test]
    fn where_all_memory_may_be_locked_it_is() {
        keep_from_swap();
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let locked = status.lines().find_map(|line| line.strip_prefix("VmLck:")).unwrap();
        let is_limited = getrlimit(Resource::Memlock).current.is_some();
        assert_eq!(locked.trim().starts_with("0 "), is_limited, "{locked}");
    }
}
