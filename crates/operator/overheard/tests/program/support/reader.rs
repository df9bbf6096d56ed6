//! A reader that runs a document's commands in a folder with the project's `packaging`, where `overheard` is
//! installed.

use super::documents::workspace;
use super::{PROGRAM, laboratory};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

/// The reader's folder.
pub struct Reader {
    folder: TempDir,
}

impl Reader {
    pub fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let packaging = workspace().join("packaging").canonicalize().unwrap();
        symlink(packaging, folder.path().join("packaging")).unwrap();
        fs::create_dir(folder.path().join("bin")).unwrap();
        symlink(PROGRAM, folder.path().join("bin/overheard")).unwrap();
        symlink(laboratory(), folder.path().join("bin/overheard-lab")).unwrap();
        Reader { folder }
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Runs commands as root, each of which must succeed. Namespaces of mounts, networks and processes
    /// isolate them from this machine, and end their remaining processes.
    pub fn gives(&self, commands: &str) -> Output {
        let folder = self.folder();
        let script = format!("set -euo pipefail\nsudo() {{ \"$@\"; }}\n{commands}\n");
        fs::write(folder.join("commands.sh"), script).unwrap();
        let path = format!("{}/bin:{}", folder.display(), std::env::var("PATH").unwrap());
        Command::new("timeout")
            .args(["180", "unshare", "--mount", "--net", "--pid", "--fork", "--mount-proc", "--kill-child"])
            .args(["bash", "-c", "mount -t tmpfs tmpfs /run && exec bash -x commands.sh"])
            .env("PATH", path)
            .current_dir(folder)
            .output()
            .unwrap()
    }
}
