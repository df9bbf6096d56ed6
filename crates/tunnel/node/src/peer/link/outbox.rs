//! Control messages that wait to be sent to the peer at once.

use std::collections::VecDeque;

/// Answers to pings that wait at once.
const MAX_PONGS: usize = 8;
/// Letters to another gateway that wait at once.
const MAX_LETTERS: usize = 512;

/// The messages.
#[derive(Default)]
pub struct Outbox {
    /// What gateways say to each other.
    letters: VecDeque<Vec<u8>>,
    /// Pings to be answered.
    pongs: Vec<[u8; 8]>,
    /// The store of received packets was lost.
    flushed: bool,
}

impl Outbox {
    /// Queues what a gateway says to this one. Where there is no room, the oldest is lost, as it might have
    /// been on the way.
    pub fn push_letter(&mut self, letter: Vec<u8>) {
        if self.letters.len() >= MAX_LETTERS {
            self.letters.pop_front();
        }
        self.letters.push_back(letter);
    }

    /// The oldest letter.
    pub fn next_letter(&self) -> Option<&[u8]> {
        self.letters.front().map(Vec::as_slice)
    }

    /// Forgets it.
    pub fn finish_letter(&mut self) {
        self.letters.pop_front();
    }

    /// Queues an answer to a ping, within the bound.
    pub fn push_pong(&mut self, token: [u8; 8]) {
        if self.pongs.len() < MAX_PONGS {
            self.pongs.push(token);
        }
    }

    /// Takes the answers to pings.
    pub fn take_pongs(&mut self) -> impl Iterator<Item = [u8; 8]> + '_ {
        self.pongs.drain(..)
    }

    /// The peer is to be told that the store of received packets was lost.
    pub fn note_flush(&mut self) {
        self.flushed = true;
    }

    /// Whether it is to be told; it is told then.
    pub fn take_flush(&mut self) -> bool {
        std::mem::take(&mut self.flushed)
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.letters.is_empty() && self.pongs.is_empty() && !self.flushed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_is_bounded_and_the_oldest_letter_goes_first() {
        let mut outbox = Outbox::default();
        assert!(outbox.is_empty());
        (0..MAX_LETTERS as u32 + 2).for_each(|at| outbox.push_letter(at.to_be_bytes().to_vec()));
        (0..20).for_each(|at| outbox.push_pong([at; 8]));
        assert_eq!(outbox.next_letter(), Some(&2u32.to_be_bytes()[..]), "two found no room");
        assert_eq!(outbox.take_pongs().count(), MAX_PONGS);
        while outbox.next_letter().is_some() {
            outbox.finish_letter();
        }
        assert!(outbox.is_empty());
        outbox.note_flush();
        assert!(!outbox.is_empty() && outbox.take_flush() && outbox.is_empty());
    }
}
