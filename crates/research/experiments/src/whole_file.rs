//! Files that are written whole or not at all.

use std::path::Path;
use std::{fs, io};

/// Writes a file beside this path, and moves it there.
pub fn write(path: &Path, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    let half = path.with_extension("half");
    fs::write(&half, bytes)?;
    fs::rename(&half, path)
}
