//! Memory that is looked at in no order.
//!
//! With pages of 4 KiB nearly every look at a table of some MiB also misses the processor's table of pages,
//! which in a virtual machine costs more than the memory itself: packets that repeat took two to three times
//! as long to encode. Linux has larger pages for whoever asks for them.

use memmap2::{Advice, MmapMut};
use std::ops::{Deref, DerefMut};

/// From here on large pages are asked for; less fits in a few, and would be rounded up to one.
const LARGE_BYTES: usize = 4 << 20;

/// Zeros at first; in large pages where there are many bytes, and the system has such pages.
pub enum Pages {
    /// By the allocator.
    Allocated(Vec<u8>),
    /// By the kernel.
    Mapped(MmapMut),
}

impl Pages {
    /// So many bytes.
    #[must_use]
    pub fn zeroed(count: usize) -> Self {
        let mapped = if count < LARGE_BYTES { None } else { MmapMut::map_anon(count).ok() };
        let Some(mapped) = mapped else { return Pages::Allocated(vec![0; count]) };
        // without large pages it is memory like any other
        let _ = mapped.advise(Advice::HugePage);
        Pages::Mapped(mapped)
    }
}

impl Deref for Pages {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            Pages::Allocated(bytes) => bytes,
            Pages::Mapped(bytes) => bytes,
        }
    }
}

impl DerefMut for Pages {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        match self {
            Pages::Allocated(bytes) => bytes,
            Pages::Mapped(bytes) => bytes,
        }
    }
}

impl Clone for Pages {
    fn clone(&self) -> Self {
        let mut pages = Pages::zeroed(self.len());
        pages.copy_from_slice(self);
        pages
    }
}

impl std::fmt::Debug for Pages {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Pages({} bytes)", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_bytes_and_many_begin_as_zeros_and_keep_what_is_written() {
        for count in [0, 1, LARGE_BYTES - 1, LARGE_BYTES, LARGE_BYTES + 4097] {
            let mut pages = Pages::zeroed(count);
            assert_eq!(pages.len(), count);
            assert!(pages.iter().all(|byte| *byte == 0));
            if let Some(last) = pages.last_mut() {
                *last = 7;
            }
            assert_eq!(pages.clone().last(), pages.last());
        }
    }
}
