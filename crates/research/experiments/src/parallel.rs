//! Independent pieces of work on all processors.

use std::sync::Mutex;

use anyhow::Result;
use indicatif::ProgressBar;

/// Runs `work` for each item and returns the results in the items' order. Each completed item is passed to
/// `progress`.
///
/// # Errors
///
/// The first that `work` returns.
pub fn map<T: Send, R: Send>(
    items: impl IntoIterator<Item = T, IntoIter: Send>,
    progress: &ProgressBar,
    work: impl Fn(T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let queue = Mutex::new(items.into_iter().enumerate());
    let worker = || -> Result<Vec<(usize, R)>> {
        let mut done = Vec::new();
        loop {
            let next = queue.lock().ok().and_then(|mut queue| queue.next());
            let Some((index, item)) = next else { return Ok(done) };
            done.push((index, work(item)?));
            progress.inc(1);
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut done: Vec<(usize, R)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        let joined = threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        Ok::<_, anyhow::Error>(joined.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
    })?;
    done.sort_by_key(|(index, _)| *index);
    Ok(done.into_iter().map(|(_, result)| result).collect())
}
