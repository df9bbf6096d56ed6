//! `overheard-lab kernel`: the virtual-time kernel, found, taken from a wheel, or built.

use anyhow::{Context as _, bail};
use console::say;
use lab::virtual_time::{Kernel, cache};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What builds the kernel, and its configuration.
const BUILD: &str = include_str!("../../../../../lab-kernel/build.sh");
const CONFIG: &str = include_str!("../../../../../lab-kernel/config");

/// Find the virtual-time kernel, take it from a wheel, or build it; and name missing programs
#[derive(clap::Args)]
pub struct Args {
    /// Take it from this wheel, which `make kernel-wheel` writes, or from a folder with the file `linux`
    #[arg(long, value_name = "WHEEL", conflicts_with = "make")]
    from: Option<PathBuf>,
    /// Build it from Debian's source if none is found: 8 to 27 minutes and 3 GB of disk, freed afterwards
    #[arg(long)]
    make: bool,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let kernel = match &args.from {
        Some(from) => install(from)?,
        None => match Kernel::find() {
            Ok(kernel) => kernel,
            Err(_) if args.make => build()?,
            Err(absent) => return Err(absent.into()),
        },
    };
    let version = Command::new(kernel.path()).arg("--version").output();
    let version = version.with_context(|| format!("cannot run {}", kernel.path().display()))?;
    let version = String::from_utf8_lossy(&version.stdout).trim().to_owned();
    say!("{}: Linux {version}, SHA-256 {}", kernel.path().display(), cache::digest(kernel.path())?)?;
    let beside = kernel.path().with_file_name("SOURCE.md");
    if beside.is_file() {
        say!("its licence is the GPL, version 2; {} says where its source is", beside.display())?;
    }
    for missing in crate::doctor::missing_programs() {
        say!("{missing}")?;
    }
    Ok(())
}

fn install(from: &Path) -> anyhow::Result<Kernel> {
    if from.is_dir() {
        return Ok(cache::install(from)?);
    }
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let unpack = Command::new("python3").args(["-m", "zipfile", "-e"]).arg(from).arg(folder.path()).output();
    let unpack = unpack.context("cannot run python3, which unpacks wheels: apt-get install python3")?;
    let kernel = folder.path().join("overheard_lab_kernel");
    if !unpack.status.success() || !kernel.join("linux").is_file() {
        bail!("{} is no wheel with a kernel: `make kernel-wheel` writes one", from.display());
    }
    Ok(cache::install(&kernel)?)
}

fn build() -> anyhow::Result<Kernel> {
    let folder = tempfile::Builder::new().prefix("overheard-kernel-").tempdir();
    let folder = folder.context("cannot make a temporary folder")?;
    let script = folder.path().join("build.sh");
    fs::write(&script, BUILD)
        .and_then(|()| fs::set_permissions(&script, fs::Permissions::from_mode(0o755)))
        .and_then(|()| fs::write(folder.path().join("config"), CONFIG))
        .with_context(|| format!("cannot write {}", script.display()))?;
    let status =
        Command::new(&script).status().with_context(|| format!("cannot run {}", script.display()))?;
    if !status.success() {
        bail!("the kernel was not built; the lines above say why");
    }
    Ok(cache::install(&folder.path().join("build"))?)
}
