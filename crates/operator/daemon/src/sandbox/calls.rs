//! Permitted system calls (seccomp).
//!
//! Each profile has a list, in addition to a common one. Any other call fails with EPERM, as without a right.
//! The log shows the failure, and the list can be corrected. The purpose of calls is noted at their group.

use super::Profile;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Length, SeccompCmpOp as Is, SeccompCondition as Condition,
    SeccompFilter, SeccompRule, TargetArch,
};
use std::collections::BTreeMap;

/// A call with its conditions; without conditions it is always permitted.
type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Flags of `clone` that create namespaces (linux/sched.h).
const NEW_NAMESPACES: u64 = 0x7e02_0000;
/// Requests that inject input into a terminal (asm-generic/ioctls.h).
const TERMINAL_INPUT: [u64; 2] = [0x5412, 0x541c];

/// Reason why the restriction is not active.
#[derive(Debug, thiserror::Error)]
pub enum NotHeld {
    /// The library has no filters for this processor, or the kernel has none.
    #[error("{0}")]
    Refused(String),
}

/// Restricts this thread and its children.
pub fn hold(profile: Profile) -> Result<(), NotHeld> {
    let refused = |why: &dyn std::fmt::Display| NotHeld::Refused(why.to_string());
    let processor = TargetArch::try_from(std::env::consts::ARCH).map_err(|why| refused(&why))?;
    // A filter cannot see behind clone3's pointer. If clone3 is absent, libraries use clone.
    let no_clone3 = Rules::from([(libc::SYS_clone3, Vec::new())]);
    let rules = rules(profile).map_err(|why| refused(&why))?;
    for (rules, otherwise, found) in [
        (no_clone3, SeccompAction::Allow, SeccompAction::Errno(libc::ENOSYS as u32)),
        (rules, SeccompAction::Errno(libc::EPERM as u32), SeccompAction::Allow),
    ] {
        let filter = SeccompFilter::new(rules, otherwise, found, processor).map_err(|why| refused(&why))?;
        let program: BpfProgram =
            filter.try_into().map_err(|why: seccompiler::BackendError| refused(&why))?;
        seccompiler::apply_filter(&program).map_err(|why| refused(&why))?;
    }
    Ok(())
}

fn rules(profile: Profile) -> Result<Rules, seccompiler::BackendError> {
    let of_the_profile = match profile {
        Profile::Tunnel => TUNNEL,
        Profile::Cache => CACHE,
    };
    let always = COMMON.iter().chain(OF_OLDER_PROCESSORS).chain(of_the_profile);
    let mut rules: Rules = always.map(|call| (*call, Vec::new())).collect();
    let is = |argument: u8, is: Is, value: u64| Condition::new(argument, Length::Dword, is, value);
    let mut families = vec![libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
    if profile == Profile::Tunnel {
        families.push(libc::AF_PACKET);
    }
    let family = |family: &i32| SeccompRule::new(vec![is(0, Is::Eq, *family as u64)?]);
    rules.insert(libc::SYS_socket, families.iter().map(family).collect::<Result<_, _>>()?);
    let no_namespace = SeccompRule::new(vec![is(0, Is::MaskedEq(NEW_NAMESPACES), 0)?])?;
    rules.insert(libc::SYS_clone, vec![no_namespace]);
    let no_words = TERMINAL_INPUT.iter().map(|request| is(1, Is::Ne, *request));
    rules.insert(libc::SYS_ioctl, vec![SeccompRule::new(no_words.collect::<Result<_, _>>()?)?]);
    Ok(rules)
}

/// Calls of both programs.
const COMMON: &[i64] = &[
    // Descriptors and files; Landlock decides which.
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_pread64,
    libc::SYS_preadv,
    libc::SYS_preadv2,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_pwrite64,
    libc::SYS_pwritev,
    libc::SYS_pwritev2,
    libc::SYS_lseek,
    libc::SYS_openat,
    libc::SYS_close,
    libc::SYS_close_range,
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_fcntl,
    libc::SYS_flock,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_fstatfs,
    libc::SYS_statfs,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_readlinkat,
    libc::SYS_getcwd,
    libc::SYS_getdents64,
    libc::SYS_mkdirat,
    libc::SYS_unlinkat,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_umask,
    libc::SYS_pipe2,
    libc::SYS_ppoll,
    libc::SYS_pselect6,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    libc::SYS_eventfd2,
    libc::SYS_timerfd_create,
    libc::SYS_timerfd_settime,
    // Sockets.
    libc::SYS_socketpair,
    libc::SYS_bind,
    libc::SYS_connect,
    libc::SYS_listen,
    libc::SYS_accept4,
    libc::SYS_shutdown,
    libc::SYS_getsockname,
    libc::SYS_getpeername,
    libc::SYS_getsockopt,
    libc::SYS_setsockopt,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_sendmmsg,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_recvmmsg,
    // Memory.
    libc::SYS_brk,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_mprotect,
    libc::SYS_madvise,
    libc::SYS_mincore,
    libc::SYS_mlock,
    libc::SYS_munlock,
    libc::SYS_membarrier,
    // Threads and time; clone3 counts as absent.
    libc::SYS_clone3,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_futex,
    libc::SYS_set_robust_list,
    libc::SYS_get_robust_list,
    libc::SYS_set_tid_address,
    libc::SYS_rseq,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_getscheduler,
    libc::SYS_sched_getparam,
    libc::SYS_getcpu,
    libc::SYS_nanosleep,
    libc::SYS_clock_nanosleep,
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_gettimeofday,
    libc::SYS_restart_syscall,
    // Signals of this process only.
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_rt_sigsuspend,
    libc::SYS_sigaltstack,
    libc::SYS_tgkill,
    libc::SYS_wait4,
    libc::SYS_waitid,
    // Identity and resource usage.
    libc::SYS_getpid,
    libc::SYS_getppid,
    libc::SYS_gettid,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_getrusage,
    libc::SYS_getrandom,
    libc::SYS_prlimit64,
    libc::SYS_sysinfo,
    libc::SYS_uname,
    libc::SYS_times,
    libc::SYS_prctl,
    // Capabilities can be reduced.
    libc::SYS_capget,
    libc::SYS_capset,
];

/// Further calls of a node, which restarts with everything that its start needs.
const TUNNEL: &[i64] = &[
    libc::SYS_execve,
    libc::SYS_mlockall,
    libc::SYS_munlockall,
    libc::SYS_seccomp,
    444, // landlock_create_ruleset
    445, // landlock_add_rule
    446, // landlock_restrict_self
    // It stores revoked keys.
    libc::SYS_fsync,
    libc::SYS_renameat2,
];

/// Further calls of a web cache, for its store.
const CACHE: &[i64] = &[
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_ftruncate,
    libc::SYS_fallocate,
    libc::SYS_fadvise64,
    libc::SYS_copy_file_range,
    libc::SYS_sendfile,
    libc::SYS_renameat2,
    libc::SYS_linkat,
    libc::SYS_utimensat,
];

/// Forms of these calls that newer processors do not have.
#[cfg(target_arch = "x86_64")]
const OF_OLDER_PROCESSORS: &[i64] = &[
    libc::SYS_open,
    libc::SYS_stat,
    libc::SYS_lstat,
    libc::SYS_access,
    libc::SYS_readlink,
    libc::SYS_getdents,
    libc::SYS_mkdir,
    libc::SYS_rmdir,
    libc::SYS_unlink,
    libc::SYS_rename,
    libc::SYS_renameat,
    libc::SYS_chmod,
    libc::SYS_dup2,
    libc::SYS_pipe,
    libc::SYS_poll,
    libc::SYS_select,
    libc::SYS_epoll_create,
    libc::SYS_epoll_wait,
    libc::SYS_eventfd,
    libc::SYS_accept,
    libc::SYS_time,
    libc::SYS_getrlimit,
    libc::SYS_setrlimit,
    libc::SYS_getpgrp,
    libc::SYS_arch_prctl,
];
#[cfg(target_arch = "aarch64")]
const OF_OLDER_PROCESSORS: &[i64] = &[libc::SYS_accept, 38]; // renameat
#[cfg(target_arch = "riscv64")]
const OF_OLDER_PROCESSORS: &[i64] = &[libc::SYS_accept, 258, 259]; // riscv_hwprobe, riscv_flush_icache
