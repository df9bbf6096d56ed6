//! A capture of an interface of this machine, in a file that ends with the program.

use anyhow::{Context, bail};
use capture::CaptureWriter;
use io::frames::Frames;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::fs::File;
use std::io::BufWriter;
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The most bytes of a capture.
const MAX_BYTES: u64 = 4 << 30;
/// Interval of checks for the end, in milliseconds.
const TURN: u8 = 200;

/// A capture without a name.
pub struct Live {
    file: File,
}

impl Live {
    /// Captures `interface` for this time, or until the capture has 4 GiB.
    ///
    /// # Errors
    ///
    /// If the interface cannot be read, or the file cannot be written.
    pub fn capture(interface: &str, time: Duration) -> anyhow::Result<Self> {
        let mut frames = Frames::open(interface)?;
        let file = tempfile::tempfile().context("cannot make a temporary file")?;
        let mut writer = CaptureWriter::new(BufWriter::new(file.try_clone()?), frames.link_type())?;
        let (start, mut bytes) = (Instant::now(), 0);
        crate::hint!("capturing {interface} for {} seconds", time.as_secs());
        while start.elapsed() < time && bytes < MAX_BYTES {
            let mut ready = [PollFd::new(frames.as_fd(), PollFlags::POLLIN)];
            match poll(&mut ready, PollTimeout::from(TURN)) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(error) => bail!("cannot wait for frames: {error}"),
            }
            while start.elapsed() < time && bytes < MAX_BYTES {
                let frame = frames.next_frame().with_context(|| format!("cannot read {interface}"))?;
                let Some(frame) = frame else { break };
                bytes += frame.len() as u64;
                writer.write(start.elapsed(), frame).context("cannot write the capture")?;
            }
        }
        writer.finish().context("cannot write the capture")?;
        let dropped = frames.dropped().unwrap_or(0);
        if dropped > 0 {
            crate::hint!("{dropped} frames came too fast and are not in the capture");
        }
        Ok(Live { file })
    }

    /// The path by which this process opens the file.
    pub fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.file.as_raw_fd()))
    }
}
