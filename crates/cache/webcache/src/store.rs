//! The store: responses by URI, and their contents in chunks by hash, in memory and on disk, within hard
//! limits.
//!
//! A content streams: readers follow a [`Fill`] byte by byte, and late ones read from memory or disk. Chunks
//! are written when they are full, so an object may exceed the memory. An object above the limits, or refused
//! by a full disk, passes through a few chunks and is not kept.
//!
//! With a directory, memory holds the most requested content, and the index survives a crash. Without one,
//! everything is in memory.

pub mod chunk;
mod disk;
pub mod eviction;
mod fill;
pub mod journal;
mod object;
mod reader;
mod resident;
mod restore;
#[cfg(test)]
mod tests;

pub use disk::NoDirectory;
pub use eviction::Policy;
pub use fill::{Broken, Fill};
pub use object::{Head, Object};
pub use reader::{Next, Reader};

use crate::semantics::UnixSeconds;
use crate::semantics::key::Key;
use crate::semantics::vary::{self, Nominated};
use bytes::Bytes;
use chunk::ChunkId;
use disk::{Directory, on_disk};
use eviction::Eviction;
use hyper::StatusCode;
use hyper::header::HeaderMap;
use journal::{Journal, Record, Stored};
use object::Slot;
use resident::Resident;
use serde::Serialize;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The most responses of one URI that differ by their Vary fields.
const MOST_VARIANTS: usize = 16;
/// The most octets of history in the index before it is rewritten, and its largest share of the disk.
const HISTORY_BYTES: u64 = 32 << 20;
const HISTORY_PART: u64 = 16;

/// Limits of the store.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Contents in memory, in octets.
    pub memory_bytes: u64,
    /// The directory, and the most octets of its files.
    pub directory: Option<(PathBuf, u64)>,
    /// The most responses.
    pub objects: usize,
    /// The largest content, in octets.
    pub object_bytes: u64,
    /// Order of eviction.
    pub policy: Policy,
}

/// How full the store is, and what became of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// Stored responses.
    pub objects: u64,
    /// Stored chunks, each counted once.
    pub chunks: u64,
    /// Bytes of content in memory.
    pub memory_bytes: u64,
    /// Bytes on disk.
    pub disk_bytes: u64,
    /// Bytes of content that the store had under another URI.
    pub deduplicated_bytes: u64,
    /// Responses evicted for lack of room.
    pub evicted: u64,
    /// Chunks that the disk did not accept.
    pub disk_refused: u64,
    /// Chunks that the disk lost or changed.
    pub disk_damaged: u64,
}

/// The store.
pub struct Store {
    state: Mutex<State>,
    directory: Option<Directory>,
    limits: Limits,
}

struct State {
    next_id: u64,
    objects: HashMap<Key, Vec<Arc<Object>>>,
    by_id: HashMap<u64, Arc<Object>>,
    order: Eviction<u64>,
    chunks: HashMap<ChunkId, Chunk>,
    memory: Resident,
    journal: Option<Journal>,
    /// Length of the index when it was last without history.
    journal_floor: u64,
    history_bytes: u64,
    usage: Usage,
}

struct Chunk {
    references: u32,
    length: u32,
    bytes: Option<Bytes>,
    on_disk: bool,
}

impl Store {
    /// Opens a store. A directory restores its earlier contents.
    pub fn open(limits: Limits) -> Result<Arc<Self>, NoDirectory> {
        let mut state = State {
            next_id: 1,
            objects: HashMap::new(),
            by_id: HashMap::new(),
            order: Eviction::new(limits.policy),
            chunks: HashMap::new(),
            memory: Resident::new(limits.directory.is_some().then_some(limits.policy)),
            journal: None,
            journal_floor: 0,
            history_bytes: limits
                .directory
                .as_ref()
                .map_or(HISTORY_BYTES, |(_, most)| HISTORY_BYTES.min(most / HISTORY_PART)),
            usage: Usage::default(),
        };
        let directory = match &limits.directory {
            Some((path, _)) => Some(restore::restore(path, &limits, &mut state)?),
            None => None,
        };
        let store = Store { state: Mutex::new(state), directory, limits };
        store.make_room(&mut store.state());
        Ok(Arc::new(store))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The store's usage.
    #[must_use]
    pub fn usage(&self) -> Usage {
        let state = self.state();
        Usage {
            objects: state.by_id.len() as u64,
            chunks: state.chunks.len() as u64,
            memory_bytes: state.memory.bytes(),
            ..state.usage
        }
    }

    /// The stored response that answers a request for `key` with these fields.
    #[must_use]
    pub fn lookup(&self, key: &Key, request: &HeaderMap) -> Option<Arc<Object>> {
        let mut state = self.state();
        let variants = state.objects.get(key)?;
        let object = variants.iter().rev().find(|object| vary::matches(&object.nominated, request))?.clone();
        state.order.touch(&object.id);
        Some(object)
    }

    /// Whether another cache would get a response for `key` from here: a fresh one that is complete or
    /// arriving.
    #[must_use]
    pub fn has_fresh(&self, key: &Key, now: UnixSeconds) -> bool {
        let variants = self.state().objects.get(key).cloned();
        variants.is_some_and(|variants| {
            variants.iter().any(|object| {
                let head = object.head();
                let usable = head.freshness.is_fresh(now) && !head.freshness.always_validate;
                head.status == StatusCode::OK && usable && object.is_coming()
            })
        })
    }

    /// Whether a content of this length is worth storing.
    #[must_use]
    pub fn has_room_for(&self, length: Option<u64>) -> bool {
        let whole = self.limits.directory.as_ref().map_or(self.limits.memory_bytes, |(_, bytes)| *bytes);
        whole > 0 && length.is_none_or(|length| length <= self.limits.object_bytes.min(whole))
    }

    /// Stores a response whose content arrives from `start` on (to `end`, if known), in place of the one for
    /// the same requests.
    pub fn insert(
        self: &Arc<Self>,
        key: Key,
        nominated: Nominated,
        head: Head,
        length: Option<u64>,
        (start, end): (u64, Option<u64>),
    ) -> Fill {
        let id = {
            let mut state = self.state();
            state.next_id += 1;
            state.next_id - 1
        };
        let object = Arc::new(Object::new(id, key, nominated, head, length));
        // The fill begins before the object is visible. A request in between would otherwise find no fill.
        let fill = Fill::begin(self.clone(), object.clone(), start, end);
        self.admit(object);
        fill
    }

    fn admit(&self, object: Arc<Object>) {
        let mut state = self.state();
        let id = object.id;
        let variants = state.objects.entry(object.key.clone()).or_default();
        let mut superseded: Vec<Arc<Object>> =
            variants.iter().filter(|old| old.nominated == object.nominated).cloned().collect();
        if variants.len() >= MOST_VARIANTS {
            superseded.extend(variants.first().cloned());
        }
        variants.push(object.clone());
        state.by_id.insert(id, object.clone());
        state.order.insert(id, 0);
        state.note(&Record::Object(stored_of(&object)));
        superseded.iter().for_each(|old| self.drop_object(&mut state, old));
        self.make_room(&mut state);
    }

    /// Renews the head of a stored response after validation.
    pub fn freshen(&self, object: &Arc<Object>, head: Head) {
        object.set_head(head);
        let mut state = self.state();
        if state.by_id.contains_key(&object.id) {
            state.note(&Record::Object(stored_of(object)));
        }
    }

    /// Drops one response.
    pub fn remove(&self, object: &Arc<Object>) {
        let mut state = self.state();
        self.drop_object(&mut state, object);
    }

    /// Drops all responses of a URI.
    pub fn invalidate(&self, key: &Key) {
        let mut state = self.state();
        for object in state.objects.get(key).cloned().unwrap_or_default() {
            self.drop_object(&mut state, &object);
        }
    }

    /// A content of one chunk in memory.
    #[must_use]
    pub fn small(&self, object: &Object) -> Option<Bytes> {
        let id = object.only_chunk()?;
        let mut state = self.state();
        let bytes = state.chunks.get(&id)?.bytes.clone()?;
        state.memory.touch(&id);
        Some(bytes)
    }

    async fn chunk(self: &Arc<Self>, id: ChunkId) -> Option<Bytes> {
        {
            let mut state = self.state();
            if let Some(bytes) = state.chunks.get(&id)?.bytes.clone() {
                state.memory.touch(&id);
                return Some(bytes);
            }
        }
        let store = self.clone();
        tokio::task::spawn_blocking(move || store.read_chunk(id)).await.ok()?
    }

    fn read_chunk(&self, id: ChunkId) -> Option<Bytes> {
        let read = self.directory.as_ref()?.read(&id).map(Bytes::from);
        let mut state = self.state();
        let Some(bytes) = read else {
            state.usage.disk_damaged += 1;
            if let Some(gone) = state.chunks.remove(&id) {
                state.usage.disk_bytes -= on_disk(u64::from(gone.length));
                if let Some(directory) = &self.directory {
                    directory.delete(&id);
                }
            }
            return None;
        };
        if let Some(chunk) = state.chunks.get_mut(&id) {
            chunk.bytes = Some(bytes.clone());
            let length = chunk.length;
            state.memory.insert(id, length);
            self.make_room(&mut state);
        }
        Some(bytes)
    }

    /// Keeps a full chunk of an object. Returns `false` if it is not kept.
    async fn keep(self: &Arc<Self>, object: &Arc<Object>, number: usize, bytes: Bytes) -> bool {
        let (store, object) = (self.clone(), object.clone());
        let work = move || store.keep_now(&object, number, bytes);
        if self.directory.is_none() {
            work()
        } else {
            tokio::task::spawn_blocking(work).await.unwrap_or(false)
        }
    }

    fn keep_now(&self, object: &Arc<Object>, number: usize, bytes: Bytes) -> bool {
        if chunk::start_of(number) + bytes.len() as u64 > self.limits.object_bytes {
            self.remove(object);
            return false;
        }
        let id = ChunkId::of(&bytes);
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let is_new = {
            let mut state = self.state();
            if !state.by_id.contains_key(&object.id) {
                return false;
            }
            match state.chunks.get_mut(&id) {
                Some(chunk) => {
                    chunk.references += 1;
                    state.usage.deduplicated_bytes += u64::from(length);
                    false
                }
                None => {
                    let chunk = Chunk { references: 1, length, bytes: Some(bytes.clone()), on_disk: false };
                    state.chunks.insert(id, chunk);
                    true
                }
            }
        };
        let written = match &self.directory {
            Some(directory) if is_new => directory.write(&id, &bytes),
            _ => Ok(()),
        };
        let mut state = self.state();
        if let Err(error) = written {
            tracing::warn!("the disk does not take a chunk, {} is not kept: {error}", object.key.as_str());
            state.usage.disk_refused += 1;
            self.release(&mut state, id);
            self.drop_object(&mut state, object);
            return false;
        }
        if is_new {
            if self.directory.is_some() {
                state.usage.disk_bytes += on_disk(u64::from(length));
            }
            if let Some(chunk) = state.chunks.get_mut(&id) {
                chunk.on_disk = self.directory.is_some();
            }
            state.memory.insert(id, length);
        }
        let cost = {
            let mut content = object.content();
            let Some(slot) = content.slots.get_mut(number).filter(|_| state.by_id.contains_key(&object.id))
            else {
                drop(content);
                self.release(&mut state, id);
                return false;
            };
            let replaced = std::mem::replace(slot, Slot::Held(id, length));
            content.held_bytes += u64::from(length);
            if let Slot::Held(before, before_length) = replaced {
                content.held_bytes = content.held_bytes.saturating_sub(u64::from(before_length));
                drop(content);
                self.release(&mut state, before);
                content = object.content();
            }
            content.held_bytes
        };
        state.order.insert(object.id, cost);
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        state.note(&Record::Chunk { object: object.id, number, length, id });
        self.make_room(&mut state);
        // The object itself may have been evicted.
        state.by_id.contains_key(&object.id)
    }

    fn note_length(&self, object: &Arc<Object>, length: u64) {
        let mut state = self.state();
        if state.by_id.contains_key(&object.id) {
            state.note(&Record::Length { object: object.id, length });
        }
    }

    fn release(&self, state: &mut State, id: ChunkId) {
        let Some(chunk) = state.chunks.get_mut(&id) else { return };
        chunk.references -= 1;
        if chunk.references > 0 {
            return;
        }
        let (on_disk_here, length) = (chunk.on_disk, chunk.length);
        state.chunks.remove(&id);
        state.memory.remove(&id, length);
        if let Some(directory) = self.directory.as_ref().filter(|_| on_disk_here) {
            directory.delete(&id);
            state.usage.disk_bytes -= on_disk(u64::from(length));
        }
    }

    fn drop_object(&self, state: &mut State, object: &Arc<Object>) {
        if state.by_id.remove(&object.id).is_none() {
            return;
        }
        state.order.remove(&object.id);
        if let Some(variants) = state.objects.get_mut(&object.key) {
            variants.retain(|other| other.id != object.id);
            if variants.is_empty() {
                state.objects.remove(&object.key);
            }
        }
        let mut held = Vec::new();
        {
            let mut content = object.content();
            content.kept = false;
            let read = content.readers > 0;
            // Its readers continue with the chunks in memory, up to the limit of content that is not kept.
            let mut bridge = if read { object::LOOSE_CHUNKS } else { 0 };
            let near = usize::try_from(content.furthest / chunk::CHUNK_BYTES as u64).unwrap_or(usize::MAX);
            for (number, slot) in content.slots.iter_mut().enumerate() {
                let Slot::Held(id, _) = slot else { continue };
                held.push(*id);
                let bytes = state.chunks.get(id).and_then(|chunk| chunk.bytes.clone());
                *slot = match bytes.filter(|_| number >= near && bridge > 0) {
                    Some(bytes) => {
                        bridge -= 1;
                        Slot::Loose(bytes)
                    }
                    None => Slot::Absent,
                };
            }
        }
        held.into_iter().for_each(|id| self.release(state, id));
        state.note(&Record::Removed { object: object.id });
        object.changed.notify_waiters();
    }

    fn make_room(&self, state: &mut State) {
        if let Some((_, most)) = &self.limits.directory {
            while state.memory.bytes() > self.limits.memory_bytes {
                let Some(id) = state.memory.pop() else { break };
                if let Some(chunk) = state.chunks.get_mut(&id) {
                    chunk.bytes = None;
                }
            }
            let index = state.journal.as_ref().map_or(0, |journal| on_disk(journal.bytes()));
            while state.usage.disk_bytes + index > *most && self.evict_one(state) {}
        } else {
            while state.memory.bytes() > self.limits.memory_bytes && self.evict_one(state) {}
        }
        while state.by_id.len() > self.limits.objects && self.evict_one(state) {}
    }

    fn evict_one(&self, state: &mut State) -> bool {
        let Some(object) = state.order.pop().and_then(|id| state.by_id.get(&id).cloned()) else {
            return false;
        };
        state.usage.evicted += 1;
        self.drop_object(state, &object);
        true
    }
}

impl State {
    /// Adds a record to the index. If the index cannot be written, it is abandoned: later content is lost at
    /// the end.
    fn note(&mut self, record: &Record) {
        let Some(journal) = &mut self.journal else { return };
        let mut written = journal.append(record);
        if written.is_ok() && journal.bytes() > 2 * self.journal_floor + self.history_bytes {
            written = self.forget_history();
        }
        if let Err(error) = written {
            self.usage.disk_refused += 1;
            tracing::debug!("the index is not written: {error}");
        }
    }

    fn forget_history(&mut self) -> std::io::Result<()> {
        let mut ids: Vec<u64> = self.by_id.keys().copied().collect();
        ids.sort_unstable();
        let objects: Vec<Arc<Object>> = ids.iter().filter_map(|id| self.by_id.get(id).cloned()).collect();
        let Some(journal) = &mut self.journal else { return Ok(()) };
        journal.rewrite(objects.iter().flat_map(records_of))?;
        self.journal_floor = journal.bytes();
        Ok(())
    }
}

fn records_of(object: &Arc<Object>) -> Vec<Record> {
    let mut records = vec![Record::Object(stored_of(object))];
    let content = object.content();
    records.extend(content.slots.iter().zip(0..).filter_map(|(slot, number)| match slot {
        Slot::Held(id, length) => Some(Record::Chunk { object: object.id, number, length: *length, id: *id }),
        _ => None,
    }));
    records
}

fn stored_of(object: &Object) -> Stored {
    let head = object.head();
    let latin1 = |value: &[u8]| value.iter().map(|octet| char::from(*octet)).collect();
    let headers = head.headers.iter();
    Stored {
        object: object.id,
        key: object.key.as_str().to_owned(),
        nominated: object.nominated.iter().map(|(name, value)| (name.to_string(), value.clone())).collect(),
        status: head.status.as_u16(),
        headers: headers.map(|(name, value)| (name.to_string(), latin1(value.as_bytes()))).collect(),
        freshness: head.freshness,
        length: object.length(),
    }
}
