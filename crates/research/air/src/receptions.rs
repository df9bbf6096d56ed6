//! Recorded receptions of a sequence of probes.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The most receptions that one recording may have.
pub const MOST_RECEPTIONS: usize = 1 << 24;

/// A recording of receptions, one a transmission, repeated when it ends. Written as a string of `1`
/// (received) and `0` (lost).
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Receptions(Arc<[bool]>);

/// The text is not a recording of receptions.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MalformedReceptions {
    /// It is empty.
    #[error("receptions are empty: at least one 0 or 1 is needed")]
    Empty,
    /// More than [`MOST_RECEPTIONS`].
    #[error("receptions are longer than {MOST_RECEPTIONS}")]
    TooLong,
    /// Another character than 0 and 1.
    #[error("receptions have `{character}` at position {position}, where only 0 and 1 may be")]
    Character {
        /// The character.
        character: char,
        /// Its position in characters, from 0.
        position: usize,
    },
    /// A line of a table lacks columns.
    #[error("line {line}: {what}")]
    Line {
        /// Its number, from 1.
        line: usize,
        /// The fault.
        what: &'static str,
    },
}

impl Receptions {
    /// Whether transmission `number` is received.
    pub fn received(&self, number: u64) -> bool {
        self.0[(number % self.0.len() as u64) as usize]
    }

    /// Number of recorded transmissions; at least 1.
    #[expect(clippy::len_without_is_empty, reason = "never empty")]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The share of received transmissions.
    pub fn delivery(&self) -> f64 {
        self.0.iter().filter(|&&received| received).count() as f64 / self.0.len() as f64
    }

    /// The recording without repetition.
    pub fn iter(&self) -> impl Iterator<Item = bool> + '_ {
        self.0.iter().copied()
    }
}

impl FromStr for Receptions {
    type Err = MalformedReceptions;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.is_empty() {
            return Err(MalformedReceptions::Empty);
        }
        if text.len() > MOST_RECEPTIONS {
            return Err(MalformedReceptions::TooLong);
        }
        text.chars()
            .enumerate()
            .map(|(position, character)| match character {
                '0' => Ok(false),
                '1' => Ok(true),
                _ => Err(MalformedReceptions::Character { character, position }),
            })
            .collect::<Result<Arc<[bool]>, _>>()
            .map(Self)
    }
}

impl fmt::Display for Receptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|&received| f.write_str(if received { "1" } else { "0" }))
    }
}

impl fmt::Debug for Receptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Receptions({self})")
    }
}

impl TryFrom<String> for Receptions {
    type Error = MalformedReceptions;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Receptions> for String {
    fn from(receptions: Receptions) -> Self {
        receptions.to_string()
    }
}

/// Receptions of one radio's probes at another, in a measured network.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedPath {
    /// Name of the transmitter.
    pub transmitter: String,
    /// Name of the receiver.
    pub receiver: String,
    /// The received probes. Equal positions are the same probe at every receiver.
    pub receptions: Receptions,
}

/// The most paths that one table may have.
pub const MOST_PATHS: usize = 1 << 16;

/// Parses a table of recorded paths: comma-separated lines. The first two columns are the names of
/// transmitter and receiver, and the last one is the receptions. A first line without receptions in its last
/// column is the heading.
pub fn read_paths(table: &str) -> Result<Vec<RecordedPath>, MalformedReceptions> {
    let mut paths = Vec::new();
    for (number, line) in table.lines().enumerate() {
        let line = line.trim_end();
        let wrong = |what| MalformedReceptions::Line { line: number + 1, what };
        if line.is_empty() {
            continue;
        }
        let (Some((transmitter, rest)), Some((_, bits))) = (line.split_once(','), line.rsplit_once(','))
        else {
            return Err(wrong("fewer than three columns"));
        };
        let (receiver, _) = rest.split_once(',').ok_or(wrong("fewer than three columns"))?;
        let receptions = match bits.parse() {
            Ok(receptions) => receptions,
            Err(_) if number == 0 => continue,
            Err(_) => return Err(wrong("the last column is no row of 0 and 1")),
        };
        if paths.len() == MOST_PATHS {
            return Err(wrong("too many paths"));
        }
        paths.push(RecordedPath { transmitter: transmitter.into(), receiver: receiver.into(), receptions });
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_recording_repeats() {
        let receptions: Receptions = "1101".parse().unwrap();
        let read: Vec<bool> = (0..9).map(|number| receptions.received(number)).collect();
        assert_eq!(read, [true, true, false, true, true, true, false, true, true]);
        assert_eq!(receptions.delivery(), 0.75);
        assert_eq!(receptions.to_string(), "1101");
    }

    #[test]
    fn what_is_no_recording_is_refused() {
        assert_eq!("".parse::<Receptions>(), Err(MalformedReceptions::Empty));
        assert_eq!(
            "10x".parse::<Receptions>(),
            Err(MalformedReceptions::Character { character: 'x', position: 2 })
        );
        assert_eq!("1".repeat(MOST_RECEPTIONS + 1).parse::<Receptions>(), Err(MalformedReceptions::TooLong));
    }

    #[test]
    fn a_table_of_paths_is_read_by_its_outer_columns() {
        let paths = read_paths("tx,rx,delivery,bits\na,b,0.5,10\n\na,c,1.0,11\n").unwrap();
        assert_eq!(paths.len(), 2);
        assert_eq!((paths[1].transmitter.as_str(), paths[1].receiver.as_str()), ("a", "c"));
        assert_eq!(paths[0].receptions.delivery(), 0.5);
        assert!(read_paths("a,b,10\na,b,12\n").is_err());
        assert!(read_paths("a,10\n").is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[01,ax\n]{0,60}") {
            let _ = read_paths(&text);
            if let Ok(receptions) = text.parse::<Receptions>() {
                prop_assert_eq!(receptions.to_string(), text);
            }
        }
    }
}
