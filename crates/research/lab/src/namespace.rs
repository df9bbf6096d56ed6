//! A network namespace: creation, entry and deletion.
//!
//! A thread enters a namespace, never the process. Devices and sockets that the thread opens stay there, and
//! its child programs inherit the namespace. This avoids `ip netns exec` and its remounting.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::fd::AsFd;
use rustix::mount::{UnmountFlags, unmount};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::error::{Doing, LabError, end_of_log};
use crate::run::Run;

/// Where iproute2 keeps the names.
pub(crate) const FOLDER: &str = "/run/netns";

/// A named network namespace, deleted when dropped.
pub struct Namespace {
    name: String,
    file: File,
}

impl Namespace {
    /// Creates one namespace for each place. Loopback is down in each.
    ///
    /// # Errors
    ///
    /// An error of `ip` or the system; namespaces created before are deleted.
    pub fn make(run: &Run, places: &[&str]) -> Result<Vec<Self>, LabError> {
        let names: Vec<String> = places.iter().map(|place| run.namespace_name(place)).collect();
        let lines: String = names.iter().map(|name| format!("netns add {name}\n")).collect();
        let made = ip_batch(&lines);
        let opened: Result<Vec<Self>, LabError> = names.iter().map(|name| Self::open(name)).collect();
        match (made, opened) {
            (Ok(()), Ok(namespaces)) => Ok(namespaces),
            (made, opened) => {
                drop(opened);
                names.iter().for_each(|name| drop(delete(name)));
                Err(made.err().unwrap_or_else(|| LabError::Command {
                    command: "ip netns add".to_owned(),
                    detail: "a namespace is missing after it was made".to_owned(),
                }))
            }
        }
    }

    fn open(name: &str) -> Result<Self, LabError> {
        let path = Path::new(FOLDER).join(name);
        let file = File::open(&path).doing(|| format!("open {}", path.display()))?;
        Ok(Self { name: name.to_owned(), file })
    }

    /// The name that `ip netns` shows.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Runs `work` in a thread inside this namespace, and returns its result.
    ///
    /// # Errors
    ///
    /// [`LabError::System`] if the namespace cannot be entered; `work` has not run then.
    ///
    /// # Panics
    ///
    /// If `work` panics.
    pub fn enter<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, LabError> {
        let thread = || {
            self.move_thread()?;
            Ok(work())
        };
        std::thread::scope(|scope| scope.spawn(thread).join())
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// Moves the calling thread into this namespace for the rest of its life.
    pub(crate) fn move_thread(&self) -> Result<(), LabError> {
        move_into_link_name_space(self.file.as_fd(), Some(LinkNameSpaceType::Network))
            .doing(|| format!("enter the namespace {}", self.name))
    }

    /// Runs lines of `ip -batch` in this namespace.
    ///
    /// # Errors
    ///
    /// [`LabError::Command`] with the message of `ip`.
    pub fn ip(&self, lines: &str) -> Result<(), LabError> {
        self.enter(|| ip_batch(lines))?
    }

    /// Sets kernel parameters below `net.` of this namespace, by their dotted names.
    ///
    /// # Errors
    ///
    /// [`LabError::System`] that names the first parameter that could not be set.
    pub fn set_parameters<'a>(
        &self,
        parameters: impl IntoIterator<Item = (&'a str, &'a str)> + Send,
    ) -> Result<(), LabError> {
        // /proc/sys/net shows the namespace of the thread that looks.
        self.enter(|| {
            for (name, value) in parameters {
                let path = Path::new("/proc/sys").join(name.replace('.', "/"));
                fs::write(path, value).doing(|| format!("set {name} to `{value}`"))?;
            }
            Ok(())
        })?
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        if let Err(error) = delete(&self.name) {
            tracing::warn!("{error}");
        }
    }
}

/// Deletes a name; the namespace ends with its last member.
pub(crate) fn delete(name: &str) -> Result<(), LabError> {
    let path = Path::new(FOLDER).join(name);
    let _ = unmount(&path, UnmountFlags::DETACH);
    fs::remove_file(&path).doing(|| format!("delete the namespace {name}"))
}

/// The processes in a namespace, by `ip netns pids`; none when that fails.
pub(crate) fn processes_in(name: &str) -> Vec<i32> {
    let Ok(output) = Command::new("ip").args(["netns", "pids", name]).output() else { return Vec::new() };
    String::from_utf8_lossy(&output.stdout).lines().filter_map(|line| line.trim().parse().ok()).collect()
}

/// Runs lines of `ip -batch` in the namespace of the calling thread.
pub(crate) fn ip_batch(lines: &str) -> Result<(), LabError> {
    let absent = |_| LabError::ProgramAbsent { program: "ip".to_owned(), package: "iproute2".to_owned() };
    let mut child = Command::new("ip")
        .args(["-batch", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(absent)?;
    if let Some(mut input) = child.stdin.take() {
        // A batch that fails early closes its end; its own message is more useful than the broken pipe.
        let _ = input.write_all(lines.as_bytes());
    }
    let output = child.wait_with_output().doing(|| "wait for ip".to_owned())?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(LabError::Command { command: "ip -batch".to_owned(), detail: end_of_log(&said, 500) })
}
