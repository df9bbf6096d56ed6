//! One boot: a command line that runs inside the kernel, from power on to power off.

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

/// Initial clock of the guest, in nanoseconds since 1970: in 2027.
const CLOCK_START: &str = "1800000000000000000";
/// Interval of checks for progress.
const INTERVAL: Duration = Duration::from_millis(20);
/// Default time without progress: longer than any run takes on a busy machine.
pub(crate) const SILENCE: Duration = Duration::from_secs(600);
/// Environment variables passed on to the guest's command.
const PASSED_ON: [&str; 2] = ["RUST_LOG", "RUST_BACKTRACE"];

/// Parameters of a boot.
#[derive(Debug, Clone)]
pub struct Boot {
    /// The program and its arguments, by absolute paths of this machine outside `/run`, `/dev`, `/proc` and
    /// `/sys`.
    pub command: Vec<String>,
    /// Seed of all randomness in the guest.
    pub seed: u64,
    /// The processor to stay on; any when absent.
    pub processor: Option<usize>,
    /// The guest's memory. Unused memory costs nothing.
    pub memory_mebibytes: u32,
    /// Simulated radios of Wi-Fi; the kernel's own number if there are none.
    pub radios: usize,
    /// Wall-clock time without progress after which the guest is killed.
    pub silence: Duration,
}

impl Boot {
    /// A boot with the usual memory and patience.
    pub fn new(command: Vec<String>, seed: u64) -> Self {
        Self {
            command,
            seed,
            processor: None,
            memory_mebibytes: 768,
            radios: 0,
            silence: Duration::from_secs(300),
        }
    }

    /// Boots, runs the command to its end, and powers off. Every 20 ms `progress` returns whether there was
    /// progress since its last call; a guest without progress for too long is killed.
    ///
    /// # Errors
    ///
    /// [`LabError::Guest`] if the command failed, the kernel panicked or was killed, or there was no
    /// progress. It has the end of the console with the command's output.
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
        // A separate thread, because a program inherits the processors of the thread that starts it.
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

    /// Powers off by SysRq, because `poweroff` needs an init system.
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
        // The kernel ends with this process, even after a kill.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--"]).arg(kernel.path());
        command.arg(format!("mem={}M", self.memory_mebibytes));
        // Faster on newer kernels; an older one passes it on as a variable of its first program.
        command.arg("seccomp=on");
        command.args(["time-travel=inf-cpu", &format!("time-travel-start={CLOCK_START}"), "norandmaps"]);
        command.args(["rootfstype=hostfs", "rootflags=/", "rw", "con=null", "con0=fd:0,fd:1", "quiet"]);
        if self.radios > 0 {
            command.arg(format!("mac80211_hwsim.radios={}", self.radios));
        }
        // The kernel mixes its command line into its random pool, so it must not contain a folder that
        // changes. The guest's root is the machine's, where this leads to the kernel's folder.
        command.arg("init=/proc/self/cwd/init").current_dir(folder);
        // HOME is the folder of the kernel's own socket; it does not start without one.
        command.env_clear().env("HOME", folder).env("PATH", "/usr/bin:/bin");
        command.env("TMPDIR", if self.fits_shared_memory() { Path::new("/dev/shm") } else { folder });
        // The real path may contain spaces and colons.
        command.env("LD_PRELOAD", "./seed.so").env("OVERHEARD_LAB_SEED", self.seed.to_string());
        command.stdin(Stdio::null()).stdout(output).stderr(errors);
        command
    }
}

impl Boot {
    /// Whether the guest's memory file fits into memory; on a disk, the guest's writes would reach the disk.
    fn fits_shared_memory(&self) -> bool {
        let space = rustix::fs::statvfs("/dev/shm");
        space.is_ok_and(|space| space.f_bavail * space.f_frsize >= u64::from(self.memory_mebibytes) << 20)
    }
}

/// A word quoted for the shell.
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
