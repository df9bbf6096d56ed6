//! `overheard capture`: a node's traffic as a file for Wireshark.

use anyhow::{Context, bail};
use daemon::config::Mistake;
use daemon::sockets::only_node;
use daemon::status_socket::capture;
use std::fs::OpenOptions;
use std::io::{ErrorKind, IsTerminal, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Interval of checks for the end.
const TURN: Duration = Duration::from_millis(200);

/// Write the packets of a node into a pcapng file, until SIGINT. The file has inner packets, datagrams on
/// the air, and their decrypted content, with comments on removed bytes. Only its owner can read it
#[derive(clap::Args)]
pub struct Args {
    /// The configuration of the node; without it, the local node
    config: Option<PathBuf>,
    /// The node's status socket
    #[arg(long, conflicts_with = "config")]
    socket: Option<PathBuf>,
    /// The file; `-` for standard output, as in `overheard capture --output - | wireshark -k -i -`
    #[arg(long, value_name = "FILE", default_value = "overheard.pcapng")]
    output: PathBuf,
    /// End after this number of seconds
    #[arg(long, value_name = "SECONDS")]
    seconds: Option<f64>,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let end = match args.seconds.map(Duration::try_from_secs_f64) {
        None => None,
        Some(Ok(after)) => Some(Instant::now() + after.min(Duration::from_secs(1 << 30))),
        Some(Err(why)) => bail!(Mistake::new(format!("--seconds: {why}"))),
    };
    let stream = capture(&only_node(args.config.as_deref(), args.socket.as_deref())?)?;
    if args.output.as_os_str() == "-" {
        let out = std::io::stdout();
        if out.is_terminal() {
            bail!(
                "a capture is nothing to be read on a terminal; write it into a file, or pipe it to Wireshark"
            );
        }
        return copy(stream, out.lock(), end);
    }
    let file = OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&args.output);
    let file = file.with_context(|| format!("cannot write {}", args.output.display()))?;
    console::hint!("capturing into {}; SIGINT ends it", args.output.display());
    copy(stream, file, end)
}

/// Copies the stream until its end or the deadline. The node writes whole blocks, and Wireshark reads a
/// truncated file up to its last block.
fn copy(mut stream: UnixStream, mut out: impl Write, end: Option<Instant>) -> anyhow::Result<()> {
    stream.set_read_timeout(Some(TURN))?;
    let mut buffer = vec![0; 1 << 16];
    while end.is_none_or(|end| Instant::now() < end) {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(bytes) => out.write_all(&buffer[..bytes])?,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                out.flush()?
            }
            Err(error) => return Err(error).context("the node's capture ends"),
        }
    }
    Ok(out.flush()?)
}
