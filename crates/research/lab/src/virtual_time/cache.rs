//! Kernels of this user, each in a folder that the SHA-256 of its file names, and the one in use.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ring::digest::{Context, SHA256};

use super::Kernel;
use crate::error::{Doing, LabError};

/// The kernel that is in use: a link to its folder.
const IN_USE: &str = "in-use";
/// The kernel's file in a folder, with its licence and the offer of its source beside it.
const FILE: &str = "linux";

/// The folder of kernels, by `XDG_CACHE_HOME` or `HOME`; `None` without both.
pub fn folder() -> Option<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(cache.join("overheard/kernels"))
}

/// The kernel that is in use.
pub(super) fn in_use() -> Option<PathBuf> {
    Some(folder()?.join(IN_USE).join(FILE))
}

/// A kernel of the Python package `overheard_lab_kernel`, in the environment of the running program.
pub(super) fn of_python() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    let library = program.parent()?.parent()?.join("lib");
    let versions = fs::read_dir(library).ok()?.flatten().map(|entry| entry.path());
    let mut kernels = versions.map(|version| version.join("site-packages/overheard_lab_kernel").join(FILE));
    kernels.find(|kernel| kernel.is_file())
}

/// The SHA-256 of a file, in hexadecimal.
///
/// # Errors
///
/// When it cannot be read.
pub fn digest(path: &Path) -> Result<String, LabError> {
    let doing = || format!("read {}", path.display());
    let mut file = fs::File::open(path).doing(doing)?;
    let mut context = Hashing(Context::new(&SHA256));
    io::copy(&mut file, &mut context).doing(doing)?;
    Ok(context.0.finish().as_ref().iter().map(|octet| format!("{octet:02x}")).collect())
}

struct Hashing(Context);

impl io::Write for Hashing {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        self.0.update(octets);
        Ok(octets.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Copies the kernel `linux` of a folder, and all files beside it, into the cache, and uses it from now on.
///
/// # Errors
///
/// Without a home, without `linux` in the folder, and when something cannot be written.
pub fn install(from: &Path) -> Result<Kernel, LabError> {
    let cache = folder().ok_or(LabError::NoCache)?;
    let digest = digest(&from.join(FILE))?;
    let place = cache.join(&digest);
    if !place.join(FILE).is_file() {
        let half = cache.join(format!("{digest}.{}.half", std::process::id()));
        fs::create_dir_all(&half).doing(|| format!("make {}", half.display()))?;
        for entry in fs::read_dir(from).doing(|| format!("read {}", from.display()))? {
            let entry = entry.doing(|| format!("read {}", from.display()))?.path();
            if let (true, Some(name)) = (entry.is_file(), entry.file_name()) {
                fs::copy(&entry, half.join(name)).doing(|| format!("copy {}", entry.display()))?;
            }
        }
        let kernel = half.join(FILE);
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(&kernel, executable).doing(|| format!("make {} executable", kernel.display()))?;
        match fs::rename(&half, &place) {
            // Another process was faster.
            Err(_) if place.join(FILE).is_file() => fs::remove_dir_all(&half),
            renamed => renamed,
        }
        .doing(|| format!("make {}", place.display()))?;
    }
    let link = cache.join(format!("{IN_USE}.{}", std::process::id()));
    let _ = fs::remove_file(&link);
    std::os::unix::fs::symlink(&digest, &link)
        .and_then(|()| fs::rename(&link, cache.join(IN_USE)))
        .doing(|| format!("use {}", place.display()))?;
    Kernel::at(&place.join(FILE))
}
