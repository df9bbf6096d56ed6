//! `streams`: TCP connections that cross the hop as streams.

use super::Mistake;
use super::file::{Streams, Switched};
use node::StreamBounds;
use std::path::Path;

const MEMORY_MIB: usize = 64;
const MOST_MEMORY_MIB: usize = 4096;
const CONNECTIONS: usize = 1024;
/// Each stream has this much room at the least, in both directions together.
const BYTES_OF_ONE: usize = 32 << 10;

/// The value of `streams` in the file at `path`.
pub fn streams(path: &Path, streams: Option<Switched<Streams>>) -> Result<Option<StreamBounds>, Mistake> {
    let Some(table) = Switched::table(streams) else { return Ok(None) };
    let mistake = |key: &str, what: String| Err(Mistake::at(path, &format!("[streams] {key}"), what));
    let memory_mib = table.memory_mib.unwrap_or(MEMORY_MIB);
    if !(1..=MOST_MEMORY_MIB).contains(&memory_mib) {
        return mistake("memory_mib", format!("{memory_mib} is not between 1 and {MOST_MEMORY_MIB}"));
    }
    let memory_bytes = memory_mib << 20;
    let most = memory_bytes / BYTES_OF_ONE;
    let connections = table.connections.unwrap_or(CONNECTIONS.min(most));
    if !(1..=most).contains(&connections) {
        let what = format!("{connections} is not between 1 and {most}, which {memory_mib} MiB have room for");
        return mistake("connections", what);
    }
    Ok(Some(StreamBounds {
        memory_bytes,
        most_streams: connections,
        answers_early: table.answer_early.unwrap_or(false),
    }))
}
