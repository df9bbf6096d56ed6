//! Reasons why nothing is boosted. Each text is one sentence with a remedy.

use crate::Wrapped;

/// Reason why nothing is boosted.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The program was built without the feature.
    #[error("this program was built without boost; build it with the feature `boost`")]
    NotBuilt,
    /// The kernel has no type information.
    #[error(
        "the kernel has no /sys/kernel/btf/vmlinux; boost takes one with CONFIG_DEBUG_INFO_BTF, as Debian's have"
    )]
    NoBtf,
    /// The kernel refused the programs.
    #[error(
        "the kernel does not take the programs: {0}; boost takes root, or CAP_BPF and CAP_PERFMON, and Linux 5.15 or newer with BPF"
    )]
    Refused(String),
    /// The congestion control in use cannot be wrapped.
    #[error("{0:?} is no congestion control that can be boosted; those are {all}", all = Wrapped::list())]
    NotWrapped(String),
}
