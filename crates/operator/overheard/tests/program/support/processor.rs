//! What a process takes of a processor.

use std::fs;
use std::time::Instant;

/// Processor time of a process, all threads together, since a moment.
pub struct ProcessorTime {
    id: u32,
    since: Instant,
    before: f64,
}

impl ProcessorTime {
    /// From now on.
    pub fn of(id: u32) -> Self {
        ProcessorTime { id, since: Instant::now(), before: seconds(id) }
    }

    /// Seconds of a processor in each second that has passed.
    pub fn share(&self) -> f64 {
        (seconds(self.id) - self.before) / self.since.elapsed().as_secs_f64()
    }
}

/// What /proc/PID/stat says (proc(5)): fields 14 and 15, in ticks.
fn seconds(id: u32) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap();
    // the name, which may have blanks, ends with the last bracket; the third field follows
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap().split(' ').collect();
    let ticks = |field: usize| fields[field - 3].parse::<f64>().unwrap();
    (ticks(14) + ticks(15)) / rustix::param::clock_ticks_per_second() as f64
}
