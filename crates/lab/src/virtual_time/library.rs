//! The library that makes a kernel's randomness follow from a seed, compiled when it is needed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::error::{Doing, LabError, end_of_log};

const SOURCE: &str = include_str!("seed.c");

/// The compiled library, in a folder that is removed when it is dropped.
#[derive(Debug)]
pub struct SeedLibrary {
    folder: TempDir,
}

impl SeedLibrary {
    /// Compiles the library with `cc`.
    ///
    /// # Errors
    ///
    /// [`LabError::ProgramAbsent`] without a C compiler, [`LabError::Command`] when it does not compile.
    pub fn compile() -> Result<Self, LabError> {
        let folder = scratch_folder()?;
        let source = folder.path().join("seed.c");
        fs::write(&source, SOURCE).doing(|| format!("write {}", source.display()))?;
        let library = Self { folder };
        let output = Command::new("cc")
            .args(["-O2", "-shared", "-fPIC", "-o"])
            .args([&library.path(), &source])
            .arg("-ldl")
            .output();
        let output = output
            .map_err(|_| LabError::ProgramAbsent { program: "cc".to_owned(), package: "gcc".to_owned() })?;
        if output.status.success() {
            return Ok(library);
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(LabError::Command { command: "cc seed.c".to_owned(), detail: end_of_log(&said, 1000) })
    }

    /// The library's file.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("seed.so")
    }
}

/// A folder that both this machine and a kernel booted on it see: not below what the kernel mounts for itself.
pub(crate) fn scratch_folder() -> Result<TempDir, LabError> {
    let usual = std::env::temp_dir();
    let hidden = ["/run", "/dev", "/proc", "/sys"].iter().any(|own| usual.starts_with(own));
    // The kernel's command line ends words at white space.
    let spaced = usual.to_string_lossy().contains(char::is_whitespace);
    let base = if hidden || spaced { Path::new("/tmp") } else { &usual };
    tempfile::Builder::new()
        .prefix("overheard-virtual-")
        .tempdir_in(base)
        .doing(|| format!("make a folder in {}", base.display()))
}
