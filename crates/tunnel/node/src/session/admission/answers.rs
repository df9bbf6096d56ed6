//! Recent answers to initiations.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::Duration;
use wire::handshake::MARK_BYTES;

/// Marks in one generation; two are kept.
const MARKS: usize = 8192;
/// Letters in one generation.
const LETTERS: usize = 64;
/// How often an answer is given again where it was asked for, and how soon.
const MOST_AGAIN: u32 = 6;
const AGAIN_AFTER: Duration = Duration::from_millis(200);

/// An answer to an initiation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Letter {
    /// This unit, again and again.
    Unit(Vec<u8>),
    /// A cookie, which is another one for each address that asks.
    Cookie,
}

/// The answer to an initiation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The initiator.
    pub peer: usize,
    /// The session that it made, of a response: once that is confirmed or over, it is not answered again.
    pub session: Option<u32>,
    /// The answer to send.
    pub letter: Letter,
    /// Where the initiation came from first.
    pub first_from: SocketAddr,
    /// When it was given last, and how often again.
    pub given: (Duration, u32),
}

impl Answer {
    /// Gives it once more where it was asked for; whether that may be.
    pub fn give_again(&mut self, now: Duration) -> bool {
        let (last, count) = self.given;
        let may = count < MOST_AGAIN && now >= last + AGAIN_AFTER;
        if may {
            self.given = (now, count + 1);
        }
        may
    }
}

/// The initiations that were decrypted, by their marks, and the answers to the newest.
#[derive(Debug, Default)]
pub struct Answers {
    marks: [BTreeSet<u128>; 2],
    letters: [BTreeMap<u128, Answer>; 2],
}

impl Answers {
    /// Whether an initiation with this mark was decrypted lately.
    #[must_use]
    pub fn has(&self, mark: [u8; MARK_BYTES]) -> bool {
        let mark = u128::from_be_bytes(mark);
        self.marks.iter().any(|marks| marks.contains(&mark))
    }

    /// Whether the answer was only a demand for a cookie. A sender with a cookie for its own address then
    /// gets an answer, even if a copy of its initiation arrived first.
    #[must_use]
    pub fn awaits_cookie(&self, mark: [u8; MARK_BYTES]) -> bool {
        let mark = u128::from_be_bytes(mark);
        let answer = self.letters.iter().find_map(|letters| letters.get(&mark));
        answer.is_some_and(|answer| answer.letter == Letter::Cookie)
    }

    /// The answer to it, while that is remembered.
    pub fn of(&mut self, mark: [u8; MARK_BYTES]) -> Option<&mut Answer> {
        let mark = u128::from_be_bytes(mark);
        self.letters.iter_mut().find_map(|letters| letters.get_mut(&mark))
    }

    /// Forgets the answers to a peer, which is one no more. Its initiations stay known.
    pub fn forget(&mut self, peer: usize) {
        self.letters.iter_mut().for_each(|letters| letters.retain(|_, answer| answer.peer != peer));
    }

    /// Notes that an initiation was decrypted, and what it was answered.
    pub fn note(&mut self, mark: [u8; MARK_BYTES], answer: Option<Answer>) {
        let mark = u128::from_be_bytes(mark);
        if self.marks[0].len() >= MARKS {
            self.marks.swap(0, 1);
            self.marks[0].clear();
        }
        self.marks[0].insert(mark);
        if let Some(answer) = answer {
            if self.letters[0].len() >= LETTERS {
                self.letters.swap(0, 1);
                self.letters[0].clear();
            }
            self.letters[0].insert(mark, answer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(number: usize) -> [u8; MARK_BYTES] {
        (number as u128).to_be_bytes()
    }

    fn answer(peer: usize) -> Answer {
        let first_from = ([192, 0, 2, 1], 4780).into();
        Answer {
            peer,
            session: None,
            letter: Letter::Unit(vec![1; 100]),
            first_from,
            given: (Duration::ZERO, 0),
        }
    }

    #[test]
    fn an_answer_is_given_again_a_few_times_and_not_at_once() {
        let mut answer = answer(0);
        let given =
            (0..10_000).filter(|&ms| answer.give_again(Duration::from_millis(ms))).collect::<Vec<u64>>();
        assert_eq!(given, [200, 400, 600, 800, 1000, 1200]);
    }

    #[test]
    fn the_newest_marks_and_answers_are_remembered_and_memory_is_bounded() {
        let mut answers = Answers::default();
        for number in 0..10 * MARKS {
            answers.note(mark(number), Some(answer(number)));
            let oldest = (number + 1).saturating_sub(MARKS);
            assert!(answers.has(mark(oldest)));
            assert_eq!(answers.of(mark(number)).unwrap().peer, number);
        }
        assert!(!answers.has(mark(0)) && answers.of(mark(0)).is_none());
        assert!(answers.marks.iter().map(BTreeSet::len).sum::<usize>() <= 2 * MARKS);
        assert!(answers.letters.iter().map(BTreeMap::len).sum::<usize>() <= 2 * LETTERS);
    }

    #[test]
    fn what_was_refused_is_known_and_has_no_answer() {
        let mut answers = Answers::default();
        answers.note(mark(7), None);
        assert!(answers.has(mark(7)) && answers.of(mark(7)).is_none());
    }
}
