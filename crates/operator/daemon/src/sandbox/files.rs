//! Which files can be reached (Landlock).

use super::Profile;
use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, RestrictionStatus,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetStatus,
};
use std::fs;
use std::path::{Path, PathBuf};

/// What the newest kernels can hold, as far as this program knows; older ones hold less.
const NEWEST: ABI = ABI::V5;
/// What both programs read of the system: libraries, which are loaded as late as at a look-up of a name; who
/// is who (`resolv.conf` is replaced while they run, so that its folder is meant); what the kernel says.
const SYSTEM: [&str; 13] = [
    "/etc",
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/lib64",
    "/usr/local/lib",
    "/proc",
    "/sys",
    "/dev/urandom",
    "/run/systemd/resolve",
    "/run/resolvconf",
    "/run/NetworkManager",
    "/run/nscd",
];

/// What a program reaches beside that, by its configuration.
#[derive(Debug, Clone, Default)]
pub struct Files {
    /// Files and folders that are read.
    pub read: Vec<PathBuf>,
    /// Folders in which files and sockets are made and removed.
    pub written: Vec<PathBuf>,
}

impl Files {
    /// The folder of `file` is read: whoever replaces the file makes another one of that name.
    pub fn read_beside(&mut self, file: &Path) {
        self.read.push(folder_of(file));
    }

    /// The folder of `file` is written.
    pub fn write_beside(&mut self, file: &Path) {
        self.written.push(folder_of(file));
    }
}

fn folder_of(file: &Path) -> PathBuf {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// Why this is not held.
#[derive(Debug, thiserror::Error)]
pub enum NotHeld {
    /// The kernel refuses.
    #[error("{0}")]
    Refused(#[from] landlock::RulesetError),
}

/// Holds this thread, and what it begins. What the kernel does not know is told.
pub fn hold(profile: Profile, files: &Files) -> Result<Option<String>, NotHeld> {
    let reading = AccessFs::ReadFile | AccessFs::ReadDir;
    let all = AccessFs::from_all(NEWEST);
    let writing = all & !(AccessFs::Execute | AccessFs::MakeBlock | AccessFs::MakeChar | AccessFs::IoctlDev);
    let mut ruleset =
        Ruleset::default().set_compatibility(CompatLevel::BestEffort).handle_access(all)?.create()?;
    for path in SYSTEM.iter().map(Path::new).chain(files.read.iter().map(PathBuf::as_path)) {
        ruleset = allow(ruleset, path, reading)?;
    }
    for folder in &files.written {
        ruleset = allow(ruleset, folder, writing)?;
    }
    ruleset = allow(ruleset, Path::new("/dev/null"), AccessFs::ReadFile | AccessFs::WriteFile)?;
    if profile == Profile::Tunnel {
        let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev;
        ruleset = allow(ruleset, Path::new("/dev/net/tun"), device)?;
        // its dashboard looks for web caches, whose folder may come later
        ruleset = allow(ruleset, Path::new("/run"), AccessFs::ReadDir.into())?;
        for program in std::iter::once(PathBuf::from("/proc/self/exe")).chain(interpreters()) {
            ruleset = allow(ruleset, &program, AccessFs::Execute | AccessFs::ReadFile)?;
        }
    }
    let RestrictionStatus { ruleset: held, .. } = ruleset.restrict_self()?;
    Ok(match held {
        RulesetStatus::FullyEnforced => None,
        RulesetStatus::PartiallyEnforced => {
            Some("this kernel's Landlock is older than Linux 6.10's".to_owned())
        }
        RulesetStatus::NotEnforced => Some("this kernel has no Landlock".to_owned()),
    })
}

/// Lets `path` be reached so; what is not there needs nothing.
fn allow(
    ruleset: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, landlock::RulesetError> {
    let Ok(opened) = PathFd::new(path) else { return Ok(ruleset) };
    let is_folder = fs::metadata(path).is_ok_and(|meta| meta.is_dir());
    let access = if is_folder { access } else { access & AccessFs::from_file(NEWEST) };
    if access.is_empty() { Ok(ruleset) } else { ruleset.add_rule(PathBeneath::new(opened, access)) }
}

/// What loads dynamic programs.
fn interpreters() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in ["/lib", "/lib64"] {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        found.extend(
            entries.map(|entry| entry.path()).filter(|path| {
                path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"ld-"))
            }),
        );
    }
    found
}
