//! Stateless zstd of a packet's rest.

use zstd::bulk::Compressor;

/// Compresses the literals of one packet at a time.
pub(super) struct Literals {
    /// `None` if zstd refuses the level; nothing is compressed then.
    compressor: Option<Compressor<'static>>,
    literals: Vec<u8>,
    compressed: Vec<u8>,
}

impl Literals {
    pub(super) fn new(level: i32) -> Self {
        Literals { compressor: Compressor::new(level).ok(), literals: Vec::new(), compressed: Vec::new() }
    }

    /// Starts the next packet.
    pub(super) fn clear(&mut self) {
        self.literals.clear();
    }

    /// Adds literals of the packet.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.literals.extend_from_slice(bytes);
    }

    pub(super) fn len(&self) -> usize {
        self.literals.len()
    }

    /// Length of the compressed literals as a complete zstd frame with header, or their plain length if it is
    /// shorter.
    pub(super) fn compressed_bytes(&mut self) -> usize {
        let plain_bytes = self.literals.len();
        let Some(compressor) = &mut self.compressor else { return plain_bytes };
        if plain_bytes == 0 {
            return 0;
        }
        self.compressed.clear();
        self.compressed.reserve(zstd::zstd_safe::compress_bound(plain_bytes));
        match compressor.compress_to_buffer(&self.literals[..], &mut self.compressed) {
            Ok(bytes) => bytes.min(plain_bytes),
            Err(_) => plain_bytes,
        }
    }
}
