//! The kernel whose time is virtual: User-Mode Linux with time travel, found, booted and watched.
//!
//! It is an ordinary program that is a Linux kernel, and needs no rights. Its root is this machine's files,
//! so that whatever is installed here runs there, each under its own path; `/run`, `/dev`, `/proc` and `/sys`
//! are its own, and `/run/tmp`, in memory, is the place for what is written and read often. A processor that
//! computes takes no time there, and a kernel with nothing to run jumps to its next timer.
//!
//! One seed gives one run, bit for bit: the clock starts at a fixed time, addresses are not randomised, the
//! command line, which a kernel stirs into its random pool, is always the same, and the library of `seed.c`,
//! preloaded, answers whatever the kernel asks the machine's random generator. A kernel stays on one
//! processor of the machine, which is also several times faster than moving about.

mod boot;
mod library;
mod scratch;

use std::path::{Path, PathBuf};

pub use boot::Boot;
pub(crate) use boot::SILENCE;
pub use library::SeedLibrary;
pub(crate) use scratch::Scratch;

use crate::error::LabError;

/// The variable that names a kernel, before any other place is looked at.
pub const VARIABLE: &str = "OVERHEARD_LAB_KERNEL";

/// A virtual-time kernel, by its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernel {
    path: PathBuf,
}

impl Kernel {
    /// Finds a kernel: the one that [`VARIABLE`] names, or else the one that `make lab-kernel` built, or else
    /// the ready-made one beside the project.
    ///
    /// # Errors
    ///
    /// [`LabError::KernelAbsent`] when there is none; its message says how to get one.
    pub fn find() -> Result<Self, LabError> {
        if let Some(path) = std::env::var_os(VARIABLE) {
            return Self::at(Path::new(&path));
        }
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
        let places = ["lab-kernel/build/linux", "../shared/lab-kernel/linux"];
        let mut kernels = places.iter().map(|place| Self::at(&workspace.join(place)));
        kernels.find(Result::is_ok).unwrap_or(Err(LabError::KernelAbsent))
    }

    /// The kernel in this file.
    ///
    /// # Errors
    ///
    /// [`LabError::KernelAbsent`] when there is no such file.
    pub fn at(path: &Path) -> Result<Self, LabError> {
        match path.canonicalize() {
            Ok(path) if path.is_file() => Ok(Self { path }),
            _ => Err(LabError::KernelAbsent),
        }
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}
