//! Permission to use a TCP congestion control inside namespaces.
//!
//! Outside the initial network namespace, even root may set only a default that
//! `tcp_allowed_congestion_control` lists. That list belongs to the machine, so missing entries are added
//! only during the setting.

use std::fs;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::{Doing, LabError};

const ALLOWED: &str = "/proc/sys/net/ipv4/tcp_allowed_congestion_control";
const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";
/// The parameter that chooses one.
pub(crate) const PARAMETER: &str = "net.ipv4.tcp_congestion_control";

/// Serializes changes in this process, because one could restore the list while another needs its entry.
static TAKEN: Mutex<()> = Mutex::new(());

/// Permits its congestion controls during its lifetime. Dropping it restores the list.
pub(crate) struct Leave {
    before: Option<String>,
    _taken: MutexGuard<'static, ()>,
}

impl Leave {
    /// Permits `wanted`; changes nothing if the list has them all.
    pub(crate) fn take<'a>(wanted: impl Iterator<Item = &'a str>) -> Result<Self, LabError> {
        let taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        // Absent where this process is in a namespace itself: then the kernel has to allow what it is asked
        // for.
        if !Path::new(ALLOWED).exists() {
            return Ok(Self { before: None, _taken: taken });
        }
        let before = fs::read_to_string(ALLOWED).doing(|| format!("read {ALLOWED}"))?;
        let mut list: Vec<&str> = before.split_whitespace().collect();
        let had = list.len();
        for name in wanted {
            if !list.contains(&name) {
                list.push(name);
            }
        }
        if list.len() == had {
            return Ok(Self { before: None, _taken: taken });
        }
        let text = list.join(" ");
        fs::write(ALLOWED, &text).doing(|| {
            let has = fs::read_to_string(AVAILABLE).unwrap_or_default();
            format!("allow the TCP congestion controls `{text}`, since this kernel has `{}`", has.trim())
        })?;
        Ok(Self { before: Some(before), _taken: taken })
    }
}

impl Drop for Leave {
    fn drop(&mut self) {
        if let Some(before) = &self.before
            && let Err(error) = fs::write(ALLOWED, before.trim())
        {
            tracing::warn!("cannot put {ALLOWED} back to `{}`: {error}", before.trim());
        }
    }
}
