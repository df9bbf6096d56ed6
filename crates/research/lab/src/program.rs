//! A program in a namespace: started, awaited with exact time, and ended with its children.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, kill_process_group, pidfd_open};

use crate::error::{Doing, LabError};
use crate::namespace::Namespace;
use crate::processor::processor_seconds;

/// Time between SIGTERM and the kill.
const PATIENCE: Duration = Duration::from_secs(2);

/// A running program, the head of a process group of its own. Dropped, the whole group is killed.
pub struct Program {
    name: String,
    child: Child,
    group: Pid,
    /// Readable after the program's end.
    watch: OwnedFd,
    ended: Option<ExitStatus>,
}

impl Program {
    /// Starts `command` in `namespace`. `package` is the Debian package to name when it is not installed.
    ///
    /// # Errors
    ///
    /// [`LabError::ProgramAbsent`] or [`LabError::System`].
    pub fn start(namespace: &Namespace, command: Command, package: &str) -> Result<Self, LabError> {
        namespace.enter(|| Self::start_here(command, package))?
    }

    /// Starts `command` where the calling thread is: in its namespace and on its processors.
    pub(crate) fn start_here(mut command: Command, package: &str) -> Result<Self, LabError> {
        let name = command.get_program().to_string_lossy().into_owned();
        // Grouped, so that what the program itself starts is ended with it.
        command.process_group(0);
        let child = command.spawn().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                LabError::ProgramAbsent { program: name.clone(), package: package.to_owned() }
            }
            _ => LabError::System { doing: format!("start {name}"), source: error },
        })?;
        let group = Pid::from_child(&child);
        let watch = pidfd_open(group, PidfdFlags::empty()).doing(|| format!("watch {name}"))?;
        Ok(Self { name, child, group, watch, ended: None })
    }

    /// Waits at most until `deadline`; `None` if the program still runs then.
    ///
    /// # Errors
    ///
    /// [`LabError::System`] if the system returns an error.
    pub fn wait_until(&mut self, deadline: Instant) -> Result<Option<ExitStatus>, LabError> {
        while self.ended.is_none() {
            let left = deadline.saturating_duration_since(Instant::now());
            let mut watched = [PollFd::new(&self.watch, PollFlags::IN)];
            match poll(&mut watched, Some(&timespec(left))) {
                Ok(0) => return Ok(None),
                Ok(_) => self.ended = Some(self.reap().doing(|| format!("collect {}", self.name))?),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error).doing(|| format!("wait for {}", self.name)),
            }
        }
        Ok(self.ended)
    }

    /// The processor time in seconds that the program has had, over all of its threads.
    ///
    /// # Errors
    ///
    /// [`LabError::System`] if the program has ended.
    pub fn processor_seconds(&self) -> Result<f64, LabError> {
        processor_seconds(self.child.id())
    }

    /// Sends a signal to the program.
    ///
    /// # Errors
    ///
    /// [`LabError::System`] if the program has ended.
    pub fn signal(&self, signal: Signal) -> Result<(), LabError> {
        kill_process(self.group, signal).doing(|| format!("send a signal to {}", self.name))
    }

    /// Sends SIGTERM, and kills the program after two seconds.
    pub fn stop(&mut self) {
        if self.ended.is_none() {
            let _ = kill_process_group(self.group, Signal::TERM);
            let _ = self.wait_until(Instant::now() + PATIENCE);
        }
        self.kill();
    }

    fn kill(&mut self) {
        if self.ended.is_none() {
            self.ended = self.reap().ok();
        }
    }

    /// Kills the rest of the group, then collects its leader. In the reverse order, the group's number could
    /// already belong to other processes.
    fn reap(&mut self) -> io::Result<ExitStatus> {
        let _ = kill_process_group(self.group, Signal::KILL);
        self.child.wait()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A duration as the system calls want it.
pub(crate) fn timespec(duration: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(duration.subsec_nanos()),
    }
}
