//! One boot: a command line run inside the kernel, from power on to power off.

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_setaffinity};

use super::scratch::Scratch;
use super::{Kernel, SeedLibrary};
use crate::error::{Doing, LabError, end_of_log};
use crate::program::Program;

/// Where the guest's clock starts, in nanoseconds since 1970: in 2027.
const CLOCK_START: &str = "1800000000000000000";
/// How often to look whether there is progress.
const INTERVAL: Duration = Duration::from_millis(20);
/// For how long a guest may show no progress unless told otherwise: longer than any run takes on a busy
/// machine.
pub(crate) const SILENCE: Duration = Duration::from_secs(600);
/// Variables of this process that the command in the guest sees too.
const PASSED_ON: [&str; 2] = ["RUST_LOG", "RUST_BACKTRACE"];

/// What to boot.
#[derive(Debug, Clone)]
pub struct Boot {
    /// The program and its arguments, by absolute paths of this machine outside `/run`, `/dev`, `/proc` and
    /// `/sys`.
    pub command: Vec<String>,
    /// Determines everything random in the guest.
    pub seed: u64,
    /// The processor to stay on; any when absent.
    pub processor: Option<usize>,
    /// The guest's memory. What it does not use costs nothing.
    pub memory_mebibytes: u32,
    /// For how long (by the wall's clock) there may be no progress before the guest is killed.
    pub silence: Duration,
}

impl Boot {
    /// A boot with the usual memory and patience.
    pub fn new(command: Vec<String>, seed: u64) -> Self {
        Self { command, seed, processor: None, memory_mebibytes: 768, silence: Duration::from_secs(300) }
    }

    /// Boots, runs the command to its end, and powers off. `progress` is asked every 20 ms whether something
    /// has happened since it was last asked; a guest without progress for too long is killed.
    ///
    /// # Errors
    ///
    /// [`LabError::Guest`] when the command failed, the kernel panicked or was killed, or nothing happened
    /// for too long: with the end of the console, where the command's own output goes.
    pub fn run(
        &self,
        kernel: &Kernel,
        library: &SeedLibrary,
        progress: &mut (dyn FnMut() -> bool + Send),
    ) -> Result<(), LabError> {
        let folder = Scratch::new()?;
        self.write_init(folder.path())?;
        let link = folder.path().join("seed.so");
        symlink(library.path(), &link).doing(|| format!("make {}", link.display()))?;
        let console = folder.path().join("console");
        let output = File::create(&console).doing(|| format!("make {}", console.display()))?;
        let errors = output.try_clone().doing(|| format!("share {}", console.display()))?;
        let command = self.kernel_command(kernel, folder.path(), [output, errors]);
        // A thread of its own, because a program inherits the processors of the thread that starts it.
        let ended = std::thread::scope(|scope| {
            let watch = || -> Result<bool, LabError> {
                self.move_thread()?;
                let mut program = Program::start_here(command, "util-linux")?;
                let mut latest = Instant::now();
                while program.wait_until(Instant::now() + INTERVAL)?.is_none() {
                    if progress() {
                        latest = Instant::now();
                    }
                    if latest.elapsed() > self.silence {
                        return Ok(false);
                    }
                }
                Ok(true)
            };
            scope.spawn(watch).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })?;
        progress();
        let status = fs::read_to_string(folder.path().join("status")).unwrap_or_default();
        let detail = match (ended, status.trim()) {
            (true, "0") => return Ok(()),
            (true, "") => "stopped before its command had ended".to_owned(),
            (true, status) => format!("ran a command that ended with status {status}"),
            (false, _) => format!("showed no progress for {} seconds and was killed", self.silence.as_secs()),
        };
        let console = fs::read(&console).unwrap_or_default();
        let console = end_of_log(&String::from_utf8_lossy(&console), 3000);
        Err(LabError::Guest { detail, console })
    }

    fn move_thread(&self) -> Result<(), LabError> {
        let Some(processor) = self.processor else { return Ok(()) };
        let mut set = CpuSet::new();
        set.set(processor);
        sched_setaffinity(None, &set).doing(|| format!("stay on processor {processor}"))
    }

    /// Writes the guest's first program and its table of file systems.
    fn write_init(&self, folder: &Path) -> Result<(), LabError> {
        let table = folder.join("fstab");
        let file_systems = "proc /proc proc defaults 0 0\n\
                            sysfs /sys sysfs defaults 0 0\n\
                            devtmpfs /dev devtmpfs defaults 0 0\n\
                            tmpfs /run tmpfs defaults 0 0\n";
        fs::write(&table, file_systems).doing(|| format!("write {}", table.display()))?;
        let init = folder.join("init");
        fs::write(&init, self.init_script(folder)).doing(|| format!("write {}", init.display()))?;
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(&init, executable).doing(|| format!("make {} executable", init.display()))
    }

    /// Powers off by way of SysRq: `poweroff` belongs to an init system that need not be installed.
    fn init_script(&self, folder: &Path) -> String {
        let folder = quoted(&folder.to_string_lossy());
        let command: Vec<String> = self.command.iter().map(|word| quoted(word)).collect();
        let passed_on: String = PASSED_ON
            .iter()
            .filter_map(|name| Some(format!("export {name}={}\n", quoted(&std::env::var(name).ok()?))))
            .collect();
        format!(
            "#!/bin/sh\n\
             mount --all --fstab {folder}/fstab\n\
             mkdir /run/tmp /run/home\n\
             export HOME=/run/home TMPDIR=/run/tmp PATH=/usr/sbin:/usr/bin:/sbin:/bin\n\
             {passed_on}\
             ip link set lo up\n\
             {command}\n\
             echo $? > {folder}/status\n\
             sync\n\
             echo o > /proc/sysrq-trigger\n\
             sleep 60\n",
            command = command.join(" ")
        )
    }

    fn kernel_command(&self, kernel: &Kernel, folder: &Path, [output, errors]: [File; 2]) -> Command {
        // Whoever dies, even killed, takes the kernel along.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--"]).arg(kernel.path());
        command.arg(format!("mem={}M", self.memory_mebibytes));
        // Faster where the kernel knows it; an older one takes it for a variable of its first program.
        command.arg("seccomp=on");
        command.args(["time-travel=inf-cpu", &format!("time-travel-start={CLOCK_START}"), "norandmaps"]);
        command.args(["rootfstype=hostfs", "rootflags=/", "rw", "con=null", "con0=fd:0,fd:1", "quiet"]);
        // The kernel stirs its command line into its random pool: it must not name a folder that is new each
        // time. The guest's root is the machine's, where this leads to the folder that the kernel runs in.
        command.arg("init=/proc/self/cwd/init").current_dir(folder);
        // HOME is where the kernel keeps its own socket; without one it does not start.
        command.env_clear().env("HOME", folder).env("PATH", "/usr/bin:/bin");
        command.env("TMPDIR", if self.fits_shared_memory() { Path::new("/dev/shm") } else { folder });
        // By a path without the spaces and colons that may be in the real one.
        command.env("LD_PRELOAD", "./seed.so").env("OVERHEARD_LAB_SEED", self.seed.to_string());
        command.stdin(Stdio::null()).stdout(output).stderr(errors);
        command
    }
}

impl Boot {
    /// Whether the guest's memory, which is a file, can be a file in memory: on a disk, what the guest writes
    /// would be written there too.
    fn fits_shared_memory(&self) -> bool {
        let space = rustix::fs::statvfs("/dev/shm");
        space.is_ok_and(|space| space.f_bavail * space.f_frsize >= u64::from(self.memory_mebibytes) << 20)
    }
}

/// A word for the shell, whatever is in it.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_word_stays_one_word() {
        assert_eq!(quoted("plain"), "'plain'");
        assert_eq!(quoted("it's $HOME; ok"), r"'it'\''s $HOME; ok'");
    }
}
