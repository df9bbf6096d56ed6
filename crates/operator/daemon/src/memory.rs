//! Keeps this process's memory, with its keys and traffic, from disk and from other processes, and small
//! where the machine has little.

use rustix::mm::{MlockAllFlags, mlockall};
use rustix::process::{DumpableBehavior, Resource, Rlimit, getrlimit, set_dumpable_behavior, setrlimit};
use rustix::thread::disable_transparent_huge_pages;
use std::path::Path;

/// A machine, or a group of processes, with less memory than this gets no large pages.
const PLENTY_BYTES: u64 = 512 << 20;

/// Forbids large pages where memory is scarce. A page of 2 MiB for a few bytes of a table makes tables
/// faster, and would be much of what a router has. A failure is logged.
pub fn spare() {
    let allowed = allowed();
    if allowed < PLENTY_BYTES
        && let Err(why) = disable_transparent_huge_pages(true)
    {
        tracing::debug!("tables may take large pages, with {allowed} bytes of memory: {why}");
    }
}

/// The bytes that this process may have: the memory of the machine, or of the process's groups if that is
/// less.
pub(crate) fn allowed() -> u64 {
    allowed_bytes(Path::new("/"))
}

/// The memory of the machine, or of this process's groups if that is less. `root` has `proc` and `sys`.
fn allowed_bytes(root: &Path) -> u64 {
    let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap_or_default();
    let kilobytes =
        |line: &str| line.strip_prefix("MemTotal:")?.trim().strip_suffix("kB")?.trim().parse::<u64>().ok();
    let machine = read("proc/meminfo").lines().find_map(kilobytes).map_or(u64::MAX, |count| count << 10);
    let groups = read("proc/self/cgroup");
    let limits = groups.lines().filter_map(|line| {
        // hierarchy:controllers:path, without controllers in the second version
        let mut parts = line.splitn(3, ':');
        let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?.trim_start_matches('/'));
        let file = match controllers {
            "" => format!("sys/fs/cgroup/{path}/memory.max"),
            _ if controllers.split(',').any(|name| name == "memory") => {
                format!("sys/fs/cgroup/memory/{path}/memory.limit_in_bytes")
            }
            _ => return None,
        };
        read(&file).trim().parse().ok()
    });
    limits.fold(machine, u64::min)
}

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
    fn the_least_of_machine_and_groups_is_allowed() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let file = root.path().join(path);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        };
        assert_eq!(allowed_bytes(root.path()), u64::MAX, "nothing is known");
        write("proc/meminfo", "MemTotal:         125000 kB\nMemFree:           1000 kB\n");
        assert_eq!(allowed_bytes(root.path()), 125_000 << 10);
        write("proc/self/cgroup", "9:name=systemd:/\n4:memory:/router\n0::/mesh/node\n");
        assert_eq!(allowed_bytes(root.path()), 125_000 << 10, "the groups have no limit");
        write("sys/fs/cgroup/memory/router/memory.limit_in_bytes", "9223372036854771712\n");
        write("sys/fs/cgroup/mesh/node/memory.max", "max\n");
        assert_eq!(allowed_bytes(root.path()), 125_000 << 10);
        write("sys/fs/cgroup/mesh/node/memory.max", "67108864\n");
        assert_eq!(allowed_bytes(root.path()), 64 << 20);
        write("sys/fs/cgroup/memory/router/memory.limit_in_bytes", "33554432\n");
        assert_eq!(allowed_bytes(root.path()), 32 << 20);
    }

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
