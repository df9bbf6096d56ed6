//! Reads a stored content in order, while it may still be coming in.

use super::Store;
use super::chunk::CHUNK_BYTES;
use super::object::{Object, Place, Slot};
use bytes::Bytes;
use std::ops::Range;
use std::sync::Arc;

/// Reads the bytes from one place of a content to another.
pub struct Reader {
    store: Arc<Store>,
    object: Arc<Object>,
    at: u64,
    end: Option<u64>,
}

/// What comes next.
pub enum Next {
    /// Bytes.
    Bytes(Bytes),
    /// Nothing; all was read.
    End,
    /// These bytes, which nobody is fetching; an end that is not known is the greatest number.
    Missing(Range<u64>),
}

impl Reader {
    /// Of `range`, or from the start to the end.
    #[must_use]
    pub fn new(store: Arc<Store>, object: Arc<Object>, range: Option<Range<u64>>) -> Self {
        object.content().readers += 1;
        let (at, end) = range.map_or((0, None), |range| (range.start, Some(range.end)));
        Reader { store, object, at, end }
    }

    /// What is read.
    #[must_use]
    pub fn object(&self) -> &Arc<Object> {
        &self.object
    }

    /// Where it is.
    #[must_use]
    pub fn at(&self) -> u64 {
        self.at
    }

    /// Whether more is known to follow.
    #[must_use]
    pub fn has_more(&self) -> bool {
        self.end.or_else(|| self.object.length()).is_some_and(|end| self.at < end)
    }

    /// Waits for what comes next.
    pub async fn next(&mut self) -> Next {
        loop {
            let object = self.object.clone();
            let mut changed = std::pin::pin!(object.changed.notified());
            changed.as_mut().enable();
            let place = self.object.content().place(self.at, self.end);
            let bytes = match place {
                Place::Bytes(bytes) => bytes,
                Place::Chunk(id, offset) => match self.store.chunk(id).await {
                    Some(bytes) if offset < bytes.len() => bytes.slice(offset..),
                    _ => {
                        self.store.lose(&self.object, id);
                        continue;
                    }
                },
                Place::Wait => {
                    changed.await;
                    continue;
                }
                Place::Missing(end) => return Next::Missing(self.at..end),
                Place::End => return Next::End,
            };
            return Next::Bytes(self.take(bytes));
        }
    }

    fn take(&mut self, bytes: Bytes) -> Bytes {
        let most = self.end.map_or(u64::MAX, |end| end - self.at);
        let length = (bytes.len() as u64).min(most).min(CHUNK_BYTES as u64);
        self.at += length;
        let mut content = self.object.content();
        content.furthest = content.furthest.max(self.at);
        if !content.kept {
            drop(content);
            // the fill may wait for its readers
            self.object.changed.notify_waiters();
        }
        bytes.slice(..usize::try_from(length).unwrap_or(0))
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.object.content().readers -= 1;
        self.object.changed.notify_waiters();
    }
}

impl Store {
    /// Notes that a chunk of an object is gone.
    fn lose(&self, object: &Arc<Object>, lost: super::chunk::ChunkId) {
        let mut content = object.content();
        let mut gone = 0;
        for slot in &mut content.slots {
            if let Slot::Held(id, length) = slot
                && *id == lost
            {
                gone += u64::from(*length);
                *slot = Slot::Absent;
            }
        }
        content.held_bytes = content.held_bytes.saturating_sub(gone);
    }
}
