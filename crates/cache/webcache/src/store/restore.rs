//! Restores the contents of a directory after any end of the process that wrote it.

use super::chunk::{ChunkId, count_of, length_of};
use super::disk::{Directory, NoDirectory, on_disk};
use super::journal::{Record, Stored};
use super::object::{Head, Object, Slot};
use super::{Chunk, Limits, State};
use crate::semantics::key::Key;
use crate::semantics::validators::strong_validator;
use hyper::StatusCode;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::Arc;

struct Found {
    stored: Stored,
    chunks: BTreeMap<u32, (ChunkId, u32)>,
}

/// Reads the directory at `path` into an empty `state`. Chunks without references are deleted.
pub(super) fn restore(path: &Path, limits: &Limits, state: &mut State) -> Result<Directory, NoDirectory> {
    let mut found: BTreeMap<u64, Found> = BTreeMap::new();
    let (mut read, mut last) = (0_usize, 0);
    let (directory, journal, files) = Directory::open(path, |record| {
        read += 1;
        match record {
            Record::Object(stored) => {
                last = last.max(stored.object);
                match found.get_mut(&stored.object) {
                    Some(before) => before.stored = stored,
                    None => drop(found.insert(stored.object, Found { stored, chunks: BTreeMap::new() })),
                }
            }
            Record::Chunk { object, number, length, id } => {
                if let Some(found) = found.get_mut(&object) {
                    found.chunks.insert(number, (id, length));
                }
            }
            Record::Length { object, length } => {
                if let Some(found) = found.get_mut(&object) {
                    found.stored.length = Some(length);
                }
            }
            Record::Removed { object } => drop(found.remove(&object)),
        }
    })?;
    let live: usize = found.values().map(|found| 1 + found.chunks.len()).sum();
    state.next_id = last + 1;
    let mut gone = Vec::new();
    for (id, found) in found {
        match revive(found, limits, &files) {
            Some(object) => adopt(state, object),
            None => gone.push(id),
        }
    }
    gone.extend(drop_superseded(state));
    for id in files.iter().filter(|id| !state.chunks.contains_key(*id)) {
        directory.delete(id);
    }
    state.journal_floor = journal.bytes();
    state.journal = Some(journal);
    // An unused object must not return when its chunks do.
    gone.into_iter().for_each(|object| state.note(&Record::Removed { object }));
    // A rewrite takes as long as a read, so it is done only if most of the index is history.
    if read > 2 * live
        && let Err(error) = state.forget_history()
    {
        tracing::warn!("the index of {} cannot be written anew: {error}", path.display());
    }
    Ok(directory)
}

/// The restored object; `None` if the remainder is unusable.
fn revive(found: Found, limits: &Limits, files: &HashSet<ChunkId>) -> Option<Arc<Object>> {
    let stored = found.stored;
    let length = stored.length.filter(|length| *length <= limits.object_bytes)?;
    let key = Key::parse(&stored.key).ok()?;
    let nominated = stored.nominated.into_iter().map(|(name, value)| Some((name.parse().ok()?, value)));
    let mut headers = HeaderMap::new();
    for (name, value) in stored.headers {
        let octets: Vec<u8> = value.chars().filter_map(|octet| u8::try_from(u32::from(octet)).ok()).collect();
        headers.append(name.parse::<HeaderName>().ok()?, HeaderValue::from_bytes(&octets).ok()?);
    }
    let head =
        Head { status: StatusCode::from_u16(stored.status).ok()?, headers, freshness: stored.freshness };
    let resumable = strong_validator(&head.headers).is_some();
    let object = Object::new(stored.object, key, nominated.collect::<Option<_>>()?, head, Some(length));
    let held = {
        let mut content = object.content();
        for (number, (id, chunk_length)) in found.chunks {
            let number = number as usize;
            let right = files.contains(&id) && chunk_length as usize == length_of(number, length);
            if right && number < count_of(length) {
                *content.slot(number) = Slot::Held(id, chunk_length);
            }
        }
        content.slots.iter().filter(|slot| matches!(slot, Slot::Held(..))).count()
    };
    // Parts are joined only by a validator that identifies their content.
    (held == count_of(length) || held > 0 && resumable).then(|| Arc::new(object))
}

/// Drops superseded responses. A process that ended between recording a response and removing its predecessor
/// left both; the later one counts.
fn drop_superseded(state: &mut State) -> Vec<u64> {
    let mut superseded = Vec::new();
    for variants in state.objects.values_mut() {
        let all = variants.clone();
        let is_last = |at: usize, object: &Arc<Object>| {
            all.iter().skip(at + 1).all(|later| later.nominated != object.nominated)
        };
        let mut at = 0;
        variants.retain(|object| {
            let stays = is_last(at, object);
            at += 1;
            if !stays {
                superseded.push(object.clone());
            }
            stays
        });
    }
    for object in &superseded {
        state.order.remove(&object.id);
        state.by_id.remove(&object.id);
        for slot in &object.content().slots {
            let Slot::Held(id, length) = slot else { continue };
            let Some(chunk) = state.chunks.get_mut(id) else { continue };
            chunk.references -= 1;
            if chunk.references == 0 {
                state.chunks.remove(id);
                state.usage.disk_bytes -= on_disk(u64::from(*length));
            }
        }
    }
    superseded.iter().map(|object| object.id).collect()
}

fn adopt(state: &mut State, object: Arc<Object>) {
    let mut cost = 0;
    let mut content = object.content();
    for slot in &content.slots {
        let Slot::Held(id, length) = slot else { continue };
        cost += u64::from(*length);
        let chunk = state.chunks.entry(*id).or_insert_with(|| {
            state.usage.disk_bytes += on_disk(u64::from(*length));
            Chunk { references: 0, length: *length, bytes: None, on_disk: true }
        });
        chunk.references += 1;
    }
    content.held_bytes = cost;
    drop(content);
    state.order.insert(object.id, cost);
    state.objects.entry(object.key.clone()).or_default().push(object.clone());
    state.by_id.insert(object.id, object);
}
