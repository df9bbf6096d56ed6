//! The library that derives a kernel's randomness from a seed, compiled on demand.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::scratch::{self, Scratch};
use crate::error::{Doing, LabError, end_of_log};

const SOURCE: &str = include_str!("seed.c");

/// The compiled library, in a folder that is removed when it is dropped.
#[derive(Debug)]
pub struct SeedLibrary {
    folder: Scratch,
}

impl SeedLibrary {
    /// Compiles the library with `cc`.
    ///
    /// # Errors
    ///
    /// [`LabError::ProgramAbsent`] without a C compiler, [`LabError::Command`] if it does not compile.
    pub fn compile() -> Result<Self, LabError> {
        scratch::sweep();
        let folder = Scratch::new()?;
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
