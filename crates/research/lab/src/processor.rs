//! Processor time of processes.

use crate::error::{Doing, LabError};

/// Seconds of processor time that a process has had, over all of its threads (proc(5): fields 14 and 15 of
/// /proc/PID/stat, in ticks).
///
/// # Errors
///
/// [`LabError::System`] if the process has ended.
pub fn processor_seconds(process: u32) -> Result<f64, LabError> {
    let path = format!("/proc/{process}/stat");
    let stat = std::fs::read_to_string(&path).doing(|| format!("read {path}"))?;
    // The name may contain blanks and ends with the last bracket; the third field follows.
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
    let ticks = |field: usize| fields.get(field - 3).and_then(|it| it.parse::<f64>().ok()).unwrap_or(0.0);
    Ok((ticks(14) + ticks(15)) / rustix::param::clock_ticks_per_second() as f64)
}
