//! The virtual-time kernel: User-Mode Linux with time travel.
//!
//! It is an ordinary program that is a Linux kernel, and needs no rights. Its root is this machine's file
//! system, so installed programs run there under their own paths. `/run`, `/dev`, `/proc` and `/sys` are its
//! own, and `/run/tmp`, in memory, is for frequently used files. Computation takes no virtual time, and an
//! idle kernel jumps to its next timer.
//!
//! One seed gives one run, bit for bit. The clock starts at a fixed time, and addresses are not randomised.
//! The command line, which the kernel mixes into its random pool, is constant. The preloaded library of
//! `seed.c` replaces the machine's random generator. A kernel stays on one processor, which is also several
//! times faster.

mod boot;
pub mod cache;
mod claim;
mod library;
mod scratch;

use std::path::{Path, PathBuf};

pub use boot::Boot;
pub(crate) use boot::SILENCE;
pub(crate) use claim::{Claim, processors};
pub use library::SeedLibrary;
pub(crate) use scratch::Scratch;

use crate::error::LabError;

/// Environment variable that names a kernel, with the highest precedence.
pub const VARIABLE: &str = "OVERHEARD_LAB_KERNEL";

/// A virtual-time kernel, by its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernel {
    path: PathBuf,
}

impl Kernel {
    /// Finds a kernel: the one in [`VARIABLE`], the one in use of this user's [`cache`], the one of a Python
    /// environment, the one built by `make lab-kernel`, or the ready-made one beside the project.
    ///
    /// # Errors
    ///
    /// [`LabError::KernelAbsent`] if there is none; its message has the remedy.
    pub fn find() -> Result<Self, LabError> {
        if let Some(path) = std::env::var_os(VARIABLE) {
            return Self::at(Path::new(&path));
        }
        let installed = [cache::in_use(), cache::of_python()].into_iter().flatten();
        if let Some(kernel) = installed.map(|path| Self::at(&path)).find_map(Result::ok) {
            return Ok(kernel);
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
    /// [`LabError::KernelAbsent`] if there is no such file.
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
