//! Writes an arriving content that readers follow.

use super::Store;
use super::chunk::{CHUNK_BYTES, length_of, number_of, start_of};
use super::object::{Content, LOOSE_CHUNKS, Object, Slot};
use bytes::{Buf, Bytes};
use std::ops::Range;
use std::sync::Arc;

/// Fills a part of a content, in order. Dropping it ends the fill, and readers are notified.
pub struct Fill {
    store: Arc<Store>,
    object: Arc<Object>,
    id: u64,
    at: u64,
    end: Option<u64>,
    /// Bytes before this are discarded: the part began in the middle of a chunk whose beginning is missing.
    usable_from: u64,
}

/// Reason why a fill ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// The sender sent too few bytes.
    #[error("the content ended before its declared length")]
    Short,
    /// The sender sent too many bytes.
    #[error("the content is longer than declared")]
    Long,
    /// The content cannot be kept and has no readers.
    #[error("no reader is left")]
    Unwanted,
}

impl Fill {
    /// Begins to fill `range`; an unknown end is `None`.
    #[must_use]
    pub fn begin(store: Arc<Store>, object: Arc<Object>, start: u64, end: Option<u64>) -> Self {
        let (id, usable_from) = {
            let mut content = object.content();
            let id = content.next_fill;
            content.next_fill += 1;
            let usable_from = first_usable(&content, start);
            let last = end.map_or(usize::MAX, |end| number_of(end.saturating_sub(1)) + 1);
            content.fills.push((id, number_of(usable_from)..last));
            (id, usable_from)
        };
        Fill { store, object, id, at: start, end, usable_from }
    }

    /// Position of the next byte.
    #[must_use]
    pub fn at(&self) -> u64 {
        self.at
    }

    /// The filled object.
    #[must_use]
    pub fn object(&self) -> &Arc<Object> {
        &self.object
    }

    /// Number of its readers.
    #[must_use]
    pub fn readers(&self) -> usize {
        self.object.content().readers
    }

    /// Adds bytes.
    pub async fn push(&mut self, mut bytes: Bytes) -> Result<(), Broken> {
        if self.end.is_some_and(|end| bytes.len() as u64 > end - self.at) {
            return Err(Broken::Long);
        }
        while !bytes.is_empty() {
            let number = number_of(self.at);
            let offset = (self.at % CHUNK_BYTES as u64) as usize;
            let taken = bytes.len().min(CHUNK_BYTES - offset);
            let full =
                if self.at < self.usable_from { None } else { self.add(number, offset, &bytes[..taken]) };
            bytes.advance(taken);
            self.at += taken as u64;
            self.object.changed.notify_waiters();
            if let Some(chunk) = full {
                self.settle(number, chunk).await?;
            }
        }
        Ok(())
    }

    /// Ends the part at its declared end, or sets the content's end if it was unknown.
    pub async fn finish(mut self) -> Result<(), Broken> {
        match self.end {
            Some(end) if self.at < end => Err(Broken::Short),
            Some(_) => Ok(()),
            None => {
                let number = number_of(self.at);
                self.end = Some(self.at);
                let last = {
                    let mut content = self.object.content();
                    content.length = Some(self.at);
                    match content.slots.get_mut(number) {
                        Some(slot @ Slot::Filling(_)) => match std::mem::replace(slot, Slot::Absent) {
                            Slot::Filling(bytes) => Some(bytes),
                            _ => None,
                        },
                        _ => None,
                    }
                };
                if let Some(last) = last.filter(|last| !last.is_empty()) {
                    self.settle(number, Bytes::from(last.into_boxed_slice())).await?;
                }
                self.store.note_length(&self.object, self.at);
                Ok(())
            }
        }
    }

    /// Adds bytes to a chunk. Returns the chunk when it is full.
    fn add(&mut self, number: usize, offset: usize, bytes: &[u8]) -> Option<Bytes> {
        let mut content = self.object.content();
        let whole = content.length.map_or(CHUNK_BYTES, |length| length_of(number, length));
        // The exact length if known, because spare capacity would stay allocated.
        let expected = if content.length.is_some() { whole } else { bytes.len() };
        if let Some((_, fill)) = content.fills.iter_mut().find(|(id, _)| *id == self.id) {
            fill.start = number;
        }
        let slot = content.slot(number);
        if matches!(slot, Slot::Absent) && offset == 0 {
            *slot = Slot::Filling(Vec::with_capacity(expected));
        }
        let Slot::Filling(begun) = slot else { return None };
        // The bytes before these were dropped meanwhile, so they join nothing.
        if begun.len() < offset {
            return None;
        }
        // Another fill may have brought some of these already.
        let known = begun.len().saturating_sub(offset).min(bytes.len());
        begun.extend_from_slice(&bytes[known..]);
        if begun.len() < whole {
            return None;
        }
        let full = Bytes::from(std::mem::take(begun).into_boxed_slice());
        // Readers continue with it while it is being stored.
        *slot = Slot::Loose(full.clone());
        Some(full)
    }

    /// Passes a full chunk to the store, or leaves it to the readers if the store refuses it.
    async fn settle(&mut self, number: usize, chunk: Bytes) -> Result<(), Broken> {
        if self.store.keep(&self.object, number, chunk.clone()).await {
            self.object.changed.notify_waiters();
            return Ok(());
        }
        {
            let mut content = self.object.content();
            if let Some(slot) = content.slots.get_mut(number).filter(|slot| !matches!(slot, Slot::Held(..))) {
                *slot = Slot::Loose(chunk);
            }
            // Earlier chunks were dropped in turn; a content that was just abandoned has a few more.
            if let Some(oldest) = number.checked_sub(LOOSE_CHUNKS) {
                for slot in
                    content.slots.iter_mut().take(oldest + 1).skip(oldest.saturating_sub(2 * LOOSE_CHUNKS))
                {
                    if matches!(slot, Slot::Loose(_)) {
                        *slot = Slot::Absent;
                    }
                }
            }
        }
        self.object.changed.notify_waiters();
        self.wait_for_readers(number).await
    }

    /// Waits so that the fill is not farther ahead of the first reader than the loose chunks reach.
    async fn wait_for_readers(&self, number: usize) -> Result<(), Broken> {
        loop {
            let mut changed = std::pin::pin!(self.object.changed.notified());
            changed.as_mut().enable();
            {
                let content = self.object.content();
                if content.readers == 0 {
                    return Err(Broken::Unwanted);
                }
                if number < number_of(content.furthest) + LOOSE_CHUNKS / 2 {
                    return Ok(());
                }
            }
            changed.await;
        }
    }

    /// The missing bytes of the fill.
    #[must_use]
    pub fn left(&self) -> Range<u64> {
        self.at..self.end.unwrap_or(u64::MAX)
    }
}

/// The first position from `start` on at which bytes join the present ones.
fn first_usable(content: &Content, start: u64) -> u64 {
    let (number, offset) = (number_of(start), (start % CHUNK_BYTES as u64) as usize);
    let begun = match content.slots.get(number) {
        Some(Slot::Filling(bytes)) => bytes.len(),
        _ => 0,
    };
    if offset <= begun { start } else { start_of(number + 1) }
}

impl Drop for Fill {
    fn drop(&mut self) {
        {
            let mut content = self.object.content();
            content.fills.retain(|(id, _)| *id != self.id);
            if content.fills.is_empty() {
                // Most contents have no further fill.
                content.fills = Vec::new();
            }
        }
        self.object.changed.notify_waiters();
    }
}
