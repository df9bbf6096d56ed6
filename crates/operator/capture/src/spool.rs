//! A copy of a capture that can be read only once, so that further passes are possible.
//!
//! The copy is a file without a name in the folder for temporary files, as long as the analysis takes.

use crate::{CaptureError, Source};
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The most bytes of a copy.
const MAX_BYTES: u64 = 4 << 30;

/// The copy of a stream that is being read, or the reason why there is none.
#[derive(Debug, Clone)]
pub(crate) struct Spool(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    copy: Result<File, String>,
    left_bytes: u64,
}

impl Spool {
    /// A copy of at most [`MAX_BYTES`].
    pub fn new() -> Self {
        Self::within(MAX_BYTES)
    }

    fn within(left_bytes: u64) -> Self {
        let copy = tempfile::tempfile().map_err(|why| no_file(&why));
        Spool(Arc::new(Mutex::new(State { copy, left_bytes })))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `stream`, of which each byte that is read is copied.
    pub fn copy_of<R: Read>(&self, stream: R) -> Copied<R> {
        Copied { stream, spool: self.clone() }
    }

    /// The copy from its beginning, or the reason why there is none.
    ///
    /// # Errors
    ///
    /// If the copy cannot be read.
    pub fn source(&self) -> Result<Result<Source, String>, CaptureError> {
        let state = self.lock();
        let file = match &state.copy {
            Ok(file) => file,
            Err(why) => return Ok(Err(why.clone())),
        };
        let reopened = file.try_clone().and_then(|mut file| {
            file.rewind()?;
            let bytes = file.metadata()?.len();
            Ok((file, bytes))
        });
        let (file, bytes) = reopened.map_err(|source| CaptureError::Open { source })?;
        Source::from_stream(file, Some(bytes)).map(Ok)
    }
}

fn no_file(why: &io::Error) -> String {
    format!(
        "there is no curve: no copy of the capture fits into {}: {why}; give a file, or set TMPDIR",
        std::env::temp_dir().display()
    )
}

impl State {
    fn note(&mut self, bytes: &[u8]) {
        let Ok(file) = &mut self.copy else { return };
        match self.left_bytes.checked_sub(bytes.len() as u64) {
            Some(left_bytes) => self.left_bytes = left_bytes,
            None => {
                let why = "there is no curve: a capture from a pipe is copied up to 4 GiB only; give a file";
                return self.copy = Err(why.to_owned());
            }
        }
        if let Err(why) = file.write_all(bytes) {
            self.copy = Err(no_file(&why));
        }
    }
}

/// A stream that is copied while it is read.
pub(crate) struct Copied<R> {
    stream: R,
    spool: Spool,
}

impl<R: Read> Read for Copied<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.stream.read(buffer)?;
        self.spool.lock().note(&buffer[..count]);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_is_read_again_and_again() {
        let (bytes, spool) = (vec![7; 100_000], Spool::within(100_000));
        io::copy(&mut spool.copy_of(&*bytes), &mut io::sink()).unwrap();
        for _ in 0..2 {
            let mut again = Vec::new();
            spool.source().unwrap().unwrap().read_to_end(&mut again).unwrap();
            assert!(again == bytes);
        }
    }

    #[test]
    fn a_stream_longer_than_the_bound_is_read_and_has_no_copy() {
        let (bytes, spool) = (vec![7; 100_001], Spool::within(100_000));
        assert_eq!(io::copy(&mut spool.copy_of(&*bytes), &mut io::sink()).unwrap(), 100_001);
        let why = spool.source().unwrap().unwrap_err();
        assert!(why.contains("give a file"), "{why}");
    }
}
