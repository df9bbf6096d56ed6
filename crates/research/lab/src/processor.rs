//! Processor time of processes.

use crate::error::{Doing, LabError};

/// Seconds of processor time that a process has had, over all of its threads (proc(5): fields 14 and 15 of
/// /proc/PID/stat, in ticks).
///
/// # Errors
///
/// [`LabError::System`] if the process has ended.
pub fn processor_seconds(process: u32) -> Result<f64, LabError> {
    seconds(&format!("/proc/{process}/stat"), &[14, 15])
}

/// Seconds of processor time that this process has had, and the children that it has waited for, with theirs
/// (fields 14 to 17).
///
/// # Errors
///
/// [`LabError::System`] if the system does not say.
pub fn processor_seconds_with_children() -> Result<f64, LabError> {
    seconds("/proc/self/stat", &[14, 15, 16, 17])
}

/// The sum of these fields.
fn seconds(path: &str, summed: &[usize]) -> Result<f64, LabError> {
    let stat = std::fs::read_to_string(path).doing(|| format!("read {path}"))?;
    // The name may contain blanks and ends with the last bracket; the third field follows.
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
    let ticks = |field: usize| fields.get(field - 3).and_then(|it| it.parse::<f64>().ok()).unwrap_or(0.0);
    let ticks: f64 = summed.iter().map(|field| ticks(*field)).sum();
    Ok(ticks / rustix::param::clock_ticks_per_second() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_childs_time_counts_when_it_has_ended() {
        let (own, all) = (
            || processor_seconds(std::process::id()).unwrap(),
            || processor_seconds_with_children().unwrap(),
        );
        let (own_before, before) = (own(), all());
        let spin = "i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done";
        assert!(std::process::Command::new("sh").args(["-c", spin]).status().unwrap().success());
        let (childs, mine) = (all() - before, own() - own_before);
        assert!(childs > mine + 0.02, "{childs} s with children, {mine} s without");
    }
}
