//! Memory of the stored packets, in blocks of one size.
//!
//! A place is a block's number times its size, and the offset in the block. No packet lies in two blocks.
//! Many blocks are one piece of memory, for which the system gives large pages ([`crate::pages`]).

use crate::pages::Pages;
use prefetch_index::prefetch_index;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The smallest block: a packet has at most 64 KiB.
const LEAST_BYTES: usize = 64 << 10;
/// The largest block.
const MOST_BYTES: usize = 1 << 20;
/// Blocks of a full store, about: each class of packets has up to two that are partly empty.
const BLOCKS: usize = 64;
/// Bytes of a piece of memory, if a store is as large.
const PIECE_BYTES: usize = 4 << 20;

/// Bytes that are fetched before they are written: a packet of the usual size.
const AHEAD_BYTES: usize = 1536;
/// Bytes that a processor fetches together.
const LINE_BYTES: usize = 64;

/// The blocks of one store.
#[derive(Debug, Clone)]
pub(super) struct Blocks {
    /// Binary logarithm of a block's bytes.
    block_shift: u32,
    /// Binary logarithm of a piece's bytes.
    piece_shift: u32,
    /// Pieces of memory by their number; `None` once their blocks were returned.
    pieces: Vec<Option<Pages>>,
    /// Bytes of packets in each block.
    live_bytes: Vec<u32>,
    /// Blocks without packets, below the number of blocks ever used.
    free: BinaryHeap<Reverse<u32>>,
}

impl Blocks {
    /// Blocks for a store of `store_bytes`. They take memory with their first packets.
    pub fn new(store_bytes: usize) -> Self {
        let block_bytes = (store_bytes / BLOCKS).next_power_of_two().clamp(LEAST_BYTES, MOST_BYTES);
        let piece_bytes = if store_bytes < PIECE_BYTES { block_bytes } else { PIECE_BYTES };
        Blocks {
            block_shift: block_bytes.ilog2(),
            piece_shift: piece_bytes.ilog2(),
            pieces: Vec::new(),
            live_bytes: Vec::new(),
            free: BinaryHeap::new(),
        }
    }

    /// Bytes of a block.
    pub fn block_bytes(&self) -> usize {
        1 << self.block_shift
    }

    /// Bytes of its memory that were used.
    pub fn size_bytes(&self) -> usize {
        let piece_blocks = 1 << (self.piece_shift - self.block_shift);
        let used = |(number, piece): (usize, &Option<Pages>)| {
            let blocks = self.live_bytes.len().saturating_sub(number * piece_blocks).min(piece_blocks);
            if piece.is_some() { blocks << self.block_shift } else { 0 }
        };
        self.pieces.iter().enumerate().map(used).sum()
    }

    /// Takes a block without packets.
    pub fn take(&mut self) -> u32 {
        let block = match self.free.pop() {
            Some(Reverse(block)) => block,
            None => {
                self.live_bytes.push(0);
                self.live_bytes.len() as u32 - 1
            }
        };
        let piece = (block as usize) >> (self.piece_shift - self.block_shift);
        if piece == self.pieces.len() {
            self.pieces.push(None);
        }
        self.pieces[piece].get_or_insert_with(|| Pages::zeroed(1 << self.piece_shift));
        block
    }

    /// Gives back a block whose packets are gone.
    pub fn give_back(&mut self, block: u32) {
        debug_assert_eq!(self.live_bytes[block as usize], 0, "packets are in block {block}");
        self.free.push(Reverse(block));
    }

    /// Returns the memory of pieces without packets.
    pub fn shrink(&mut self) {
        let piece_blocks = 1 << (self.piece_shift - self.block_shift);
        let mut free = vec![0; self.pieces.len()];
        self.free.iter().for_each(|Reverse(block)| free[*block as usize / piece_blocks] += 1);
        for (number, (piece, free)) in self.pieces.iter_mut().zip(free).enumerate() {
            if free == piece_blocks.min(self.live_bytes.len() - number * piece_blocks) {
                *piece = None;
            }
        }
    }

    /// Bytes of packets in a block.
    pub fn live_bytes(&self, block: u32) -> usize {
        self.live_bytes[block as usize] as usize
    }

    /// The block of a place.
    pub fn block_of(&self, start: u32) -> u32 {
        start >> self.block_shift
    }

    /// The place at this offset in a block.
    pub fn place(&self, block: u32, offset: usize) -> u32 {
        block << self.block_shift | offset as u32
    }

    fn split(&self, start: u32) -> (usize, usize) {
        let start = start as usize;
        (start >> self.piece_shift, start & ((1 << self.piece_shift) - 1))
    }

    /// The bytes at a place.
    #[inline]
    pub fn get(&self, start: u32, length: usize) -> &[u8] {
        let (piece, offset) = self.split(start);
        self.pieces[piece].as_ref().map_or(&[], |piece| &piece[offset..offset + length])
    }

    /// Writes a packet, and fetches the memory behind it.
    pub fn write(&mut self, start: u32, packet: &[u8]) {
        let block = self.block_of(start) as usize;
        self.live_bytes[block] += packet.len() as u32;
        let (piece, offset) = self.split(start);
        let Some(piece) = &mut self.pieces[piece] else { return };
        let end = offset + packet.len();
        piece[offset..end].copy_from_slice(packet);
        for ahead in (0..AHEAD_BYTES).step_by(LINE_BYTES) {
            prefetch_index(&piece[..], end + ahead);
        }
    }

    /// Copies a packet to a free place. The former place counts no more.
    pub fn relocate(&mut self, from: u32, to: u32, length: usize) {
        let ((piece, offset), (to_piece, to_offset)) = (self.split(from), self.split(to));
        if piece == to_piece {
            if let Some(piece) = &mut self.pieces[piece] {
                piece.copy_within(offset..offset + length, to_offset);
            }
        } else if let Ok([Some(from), Some(to)]) = self.pieces.get_disjoint_mut([piece, to_piece]) {
            to[to_offset..to_offset + length].copy_from_slice(&from[offset..offset + length]);
        }
        let to = self.block_of(to) as usize;
        self.live_bytes[to] += length as u32;
        self.remove(from, length);
    }

    /// Counts a packet as gone.
    pub fn remove(&mut self, start: u32, length: usize) {
        let block = self.block_of(start) as usize;
        self.live_bytes[block] -= length as u32;
    }
}
