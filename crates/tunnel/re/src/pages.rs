//! Memory with random access.
//!
//! With pages of 4 KiB, nearly every access to a table of some MiB also misses the processor's translation
//! buffer. In a virtual machine that costs more than the access itself: repeated packets took two to three
//! times as long to encode. Linux gives larger pages on request.

use memmap2::{Advice, MmapMut};
use std::ops::{Deref, DerefMut};

/// The smallest size that the kernel gives, and takes back at once.
const MAPPED_BYTES: usize = 64 << 10;
/// The smallest size for which large pages are requested. A smaller size would be rounded up to one page.
/// Fuzzing makes many tables and touches few of their bytes: the kernel clears small pages one by one.
const LARGE_BYTES: usize = 2 << 20;

/// Memory that is zero at first. Many bytes are in large pages, if the system has them.
pub enum Pages {
    /// From the allocator.
    Allocated(Vec<u8>),
    /// From the kernel.
    Mapped(MmapMut),
}

impl Pages {
    /// `count` zero bytes.
    #[must_use]
    pub fn zeroed(count: usize) -> Self {
        let mapped = if count < MAPPED_BYTES { None } else { MmapMut::map_anon(count).ok() };
        let Some(mapped) = mapped else { return Pages::Allocated(vec![0; count]) };
        if count >= LARGE_BYTES && !cfg!(fuzzing) {
            let _ = mapped.advise(Advice::HugePage); // without large pages the memory works as well
        }
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
        for count in [0, 1, MAPPED_BYTES - 1, MAPPED_BYTES, LARGE_BYTES, LARGE_BYTES + 4097] {
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
