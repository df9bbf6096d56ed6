//! Reads a stored content in order, possibly while it arrives.

use super::Store;
use super::chunk::CHUNK_BYTES;
use super::object::{Object, Place, Slot};
use bytes::Bytes;
use std::ops::Range;
use std::sync::Arc;

/// Reads a range of a content.
pub struct Reader {
    store: Arc<Store>,
    object: Arc<Object>,
    at: u64,
    end: Option<u64>,
}

/// The next result of a reader.
pub enum Next {
    /// Bytes.
    Bytes(Bytes),
    /// The end of the range.
    End,
    /// These bytes are missing and no fill will bring them; an unknown end is the greatest number.
    Missing(Range<u64>),
}

impl Reader {
    /// A reader of `range`, or of the whole content.
    #[must_use]
    pub fn new(store: Arc<Store>, object: Arc<Object>, range: Option<Range<u64>>) -> Self {
        object.content().readers += 1;
        let (at, end) = range.map_or((0, None), |range| (range.start, Some(range.end)));
        Reader { store, object, at, end }
    }

    /// The object.
    #[must_use]
    pub fn object(&self) -> &Arc<Object> {
        &self.object
    }

    /// Its position.
    #[must_use]
    pub fn at(&self) -> u64 {
        self.at
    }

    /// Whether more bytes are known to follow.
    #[must_use]
    pub fn has_more(&self) -> bool {
        self.end.or_else(|| self.object.length()).is_some_and(|end| self.at < end)
    }

    /// Waits for the next result.
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
            // The fill may wait for its readers.
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
    /// Notes that an object's chunk is gone.
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
