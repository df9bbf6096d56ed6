//! Completion of a run's downloads and streams, for waiting threads.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// State of a run's traffic, shared by its threads.
pub(crate) struct Traffic {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// By index of the download, whether it has ended.
    ended: Vec<bool>,
    /// Downloads and streams that have not ended.
    running: usize,
}

impl Traffic {
    pub(crate) fn new(downloads: usize, streams: usize) -> Self {
        let state = State { ended: vec![false; downloads], running: downloads + streams };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// A guard whose drop marks the download of this index, or a stream, as ended.
    pub(crate) fn guard(&self, download: Option<usize>) -> Carried<'_> {
        Carried { traffic: self, download }
    }

    /// Returns when the download of this index has ended.
    pub(crate) fn wait_for_download(&self, index: usize) {
        let waiting = |state: &mut State| state.ended.get(index) == Some(&false);
        drop(self.changed.wait_while(self.state(), waiting));
    }

    /// Returns when all traffic has ended (`true`), or at `time` (`false`).
    pub(crate) fn ends_before(&self, time: Instant) -> bool {
        let mut state = self.state();
        loop {
            let left = time.saturating_duration_since(Instant::now());
            if state.running == 0 || left.is_zero() {
                return state.running == 0;
            }
            let waited = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner);
            state = waited.0;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No thread can leave the state partly changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A download or stream that is being carried.
pub(crate) struct Carried<'a> {
    traffic: &'a Traffic,
    download: Option<usize>,
}

impl Drop for Carried<'_> {
    fn drop(&mut self) {
        let mut state = self.traffic.state();
        state.running -= 1;
        if let Some(index) = self.download {
            state.ended[index] = true;
        }
        self.traffic.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_thread_that_waits_for_a_download_goes_on_when_it_ends() {
        let traffic = Traffic::new(2, 0);
        std::thread::scope(|scope| {
            let (first, second) = (traffic.guard(Some(0)), traffic.guard(Some(1)));
            let waiting = scope.spawn(|| traffic.wait_for_download(1));
            drop(first);
            assert!(!traffic.ends_before(Instant::now() + Duration::from_millis(20)));
            assert!(!waiting.is_finished());
            drop(second);
            assert!(traffic.ends_before(Instant::now() + Duration::from_secs(10)));
        });
    }

    #[test]
    fn the_end_of_a_stream_is_an_end_too() {
        let traffic = Traffic::new(0, 1);
        let stream = traffic.guard(None);
        assert!(!traffic.ends_before(Instant::now()));
        drop(stream);
        assert!(traffic.ends_before(Instant::now()));
    }
}
