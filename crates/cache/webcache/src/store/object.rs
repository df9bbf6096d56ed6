//! A stored response: its head, and its content in chunks, of which some may be absent or arriving.

use super::chunk::{CHUNK_BYTES, ChunkId, count_of, number_of, start_of};
use crate::semantics::freshness::Freshness;
use crate::semantics::key::Key;
use crate::semantics::vary::Nominated;
use bytes::{Bytes, BytesMut};
use hyper::StatusCode;
use hyper::header::{HeaderMap, HeaderValue};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use tokio::sync::Notify;

/// The most chunks of a content that is not kept, while they wait for readers.
pub const LOOSE_CHUNKS: usize = 16;
/// The largest distance, in chunks, at which a reader waits for a fill. Farther ahead it requests the bytes
/// itself.
const PATIENCE_CHUNKS: usize = 16;

/// Status, fields, and permitted uses.
#[derive(Debug, Clone)]
pub struct Head {
    /// The status.
    pub status: StatusCode,
    /// The end-to-end fields.
    pub headers: HeaderMap,
    /// Its permitted uses.
    pub freshness: Freshness,
}

impl Head {
    /// The same head in minimal memory. Received fields are slices of their receive buffer and would keep all
    /// of it.
    fn compact(self) -> Self {
        let lengths = self.headers.values().map(HeaderValue::len);
        let mut octets = BytesMut::with_capacity(lengths.sum());
        self.headers.values().for_each(|value| octets.extend_from_slice(value.as_bytes()));
        let mut octets = octets.freeze();
        let mut headers = HeaderMap::with_capacity(self.headers.keys_len());
        for (name, value) in &self.headers {
            let own = octets.split_to(value.len());
            // The bytes were a valid value before.
            let own = HeaderValue::from_maybe_shared(own).unwrap_or_else(|_| value.clone());
            headers.append(name, own);
        }
        Head { headers, ..self }
    }
}

/// A stored response.
pub struct Object {
    /// Its number.
    pub id: u64,
    /// Its URI.
    pub key: Key,
    /// The fields that its Vary nominated.
    pub nominated: Nominated,
    head: RwLock<Arc<Head>>,
    content: Mutex<Content>,
    /// Notifies of every change of the content.
    pub(super) changed: Notify,
    /// Held by the reader that requests missing bytes.
    pub mending: tokio::sync::Mutex<()>,
    /// Whether a client of this router requested it, and not only a neighbour.
    pub wanted_here: AtomicBool,
}

pub(super) enum Slot {
    Absent,
    /// Arriving; the bytes so far.
    Filling(Vec<u8>),
    Held(ChunkId, u32),
    /// Present, but not kept.
    Loose(Bytes),
}

/// The content of an [`Object`].
pub struct Content {
    pub(super) length: Option<u64>,
    /// One slot for each chunk so far. A declared length alone allocates nothing.
    pub(super) slots: Vec<Slot>,
    /// Whether the store keeps it. Otherwise chunks are dropped behind the readers.
    pub(super) kept: bool,
    /// The running fills, in chunks; an unknown end is the greatest number.
    pub(super) fills: Vec<(u64, Range<usize>)>,
    pub(super) next_fill: u64,
    /// Whether its sender serves no ranges, so that readers wait for the fill at any distance.
    pub(super) in_order: bool,
    /// Octets of it that the store keeps.
    pub(super) held_bytes: u64,
    /// Position of the most advanced reader.
    pub(super) furthest: u64,
    pub(super) readers: usize,
}

/// State of a content's position.
pub(super) enum Place {
    Bytes(Bytes),
    /// In the store under this name, from this octet of the chunk on.
    Chunk(ChunkId, usize),
    /// A fill will bring it.
    Wait,
    /// No fill will bring it, up to this byte.
    Missing(u64),
    End,
}

impl Object {
    pub(super) fn new(id: u64, key: Key, nominated: Nominated, head: Head, length: Option<u64>) -> Self {
        let content = Content {
            length,
            slots: Vec::new(),
            kept: true,
            fills: Vec::new(),
            next_fill: 0,
            in_order: false,
            held_bytes: 0,
            furthest: 0,
            readers: 0,
        };
        Object {
            id,
            key,
            nominated,
            head: RwLock::new(Arc::new(head.compact())),
            content: Mutex::new(content),
            changed: Notify::new(),
            mending: tokio::sync::Mutex::new(()),
            wanted_here: AtomicBool::new(false),
        }
    }

    /// Its head.
    #[must_use]
    pub fn head(&self) -> Arc<Head> {
        self.head.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set_head(&self, head: Head) {
        *self.head.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(head.compact());
    }

    pub(super) fn content(&self) -> MutexGuard<'_, Content> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its length in octets, if known.
    #[must_use]
    pub fn length(&self) -> Option<u64> {
        self.content().length
    }

    /// Whether it is complete.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.content().is_whole()
    }

    /// Whether it is complete or arriving.
    #[must_use]
    pub fn is_coming(&self) -> bool {
        let content = self.content();
        let coming = |number| content.fills.iter().any(|(_, fill)| fill.contains(&number));
        match content.length {
            None => coming(content.slots.len().saturating_sub(1)),
            Some(length) => (0..count_of(length))
                .all(|number| matches!(content.slots.get(number), Some(Slot::Held(..))) || coming(number)),
        }
    }

    /// Notes that its sender serves no ranges.
    pub fn comes_in_order(&self) {
        self.content().in_order = true;
    }

    /// Waits until its length is known, no fill will find it, or it is not kept. In the last case the fill
    /// may wait for readers.
    pub async fn settled(&self) {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            {
                let content = self.content();
                if content.length.is_some() || content.fills.is_empty() || !content.kept {
                    return;
                }
            }
            changed.await;
        }
    }

    /// Notes its length from a part. Returns `false` if another length is known.
    pub fn learn_length(&self, length: u64) -> bool {
        *self.content().length.get_or_insert(length) == length
    }

    /// The start of bytes that join the present ones and include the byte at `at`.
    #[must_use]
    pub fn joins_at(&self, at: u64) -> u64 {
        let content = self.content();
        let start = start_of(number_of(at));
        match content.slots.get(number_of(at)) {
            Some(Slot::Filling(begun)) => (start + begun.len() as u64).min(at),
            _ => start,
        }
    }

    /// Notes a client's request at this router. Returns whether there was one before.
    pub fn want_here(&self) -> bool {
        self.wanted_here.swap(true, Ordering::Relaxed)
    }

    /// The only chunk of a small content that is kept complete.
    pub(super) fn only_chunk(&self) -> Option<ChunkId> {
        let content = self.content();
        match content.slots.as_slice() {
            [Slot::Held(id, length)] if content.length == Some(u64::from(*length)) => Some(*id),
            _ => None,
        }
    }
}

impl Content {
    pub(super) fn is_whole(&self) -> bool {
        self.length.is_some_and(|length| self.slots.len() >= count_of(length))
            && self.slots.iter().all(|slot| matches!(slot, Slot::Held(..)))
    }

    /// The slot of a chunk, created if needed.
    pub(super) fn slot(&mut self, number: usize) -> &mut Slot {
        if self.slots.is_empty() {
            // Most contents have one chunk.
            self.slots.reserve_exact(number + 1);
        }
        while self.slots.len() <= number {
            self.slots.push(Slot::Absent);
        }
        &mut self.slots[number]
    }

    /// The state of byte `at`, at most up to `end`.
    pub(super) fn place(&self, at: u64, end: Option<u64>) -> Place {
        let end = end.or(self.length);
        if end.is_some_and(|end| at >= end) {
            return Place::End;
        }
        let (number, offset) = (number_of(at), (at % CHUNK_BYTES as u64) as usize);
        match self.slots.get(number) {
            Some(Slot::Held(id, _)) => return Place::Chunk(*id, offset),
            Some(Slot::Loose(bytes)) if offset < bytes.len() => return Place::Bytes(bytes.slice(offset..)),
            Some(Slot::Filling(bytes)) if offset < bytes.len() => {
                return Place::Bytes(Bytes::copy_from_slice(&bytes[offset..]));
            }
            _ => {}
        }
        let near = |fill: &Range<usize>| self.in_order || number - fill.start <= PATIENCE_CHUNKS;
        if self.fills.iter().any(|(_, fill)| fill.contains(&number) && near(fill)) {
            return Place::Wait;
        }
        let missing = |slot: &Slot| matches!(slot, Slot::Absent | Slot::Filling(_));
        let after = self.slots.iter().enumerate().skip(number + 1).find(|(_, slot)| !missing(slot));
        let next_fill = self.fills.iter().map(|(_, fill)| fill.start).filter(|start| *start > number).min();
        let stop = after.map(|(after, _)| after).into_iter().chain(next_fill).min();
        let stop = stop.map(start_of).into_iter().chain(end).min().unwrap_or(u64::MAX);
        Place::Missing(stop)
    }
}
