//! Accessible files (Landlock).

use super::Profile;
use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, RestrictionStatus,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetStatus,
};
use std::fs;
use std::path::{Path, PathBuf};

/// The newest Landlock version that this program knows; older kernels restrict less.
const NEWEST: ABI = ABI::V5;
/// System files that both programs read: libraries, which may load as late as a name look-up; configuration
/// (`resolv.conf` is replaced at run time, so its folder is listed); the kernel's files.
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

/// Further files, by the configuration.
#[derive(Debug, Clone, Default)]
pub struct Files {
    /// Files and folders to read.
    pub read: Vec<PathBuf>,
    /// Folders in which files and sockets are created and removed.
    pub written: Vec<PathBuf>,
}

impl Files {
    /// Allows reading the folder of `file`, because a replacement of the file is a new file.
    pub fn read_beside(&mut self, file: &Path) {
        self.read.push(folder_of(file));
    }

    /// Allows writing the folder of `file`.
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

/// Reason why the restriction is not active.
#[derive(Debug, thiserror::Error)]
pub enum NotHeld {
    /// The kernel refuses.
    #[error("{0}")]
    Refused(#[from] landlock::RulesetError),
}

/// Restricts this thread and its children. Returns a text on features that the kernel lacks.
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
        // The node's dashboard looks for web caches, whose folder may appear later.
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

/// Allows this access to `path`; a missing path is skipped.
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

/// Loaders of dynamic programs.
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
