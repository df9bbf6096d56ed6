//! Source of a capture: a file or standard input, possibly compressed.
//!
//! The first bytes determine the compression, not the name.

use crate::CaptureError;
use portable_atomic::{AtomicU64, Ordering::Relaxed};
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// The most memory for decompressing `.xz`: `xz -9` needs 65 MiB.
const XZ_MEMORY_BYTES: u64 = 256 << 20;
/// Number of first bytes examined.
const PEEK_BYTES: usize = 8;
const XZ: &[u8] = b"\xfd7zXZ\0";
const GZIP: &[u8] = b"\x1f\x8b";
const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";

/// Progress of a source, shared with its reader.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    read_bytes: Arc<AtomicU64>,
    total_bytes: Option<u64>,
}

impl Progress {
    /// Bytes of the file read so far, in compressed form.
    #[must_use]
    pub fn read_bytes(&self) -> u64 {
        self.read_bytes.load(Relaxed)
    }

    /// Bytes of the file; `None` for a pipe.
    #[must_use]
    pub fn total_bytes(&self) -> Option<u64> {
        self.total_bytes
    }
}

/// A stream of an uncompressed capture.
///
/// An error (a damaged archive, a failing disk) ends the stream and can be queried afterwards. The frames
/// read before are still analysed.
pub struct Source {
    stream: Box<dyn Read + Send>,
    progress: Progress,
    failure: Failure,
}

/// The error that ended a stream, if any.
#[derive(Debug, Clone, Default)]
pub(crate) struct Failure(Arc<Mutex<Option<io::Error>>>);

impl Failure {
    fn set(&self, error: io::Error) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    pub(crate) fn take(&self) -> Option<io::Error> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Source").field("progress", &self.progress).finish_non_exhaustive()
    }
}

impl Source {
    /// Opens a file; `-` is standard input.
    pub fn open(path: &Path) -> Result<Self, CaptureError> {
        Self::open_with(path, |stream| stream)
    }

    /// The same. `copied` wraps what can be read only once.
    pub(crate) fn open_with(
        path: &Path,
        copied: impl FnOnce(Box<dyn Read + Send>) -> Box<dyn Read + Send>,
    ) -> Result<Self, CaptureError> {
        if path == Path::new("-") {
            return Self::from_stream(copied(Box::new(io::stdin())), None);
        }
        let opened = File::open(path).and_then(|file| file.metadata().map(|about| (file, about)));
        let (file, about) = opened.map_err(|source| CaptureError::Open { source })?;
        if about.is_dir() {
            return Err(CaptureError::Directory);
        }
        match about.is_file() {
            true => Self::from_stream(file, Some(about.len())),
            false => Self::from_stream(copied(Box::new(file)), None),
        }
    }

    /// Wraps a stream of bytes; `total_bytes` is its length, if known.
    pub fn from_stream(
        stream: impl Read + Send + 'static,
        total_bytes: Option<u64>,
    ) -> Result<Self, CaptureError> {
        let progress = Progress { total_bytes, ..Progress::default() };
        let mut stream = BufReader::with_capacity(1 << 18, Counted { stream, read: progress.clone() });
        let first = peek(&mut stream).map_err(|source| CaptureError::Open { source })?;
        if first.is_empty() {
            return Err(CaptureError::Empty);
        }
        let stream = unpack(&first.clone(), Cursor::new(first).chain(stream))?;
        let mut source = Source { stream, progress, failure: Failure::default() };
        // Decompressors return a few bytes at first, but the reader needs the capture's header in one piece.
        let mut first = vec![0; 1 << 16];
        let count = fill(&mut source, &mut first);
        first.truncate(count);
        if first.is_empty() {
            let failed = source.failure.take().map(|source| CaptureError::Open { source });
            return Err(failed.unwrap_or(CaptureError::Empty));
        }
        source.stream = Box::new(Cursor::new(first).chain(source.stream));
        Ok(source)
    }

    /// Progress of the source.
    #[must_use]
    pub fn progress(&self) -> Progress {
        self.progress.clone()
    }

    pub(crate) fn failure(&self) -> Failure {
        self.failure.clone()
    }
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.stream.read(buffer) {
                Ok(count) => return Ok(count),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.failure.set(error);
                    self.stream = Box::new(io::empty());
                }
            }
        }
    }
}

/// Adds the decompressor that the first bytes require.
fn unpack(first: &[u8], stream: impl Read + Send + 'static) -> Result<Box<dyn Read + Send>, CaptureError> {
    let failed = |source| CaptureError::Open { source };
    Ok(if first.starts_with(XZ) {
        // An xz file may consist of several (`cat a.xz b.xz`).
        let flags = liblzma::stream::CONCATENATED;
        let decoder = liblzma::stream::Stream::new_stream_decoder(XZ_MEMORY_BYTES, flags);
        let decoder = decoder.map_err(|error| failed(error.into()))?;
        Box::new(liblzma::read::XzDecoder::new_stream(stream, decoder))
    } else if first.starts_with(GZIP) {
        Box::new(flate2::read::MultiGzDecoder::new(stream))
    } else if first.starts_with(ZSTD) {
        Box::new(zstd::stream::read::Decoder::new(stream).map_err(failed)?)
    } else {
        Box::new(stream)
    })
}

fn peek(stream: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut first = Vec::with_capacity(PEEK_BYTES);
    stream.take(PEEK_BYTES as u64).read_to_end(&mut first)?;
    Ok(first)
}

/// Reads until the buffer is full or the source has ended.
fn fill(source: &mut Source, buffer: &mut [u8]) -> usize {
    let mut filled = 0;
    while filled < buffer.len() {
        match source.read(&mut buffer[filled..]) {
            Ok(0) | Err(_) => break,
            Ok(count) => filled += count,
        }
    }
    filled
}

/// Counts the bytes read of the file itself.
struct Counted<R> {
    stream: R,
    read: Progress,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.stream.read(buffer)?;
        self.read.read_bytes.fetch_add(count as u64, Relaxed);
        Ok(count)
    }
}
