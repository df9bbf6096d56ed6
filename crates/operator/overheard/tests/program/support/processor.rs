//! Processor usage of a process.

use std::fs;
use std::time::Instant;

/// Processor time of a process, over all threads, since a moment.
pub struct ProcessorTime {
    id: u32,
    since: Instant,
    before: f64,
}

impl ProcessorTime {
    /// A measurement from now on.
    pub fn of(id: u32) -> Self {
        ProcessorTime { id, since: Instant::now(), before: seconds(id) }
    }

    /// Seconds of processor time in each second since then.
    pub fn share(&self) -> f64 {
        (seconds(self.id) - self.before) / self.since.elapsed().as_secs_f64()
    }
}

/// Processor time by /proc/PID/stat (proc(5)): fields 14 and 15, in ticks.
fn seconds(id: u32) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap();
    // The name may contain blanks and ends with the last bracket; the third field follows.
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap().split(' ').collect();
    let ticks = |field: usize| fields[field - 3].parse::<f64>().unwrap();
    (ticks(14) + ticks(15)) / rustix::param::clock_ticks_per_second() as f64
}
