//! The directory of a cache: one file for each chunk, named by its hash, and the journal.

use super::chunk::ChunkId;
use super::journal::{Journal, Record, Unusable};
use rustix::fs::{FlockOperation, flock};
use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Unit of a file's size on disk.
const BLOCK_BYTES: u64 = 4096;

/// Reason why a directory cannot be used; a sentence with a remedy.
#[derive(Debug, thiserror::Error)]
pub enum NoDirectory {
    /// Another process uses it.
    #[error("{0} is in use by another cache; stop it or choose another directory")]
    InUse(PathBuf),
    /// It belongs to another version.
    #[error("{0}")]
    Index(Unusable),
    /// The system refused.
    #[error("cannot use {path}: {source}; choose a directory that may be written")]
    System {
        /// The path in question.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// An open directory, locked against other processes.
pub struct Directory {
    chunks: PathBuf,
    _lock: File,
}

impl Directory {
    /// Opens or creates the directory at `path`, passes each record of its index to `each`, and lists its
    /// chunks. The files' lengths are not read: that would take longest, and every read chunk is checked.
    pub fn open(
        path: &Path,
        each: impl FnMut(Record),
    ) -> Result<(Self, Journal, HashSet<ChunkId>), NoDirectory> {
        let system = |path: &Path| {
            let path = path.to_owned();
            move |source| NoDirectory::System { path, source }
        };
        fs::create_dir_all(path).map_err(system(path))?;
        let lock_path = path.join("lock");
        let lock = File::create(&lock_path).map_err(system(&lock_path))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| NoDirectory::InUse(path.to_owned()))?;
        let journal = Journal::open(&path.join("index"), each).map_err(NoDirectory::Index)?;
        let chunks = path.join("chunks");
        let mut found = HashSet::new();
        for first in 0..=u8::MAX {
            let folder = chunks.join(format!("{first:02x}"));
            fs::create_dir_all(&folder).map_err(system(&folder))?;
            for entry in fs::read_dir(&folder).map_err(system(&folder))? {
                let entry = entry.map_err(system(&folder))?;
                let name = entry.file_name();
                match name.to_str().and_then(ChunkId::parse) {
                    Some(id) => drop(found.insert(id)),
                    None => drop(fs::remove_file(entry.path())),
                }
            }
        }
        Ok((Directory { chunks, _lock: lock }, journal, found))
    }

    fn path_of(&self, id: &ChunkId) -> PathBuf {
        let name = id.to_string();
        self.chunks.join(name.get(..2).unwrap_or_default()).join(name)
    }

    /// Writes a chunk. After a failure, the partial file is deleted.
    pub fn write(&self, id: &ChunkId, bytes: &[u8]) -> io::Result<()> {
        let path = self.path_of(id);
        fs::write(&path, bytes).inspect_err(|_| drop(fs::remove_file(&path)))
    }

    /// Reads a chunk; `None` if it is absent, or damaged and now deleted.
    #[must_use]
    pub fn read(&self, id: &ChunkId) -> Option<Vec<u8>> {
        let bytes = fs::read(self.path_of(id)).ok()?;
        if ChunkId::of(&bytes) == *id {
            return Some(bytes);
        }
        tracing::warn!("chunk {id} is not what was written; it is deleted");
        self.delete(id);
        None
    }

    /// Deletes a chunk.
    pub fn delete(&self, id: &ChunkId) {
        let _ = fs::remove_file(self.path_of(id));
    }
}

/// Size on disk of a file of this length.
#[must_use]
pub fn on_disk(length: u64) -> u64 {
    length.div_ceil(BLOCK_BYTES) * BLOCK_BYTES
}
