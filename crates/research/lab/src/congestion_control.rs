//! Leave to use a TCP congestion control inside namespaces.
//!
//! Outside the machine's own namespace the kernel lets only such be the default as
//! `tcp_allowed_congestion_control` lists, root or not. That list is the machine's: what is missing is added
//! for the moment of the setting alone.

use std::fs;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::{Doing, LabError};

const ALLOWED: &str = "/proc/sys/net/ipv4/tcp_allowed_congestion_control";
/// The parameter that chooses one.
pub(crate) const PARAMETER: &str = "net.ipv4.tcp_congestion_control";

/// One at a time in this process: else one would put the list back while another still needs what it added.
static TAKEN: Mutex<()> = Mutex::new(());

/// While it lives, the controls that it was made for may be chosen. Dropped, the list is as it was.
pub(crate) struct Leave {
    before: Option<String>,
    _taken: MutexGuard<'static, ()>,
}

impl Leave {
    /// Allows `wanted`; touches nothing when the list has them all.
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
        fs::write(ALLOWED, &text).doing(|| format!("allow the TCP congestion controls `{text}`"))?;
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
