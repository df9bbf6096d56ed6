//! The capabilities of this process, which only decrease.

use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities, set_no_new_privs};
use std::io;

/// Capabilities of a running node: for its device and routes, and at a reload for its sockets. The right to
/// root's files applies to a node that runs as root.
pub const OF_A_NODE: CapabilitySet = CapabilitySet::NET_ADMIN
    .union(CapabilitySet::NET_RAW)
    .union(CapabilitySet::NET_BIND_SERVICE)
    .union(CapabilitySet::DAC_OVERRIDE);
/// Capabilities of a web cache until its sockets are open.
pub const OF_A_CACHE_THAT_OPENS: CapabilitySet =
    CapabilitySet::NET_ADMIN.union(CapabilitySet::NET_BIND_SERVICE).union(CapabilitySet::DAC_OVERRIDE);
/// Capabilities of a web cache afterwards: root's files, if it runs as root.
pub const OF_A_CACHE: CapabilitySet = CapabilitySet::DAC_OVERRIDE;

/// Gives up all capabilities except `wanted`, for this thread, its children, and every executed program; none
/// can regain them.
///
/// # Errors
///
/// The system's error.
pub fn keep(wanted: CapabilitySet) -> io::Result<()> {
    set_no_new_privs(true)?;
    let had = capabilities(None)?;
    // The kernel removes capabilities from the ambient set that are no longer permitted and inheritable.
    set_capabilities(
        None,
        CapabilitySets {
            effective: had.effective & wanted,
            permitted: had.permitted & wanted,
            inheritable: had.inheritable & wanted,
        },
    )?;
    Ok(())
}

/// The result of `doing` with only `wanted`, which is restored afterwards; `false` if that cannot be tried.
pub fn with(wanted: CapabilitySet, doing: impl FnOnce() -> bool) -> bool {
    let Ok(had) = capabilities(None) else { return false };
    if set_capabilities(None, CapabilitySets { effective: had.effective & wanted, ..had }).is_err() {
        return false;
    }
    let done = doing();
    set_capabilities(None, had).is_ok() && done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_up_does_not_come_back() {
        // Capabilities belong to a thread, so this test does not affect others.
        let tried = || {
            keep(OF_A_CACHE).unwrap();
            let left = capabilities(None).unwrap();
            assert!(OF_A_CACHE.contains(left.permitted | left.effective | left.inheritable));
            let more = CapabilitySets { permitted: OF_A_NODE, effective: OF_A_NODE, ..left };
            assert!(set_capabilities(None, more).is_err());
            let child = std::process::Command::new("cat").arg("/proc/self/status").output().unwrap();
            let status = String::from_utf8(child.stdout).unwrap();
            let of = |name: &str| {
                let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
                u64::from_str_radix(line.trim(), 16).unwrap()
            };
            assert_eq!(of("CapPrm:") & !OF_A_CACHE.bits(), 0, "{status}");
        };
        std::thread::spawn(tried).join().unwrap();
    }
}
