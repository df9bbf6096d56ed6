//! Processor usage of a process.

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

fn seconds(id: u32) -> f64 {
    lab::processor_seconds(id).unwrap()
}
