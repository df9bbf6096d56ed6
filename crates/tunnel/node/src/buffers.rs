//! Buffers go round: where packets wait, once warm, nothing is allocated.

/// Empty buffers that were used before, bounded by what they could hold.
#[derive(Debug)]
pub struct Buffers {
    spare: Vec<Vec<u8>>,
    spare_bytes: usize,
    limit_bytes: usize,
    /// The fewest spare ones since the last look.
    least: usize,
}

impl Buffers {
    /// None yet, and never more than `limit_bytes`.
    #[must_use]
    pub fn new(limit_bytes: usize) -> Self {
        Buffers { spare: Vec::new(), spare_bytes: 0, limit_bytes, least: 0 }
    }

    /// An empty buffer, used before if there is one.
    #[must_use]
    pub fn take(&mut self) -> Vec<u8> {
        let buffer = self.spare.pop().unwrap_or_default();
        self.spare_bytes -= buffer.capacity();
        self.least = self.least.min(self.spare.len());
        buffer
    }

    /// Bytes of memory of the buffers that are kept.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.spare_bytes + self.spare.capacity() * size_of::<Vec<u8>>()
    }

    /// Frees those that nobody needed since the last call.
    pub fn trim(&mut self) {
        for buffer in self.spare.drain(..self.least.min(self.spare.len())) {
            self.spare_bytes -= buffer.capacity();
        }
        self.least = self.spare.len();
    }

    /// Sets how many bytes are kept at most.
    pub fn set_limit(&mut self, limit_bytes: usize) {
        self.limit_bytes = limit_bytes;
        while self.spare_bytes > limit_bytes
            && let Some(buffer) = self.spare.pop()
        {
            self.spare_bytes -= buffer.capacity();
        }
    }

    /// Takes a buffer back.
    pub fn recycle(&mut self, mut buffer: Vec<u8>) {
        let fits = self.spare_bytes + buffer.capacity() <= self.limit_bytes;
        if fits && buffer.capacity() > 0 {
            buffer.clear();
            self.spare_bytes += buffer.capacity();
            self.spare.push(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_that_came_back_is_used_again_and_too_many_are_not_kept() {
        let mut buffers = Buffers::new(3000);
        for _ in 0..4 {
            buffers.recycle(Vec::new());
            buffers.recycle(Vec::with_capacity(1000));
        }
        let taken: Vec<_> = (0..4).map(|_| buffers.take().capacity()).collect();
        assert_eq!(taken, [1000, 1000, 1000, 0]);
        assert_eq!((buffers.spare_bytes, buffers.spare.len()), (0, 0));
    }

    #[test]
    fn buffers_that_nobody_needed_for_a_while_are_freed() {
        let mut buffers = Buffers::new(1 << 20);
        (0..10).for_each(|_| buffers.recycle(Vec::with_capacity(1000)));
        buffers.trim();
        assert_eq!(buffers.spare.len(), 10, "they are new");
        let taken: Vec<_> = (0..4).map(|_| buffers.take()).collect();
        taken.into_iter().for_each(|buffer| buffers.recycle(buffer));
        buffers.trim();
        assert_eq!((buffers.spare.len(), buffers.spare_bytes), (4, 4000));
        buffers.trim();
        assert_eq!(buffers.spare.len(), 0);
    }
}
