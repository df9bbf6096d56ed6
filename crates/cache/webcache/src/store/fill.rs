//! Writes a content as it comes in, for readers to follow.

use super::Store;
use super::chunk::{CHUNK_BYTES, length_of, number_of, start_of};
use super::object::{Content, LOOSE_CHUNKS, Object, Slot};
use bytes::{Buf, Bytes};
use std::ops::Range;
use std::sync::Arc;

/// Fills a part of a content, in order. Dropped, it gives up, and readers know.
pub struct Fill {
    store: Arc<Store>,
    object: Arc<Object>,
    id: u64,
    at: u64,
    end: Option<u64>,
    /// What comes before this is discarded: the part began in the middle of a chunk whose beginning is not
    /// here.
    usable_from: u64,
}

/// Why a fill ended before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// The sender stopped early.
    #[error("the content ended before its declared length")]
    Short,
    /// The sender did not stop.
    #[error("the content is longer than declared")]
    Long,
    /// Nobody reads what cannot be kept.
    #[error("nobody is left to read it")]
    Unwanted,
}

impl Fill {
    /// Begins to fill `range`; an end that is not known is `None`.
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

    /// Where the next byte goes.
    #[must_use]
    pub fn at(&self) -> u64 {
        self.at
    }

    /// What is filled.
    #[must_use]
    pub fn object(&self) -> &Arc<Object> {
        &self.object
    }

    /// How many read it.
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

    /// Ends the part where it was to end, or ends the content where that was not known.
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

    /// Adds to a chunk; returns it when it is full.
    fn add(&mut self, number: usize, offset: usize, bytes: &[u8]) -> Option<Bytes> {
        let mut content = self.object.content();
        let whole = content.length.map_or(CHUNK_BYTES, |length| length_of(number, length));
        // Exactly what comes, where that is known: room to spare would be kept with it.
        let expected = if content.length.is_some() { whole } else { bytes.len() };
        if let Some((_, fill)) = content.fills.iter_mut().find(|(id, _)| *id == self.id) {
            fill.start = number;
        }
        let slot = content.slot(number);
        if matches!(slot, Slot::Absent) && offset == 0 {
            *slot = Slot::Filling(Vec::with_capacity(expected));
        }
        let Slot::Filling(begun) = slot else { return None };
        // What stood before these bytes is gone meanwhile: they join nothing.
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
        // Readers go on with it while it is being kept.
        *slot = Slot::Loose(full.clone());
        Some(full)
    }

    /// Gives a full chunk to the store, or leaves it to the readers if the store does not take it.
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
            // Those before were dropped when their turn came; a content that was just given up leaves a few
            // more.
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

    /// Stays no farther before the first reader than what is not kept can bridge.
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

    /// The bytes that it was to bring and did not.
    #[must_use]
    pub fn left(&self) -> Range<u64> {
        self.at..self.end.unwrap_or(u64::MAX)
    }
}

/// Where bytes that come from `start` on first join what is there.
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
                // for most contents there is never another one
                content.fills = Vec::new();
            }
        }
        self.object.changed.notify_waiters();
    }
}
