//! The index on disk: a file of records, appended at each event, and rewritten when most of it is history.
//!
//! ```text
//!  "overheard cache 1\n"                             the form's version
//!  length u32 │ check [u8; 8] │ record …             each record; check is BLAKE2b of it
//! ```
//!
//! A record that was truncated by a crash, or changed by the disk, fails its check. Reading ends there, and
//! the rest is dropped. That is harmless: the next start deletes chunks without references.

use super::chunk::ChunkId;
use crate::semantics::freshness::Freshness;
use blake2::digest::consts::U8;
use blake2::{Blake2b, Digest};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};

const VERSION: &[u8] = b"overheard cache 1\n";
const HEADER_BYTES: usize = 4 + 8;
/// The longest record. A longer head is not written, so its response is lost at the end.
const LONGEST_BYTES: usize = 1 << 20;

/// An event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    /// A response is stored.
    Object(Stored),
    /// A chunk of it is.
    Chunk {
        /// The object's number.
        object: u64,
        /// Its number.
        number: u32,
        /// Its octets.
        length: u32,
        /// Its content.
        id: ChunkId,
    },
    /// Its length is now known.
    Length {
        /// The object's number.
        object: u64,
        /// In octets.
        length: u64,
    },
    /// It is no longer stored.
    Removed {
        /// The object's number.
        object: u64,
    },
}

/// A stored response without its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stored {
    /// Its number. A second record with the same number renews the head.
    pub object: u64,
    /// Its URI.
    pub key: String,
    /// The fields that its Vary nominated.
    pub nominated: Vec<(String, String)>,
    /// Its status.
    pub status: u16,
    /// Its fields in order. Each octet of a value is one character.
    pub headers: Vec<(String, String)>,
    /// Its permitted uses.
    pub freshness: Freshness,
    /// Its length in octets, if known.
    pub length: Option<u64>,
}

/// An open journal.
pub struct Journal {
    file: File,
    path: PathBuf,
    bytes: u64,
}

/// Reason why a journal cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    /// It belongs to another program or version.
    #[error(
        "{0} is of another version of this program or of something else; empty the directory or choose another"
    )]
    OtherVersion(PathBuf),
    /// The system refused.
    #[error("{0}")]
    System(#[from] io::Error),
}

impl Journal {
    /// Opens or creates the journal at `path`, and passes each complete record to `each`.
    pub fn open(path: &Path, mut each: impl FnMut(Record)) -> Result<Self, Unusable> {
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error.into()),
        };
        let mut kept = 0;
        // A start killed in its first write leaves a prefix of the version. Any other content is not ours.
        if !VERSION.starts_with(&bytes) {
            let mut rest =
                bytes.strip_prefix(VERSION).ok_or_else(|| Unusable::OtherVersion(path.to_owned()))?;
            kept = VERSION.len();
            while let Some((record, length)) = next(rest) {
                each(record);
                kept += length;
                rest = &rest[length..];
            }
        }
        let file = File::options().create(true).truncate(false).read(true).write(true).open(path)?;
        let mut journal = Journal { file, path: path.to_owned(), bytes: 0 };
        journal.file.set_len(kept as u64)?;
        journal.file.seek(io::SeekFrom::End(0))?;
        journal.bytes = kept as u64;
        if kept == 0 {
            journal.file.write_all(VERSION)?;
            journal.bytes = VERSION.len() as u64;
        }
        Ok(journal)
    }

    /// Octets of the file.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Adds a record.
    ///
    /// # Errors
    ///
    /// The system's error. A truncated record is removed, so that later ones stay readable.
    pub fn append(&mut self, record: &Record) -> io::Result<()> {
        let Some(bytes) = framed(record) else { return Ok(()) };
        match self.file.write_all(&bytes) {
            Ok(()) => {
                self.bytes += bytes.len() as u64;
                Ok(())
            }
            Err(error) => {
                self.file.set_len(self.bytes)?;
                self.file.seek(io::SeekFrom::End(0))?;
                Err(error)
            }
        }
    }

    /// Replaces the file by one with only these records.
    pub fn rewrite(&mut self, records: impl Iterator<Item = Record>) -> io::Result<()> {
        let fresh = self.path.with_extension("new");
        let mut writer = io::BufWriter::new(File::create(&fresh)?);
        writer.write_all(VERSION)?;
        let mut bytes = VERSION.len() as u64;
        for record in records {
            let Some(framed) = framed(&record) else { continue };
            writer.write_all(&framed)?;
            bytes += framed.len() as u64;
        }
        let file = writer.into_inner().map_err(io::IntoInnerError::into_error)?;
        std::fs::rename(&fresh, &self.path)?;
        (self.file, self.bytes) = (file, bytes);
        Ok(())
    }
}

fn check_of(record: &[u8]) -> [u8; 8] {
    Blake2b::<U8>::digest(record).into()
}

/// A record with its frame; `None` if it is too long to be read again.
fn framed(record: &Record) -> Option<Vec<u8>> {
    let mut out = vec![0; HEADER_BYTES];
    emit(record, &mut out);
    let length = out.len() - HEADER_BYTES;
    let length = u32::try_from(length).ok().filter(|_| length <= LONGEST_BYTES)?;
    let check = check_of(&out[HEADER_BYTES..]);
    out[..4].copy_from_slice(&length.to_le_bytes());
    out[4..HEADER_BYTES].copy_from_slice(&check);
    Some(out)
}

/// The first record and its length with frame; `None` if it is incomplete.
pub fn next(bytes: &[u8]) -> Option<(Record, usize)> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let (check, rest) = rest.split_first_chunk::<8>()?;
    let length =
        usize::try_from(u32::from_le_bytes(*length)).ok().filter(|length| *length <= LONGEST_BYTES)?;
    let body = rest.get(..length)?;
    if check_of(body) != *check {
        return None;
    }
    Some((parse(body)?, HEADER_BYTES + length))
}

/// Writes a record without its frame.
pub fn emit(record: &Record, out: &mut Vec<u8>) {
    match record {
        Record::Object(stored) => {
            out.push(0);
            // JSON is small, readable in case of trouble, and serde is already a dependency.
            out.extend_from_slice(&serde_json::to_vec(stored).unwrap_or_default());
        }
        Record::Chunk { object, number, length, id } => {
            out.push(1);
            out.extend_from_slice(&object.to_le_bytes());
            out.extend_from_slice(&number.to_le_bytes());
            out.extend_from_slice(&length.to_le_bytes());
            out.extend_from_slice(&id.0);
        }
        Record::Length { object, length } => {
            out.push(2);
            out.extend_from_slice(&object.to_le_bytes());
            out.extend_from_slice(&length.to_le_bytes());
        }
        Record::Removed { object } => {
            out.push(3);
            out.extend_from_slice(&object.to_le_bytes());
        }
    }
}

/// The inverse of [`emit`]; `None` if it is not a record.
#[must_use]
pub fn parse(bytes: &[u8]) -> Option<Record> {
    let (kind, rest) = bytes.split_first()?;
    if *kind == 0 {
        return serde_json::from_slice(rest).ok().map(Record::Object);
    }
    let (object, rest) = rest.split_first_chunk::<8>()?;
    let object = u64::from_le_bytes(*object);
    match kind {
        1 => {
            let (number, rest) = rest.split_first_chunk::<4>()?;
            let (length, rest) = rest.split_first_chunk::<4>()?;
            let id = ChunkId(rest.try_into().ok()?);
            let (number, length) = (u32::from_le_bytes(*number), u32::from_le_bytes(*length));
            Some(Record::Chunk { object, number, length, id })
        }
        2 => Some(Record::Length { object, length: u64::from_le_bytes(rest.try_into().ok()?) }),
        3 if rest.is_empty() => Some(Record::Removed { object }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records() -> Vec<Record> {
        let freshness = Freshness {
            received: 1,
            initial_age: 2,
            lifetime: 3,
            stale_while_revalidate: 4,
            stale_if_error: Some(5),
            must_revalidate: true,
            always_validate: false,
        };
        let stored = Stored {
            object: 7,
            key: "http://a/".to_owned(),
            nominated: vec![("accept".to_owned(), "b".to_owned())],
            status: 200,
            headers: vec![("x".to_owned(), "\u{e9}".to_owned())],
            freshness,
            length: Some(9),
        };
        vec![
            Record::Object(stored),
            Record::Chunk { object: 7, number: 1, length: 9, id: ChunkId::of(b"x") },
            Record::Length { object: 7, length: 9 },
            Record::Removed { object: 7 },
        ]
    }

    fn reopened(path: &Path) -> Vec<Record> {
        let mut read = Vec::new();
        Journal::open(path, |record| read.push(record)).unwrap();
        read
    }

    #[test]
    fn what_was_appended_is_read_again_also_after_a_rewrite() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index");
        let mut journal = Journal::open(&path, |_| panic!("there is nothing yet")).unwrap();
        records().iter().for_each(|record| journal.append(record).unwrap());
        assert_eq!(reopened(&path), records());
        journal.rewrite(records().into_iter().take(1)).unwrap();
        journal.append(&records()[2]).unwrap();
        assert_eq!(journal.bytes(), path.metadata().unwrap().len());
        assert_eq!(reopened(&path), [records()[0].clone(), records()[2].clone()]);
    }

    #[test]
    fn a_head_that_is_too_long_is_left_out_and_hides_nothing_behind_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index");
        let mut journal = Journal::open(&path, |_| {}).unwrap();
        let Record::Object(mut long) = records()[0].clone() else { panic!("it is an object") };
        long.headers.push(("y".to_owned(), "\u{1}".repeat(LONGEST_BYTES / 4)));
        journal.append(&Record::Object(long)).unwrap();
        journal.append(&records()[3]).unwrap();
        assert_eq!(reopened(&path), [records()[3].clone()]);
    }

    #[test]
    fn a_record_cut_short_or_damaged_ends_the_reading_and_what_follows_is_written_after_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index");
        let mut journal = Journal::open(&path, |_| {}).unwrap();
        records().iter().for_each(|record| journal.append(record).unwrap());
        let whole = std::fs::read(&path).unwrap();
        for length in 0..whole.len() {
            std::fs::write(&path, &whole[..length]).unwrap();
            let before = reopened(&path);
            assert!(records().starts_with(&before), "{length}");
            let mut journal = Journal::open(&path, |_| {}).unwrap();
            journal.append(&records()[3]).unwrap();
            assert_eq!(reopened(&path).len(), before.len() + 1, "{length}");
        }
        for at in VERSION.len()..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            std::fs::write(&path, &damaged).unwrap();
            assert!(records().starts_with(&reopened(&path)), "{at}");
        }
    }

    #[test]
    fn an_index_of_another_version_is_refused_and_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index");
        std::fs::write(&path, "overheard cache 2\nwhatever").unwrap();
        assert!(matches!(Journal::open(&path, |_| {}), Err(Unusable::OtherVersion(_))));
        assert_eq!(std::fs::read(&path).unwrap(), b"overheard cache 2\nwhatever");
    }
}
