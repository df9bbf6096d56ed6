//! `overheard-lab trace`: traffic to measure on, composed from content.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use capture::{CaptureWriter, LinkType};
use clap::ValueEnum;
use experiments::trace::{Composer, Fresh, Kind, MeasuredShares, Meter, Mix};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use daemon::config::Mistake;

/// Make traffic for measurements
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Compose a capture of two clients whose traffic repeats as REfactor's traces do (MobiCom 2011, section
    /// 5.3)
    Compose(Compose),
}

#[derive(clap::Args)]
#[command(after_long_help = COMPOSING)]
struct Compose {
    /// The repetition across clients: high (49% across, 1% within), medium (23 and 24), low (4 and 46)
    #[arg(long, value_enum)]
    mix: MixName,
    /// The repeated pieces: whole objects of 4 to 60 KB, or pieces of 80 to 780 bytes
    #[arg(long, value_enum)]
    kind: KindName,
    /// The number of bytes of payload
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    bytes: u64,
    /// The seed; equal seeds make equal traffic
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The content of the traffic; random bytes without any. The command skips repetitions in it, and
    /// reuses it under another alphabet
    #[arg(value_name = "CONTENT")]
    contents: Vec<PathBuf>,
    /// The capture to write: pcap, raw IP
    #[arg(long, short, value_name = "FILE.pcap")]
    output: PathBuf,
    /// Print a summary of the trace as JSON
    #[arg(long)]
    json: bool,
}

const COMPOSING: &str = "\
The traffic goes to 198.51.100.1 and 198.51.100.2, in flows of TCP with 4 to 60 KB each. A flow begins with a few bytes
of its own, and has its own segment size, ports and sequence numbers. What repeats does so once, at the other client or
at the same, after 128 KB of other traffic or more; it never repeats in the same packets. Printed is what max-match
(with a cache of half a gigabyte) and chunks of 32 to 256 bytes find repeated, across clients and within one.";

#[derive(Clone, Copy, ValueEnum)]
enum MixName {
    High,
    Medium,
    Low,
}

#[derive(Clone, Copy, ValueEnum)]
enum KindName {
    Whole,
    Fine,
}

impl From<MixName> for Mix {
    fn from(name: MixName) -> Self {
        match name {
            MixName::High => Self::High,
            MixName::Medium => Self::Medium,
            MixName::Low => Self::Low,
        }
    }
}

impl From<KindName> for Kind {
    fn from(name: KindName) -> Self {
        match name {
            KindName::Whole => Self::Whole,
            KindName::Fine => Self::Fine,
        }
    }
}

/// What a composed trace holds. Shares are of its payload.
#[derive(Serialize)]
struct Composed {
    packets: u64,
    payload_bytes: u64,
    content_bytes: usize,
    max_match: Shares,
    chunk: Shares,
}

#[derive(Serialize)]
struct Shares {
    inter: f64,
    intra: f64,
}

impl From<(f64, f64)> for Shares {
    fn from((inter, intra): (f64, f64)) -> Self {
        Self { inter, intra }
    }
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let Command::Compose(args) = &args.command;
    let fresh = fresh(args)?;
    let file = File::create(&args.output).map_err(|why| {
        Mistake::new(format!("--output {} cannot be written: {why}", args.output.display()))
    })?;
    let composed = compose(args, fresh, BufWriter::new(file))
        .with_context(|| format!("cannot write {}", args.output.display()))?;
    let mut out = std::io::stdout().lock();
    if args.json {
        writeln!(out, "{}", serde_json::to_string(&composed)?)?;
        return Ok(());
    }
    let Composed { packets, payload_bytes, content_bytes, max_match, chunk } = composed;
    writeln!(
        out,
        "{packets} packets, {payload_bytes} bytes of payload, from {content_bytes} bytes of content"
    )?;
    for (name, Shares { inter, intra }) in [("max-match", max_match), ("chunks", chunk)] {
        writeln!(out, "{name:<10} across clients {:5.1}%, within one {:5.1}%", 100.0 * inter, 100.0 * intra)?;
    }
    Ok(())
}

/// What there is to compose of.
fn fresh(args: &Compose) -> anyhow::Result<Fresh> {
    if args.contents.is_empty() {
        return Ok(Fresh::random(args.seed));
    }
    let read = |path: &PathBuf| {
        read_content(path).map_err(|why| Mistake::new(format!("{} cannot be read: {why}", path.display())))
    };
    let contents = args.contents.iter().map(read).collect::<Result<Vec<_>, Mistake>>()?;
    let fresh = Fresh::from_contents(contents.iter().map(Vec::as_slice), args.seed);
    Ok(fresh.map_err(|why| Mistake::new(why.to_string()))?)
}

/// No more of a file than is ever used.
fn read_content(path: &Path) -> std::io::Result<Vec<u8>> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    File::open(path)?.take(Fresh::MOST_BYTES as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn compose(args: &Compose, fresh: Fresh, out: impl Write) -> std::io::Result<Composed> {
    /// A packet a millisecond, so that tools that show time have some.
    const INTERVAL: Duration = Duration::from_millis(1);
    let content_bytes = fresh.content_bytes();
    let composer = Composer::new(Arc::new(fresh), args.mix.into(), args.kind.into(), args.bytes, args.seed);
    let (mut writer, mut meter) = (CaptureWriter::new(out, LinkType::RAW)?, Meter::default());
    let (mut at, mut packets, mut payload_bytes) = (Duration::ZERO, 0, 0);
    let progress = progress(args.bytes);
    for packet in composer {
        writer.write(at, &packet.bytes)?;
        meter.observe(&packet);
        at += INTERVAL;
        packets += 1;
        payload_bytes += packet.payload().len() as u64;
        progress.set_position(payload_bytes);
    }
    progress.finish_and_clear();
    writer.finish()?;
    let MeasuredShares { max_match, chunk } = meter.shares();
    Ok(Composed { packets, payload_bytes, content_bytes, max_match: max_match.into(), chunk: chunk.into() })
}

fn progress(bytes: u64) -> ProgressBar {
    let bar = ProgressBar::new(bytes);
    if let Ok(style) = ProgressStyle::with_template("{wide_bar} {bytes}/{total_bytes}, {elapsed}") {
        bar.set_style(style);
    }
    bar
}
