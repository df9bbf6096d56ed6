//! Savings of each method on captures.

mod live;
mod picture;
mod text;

use anyhow::{Context, anyhow, bail};
use capture::{CaptureError, Options, Progress, Report, TunnelOptions};
use daemon::config::Mistake;
use indicatif::{ProgressBar, ProgressStyle};
use live::Live;
use re::Policy;
use serde::Serialize;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Compute the savings of each method on captures, before you install anything
#[derive(clap::Args)]
#[command(after_long_help = METHODS)]
pub struct Args {
    /// Captures: pcap or pcapng, also compressed as .xz, .gz or .zst; `-` is standard input
    #[arg(required_unless_present = "interface", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Capture this network interface instead, into a file without a name in the folder for temporary files
    #[arg(long, value_name = "NAME", conflicts_with = "files")]
    interface: Option<String>,
    /// The length of that capture, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 60, requires = "interface")]
    seconds: u32,
    /// Print one JSON object in a line for each file
    #[arg(long)]
    json: bool,
    /// Draw the savings over the size of the store, as SVG, for one capture
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Measure this method only; may be given several times
    #[arg(long = "method", value_name = "NAME")]
    methods: Vec<String>,
    /// The window of max-match, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 32)]
    window: usize,
    /// max-match samples one window in this many, a power of two
    #[arg(long, value_name = "COUNT", default_value_t = 32, value_parser = power_of_two)]
    sampling: u32,
    /// max-match refers only to this number of recent packets; without it, to all
    #[arg(long, value_name = "PACKETS")]
    cache_packets: Option<usize>,
    /// The payload that chunk and max-match store in each direction, in MiB; the total memory is up to four
    /// times as large
    #[arg(long, value_name = "MIB", default_value_t = 512)]
    cache: usize,
    /// The payload that the byte-caching encoders store in each direction, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 16)]
    store: usize,
    /// The number of packets in flight before `acked` receives a confirmation
    #[arg(long, value_name = "PACKETS", default_value_t = 32)]
    in_flight: u64,
    /// The largest store that the tunnel is tried with, in MiB; its two nodes take up to four times as much
    /// memory
    #[arg(long, value_name = "MIB", default_value_t = TunnelOptions::default().largest_store_mib)]
    largest_store: usize,
    /// The round-trip time of the tunnel's link, in milliseconds
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 40)]
    round_trip: u32,
    /// Shorten longer pauses between packets to this, in milliseconds
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 60_000)]
    longest_pause: u32,
    /// The level of zstd
    #[arg(long, value_name = "LEVEL", default_value_t = capture::DEFAULT_ZSTD_LEVEL)]
    zstd_level: i32,
}

const METHODS: &str = "\
The tunnel:
  default       two nodes with the default configuration, one on each side, over a link without loss. Counted is all that
                they send: seals, receipts and outer headers too. Shares are of whole IP packets, as SAVED in
                `overheard status`. The capture is read several times, for several sizes of the nodes' stores;
                of standard input and pipes, a copy in the folder for temporary files (TMPDIR)

Methods to compare with:
  chunk         content-defined chunks of 32 to 256 B, each packet by itself: what is there to be overheard
  max-match     repeated regions of any length (Spring and Wetherall), with memory for the whole capture
  acked         the encoder of a node with its bounded store and its own overhead, which refers to confirmed packets
  zstd          each payload compressed by itself
  whole-packet  payloads that repeat as a whole

Their shares are of the TCP and UDP payload. What TCP sends again is left out and reported apart.
  repeated  bytes that stood in an earlier packet
  saved     what that saves when references and headers of its own are taken off
  and zstd  the same when what is left of each packet is compressed by itself
  intra     repeated bytes that the same client received before
  inter     repeated bytes that only another client received before";

fn power_of_two(text: &str) -> Result<u32, String> {
    match text.parse::<u32>() {
        Ok(count) if count.is_power_of_two() => Ok(count),
        _ => Err("write a power of two, such as 16 or 32".to_owned()),
    }
}

/// A report with its file.
#[derive(Serialize)]
struct OfFile<'a> {
    file: &'a Path,
    #[serde(flatten)]
    report: &'a Report,
}

/// Analyses each file in turn with the product's methods.
///
/// # Errors
///
/// The errors of [`run_with`].
pub fn run(args: &Args) -> anyhow::Result<()> {
    run_with(args, Options::default().policies)
}

/// Analyses each file in turn, with these reference policies in addition.
///
/// # Errors
///
/// A [`Mistake`] for invalid options; otherwise an unreadable capture.
pub fn run_with(args: &Args, policies: Vec<Policy>) -> anyhow::Result<()> {
    let options = Options { policies, ..args.options() };
    options.validate().map_err(|why| Mistake::new(why.to_string()))?;
    if args.svg.is_some() && args.files.len() > 1 {
        return Err(Mistake::new("--svg draws one capture; give one file").into());
    }
    if let Some(interface) = &args.interface {
        let live = Live::capture(interface, Duration::from_secs(args.seconds.into()))?;
        return args
            .report(&options, Path::new(interface), &live.path())?
            .map_err(|why| anyhow!("{interface} {why}"));
    }
    let (count, mut unreadable) = (args.files.len(), 0);
    for (number, file) in args.files.iter().enumerate() {
        if number > 0 && !args.json {
            crate::say!("")?;
        }
        match args.report(&options, file, file)? {
            Ok(()) => {}
            Err(why) if count == 1 => bail!("{} {why}", file.display()),
            Err(why) => {
                crate::hint!("{} {why}", file.display());
                unreadable += 1;
            }
        }
    }
    if unreadable > 0 {
        bail!("{unreadable} of {count} captures could not be read");
    }
    Ok(())
}

impl Args {
    /// Analyses the capture at `path`, and prints the report under `name`. The inner error is that of the
    /// capture.
    fn report(
        &self,
        options: &Options,
        name: &Path,
        path: &Path,
    ) -> anyhow::Result<Result<(), CaptureError>> {
        let start = Instant::now();
        let report = match analyze(options, name, path) {
            Ok(report) => report,
            Err(why) => return Ok(Err(why)),
        };
        let mut out = io::stdout().lock();
        if self.json {
            writeln!(out, "{}", serde_json::to_string(&OfFile { file: name, report: &report })?)?;
        } else {
            text::write(&mut out, name, &report, start.elapsed())?;
        }
        if let Some(svg) = &self.svg {
            picture::draw(svg, name, &report).with_context(|| svg.display().to_string())?;
        }
        Ok(Ok(()))
    }

    fn options(&self) -> Options {
        let mut options = Options {
            only: self.methods.clone(),
            packets_in_flight: self.in_flight,
            zstd_level: self.zstd_level,
            tunnel: TunnelOptions {
                round_trip: Duration::from_millis(self.round_trip.into()),
                longest_pause: Duration::from_millis(self.longest_pause.into()),
                largest_store_mib: self.largest_store,
            },
            ..Options::default()
        };
        options.max_match.window_bytes = self.window;
        options.max_match.sample_bits = self.sampling.trailing_zeros();
        options.max_match.cache_packets = self.cache_packets;
        options.max_match.cache_bytes = self.cache.saturating_mul(1 << 20);
        options.chunk.max_chunks = options.max_match.cache_bytes / options.chunk.min_bytes;
        options.byte_caching.store_bytes = self.store.saturating_mul(1 << 20);
        options
    }
}

/// Analyses one file with a progress bar, which appears if standard error is a terminal.
fn analyze(options: &Options, name: &Path, path: &Path) -> Result<Report, CaptureError> {
    let bar = ProgressBar::no_length();
    let style =
        |template: &str| ProgressStyle::with_template(template).unwrap_or(ProgressStyle::default_bar());
    bar.set_style(style("{msg} {spinner} {bytes} ({bytes_per_sec})"));
    bar.set_message(name.display().to_string());
    let mut has_length = false;
    let report = options.analyze_file(path, &mut |progress: &Progress| {
        if let (Some(total_bytes), false) = (progress.total_bytes(), has_length) {
            bar.set_length(total_bytes);
            bar.set_style(style("{msg} {wide_bar} {bytes}/{total_bytes} ({bytes_per_sec}, {eta} left)"));
            has_length = true;
        }
        bar.set_position(progress.read_bytes());
    });
    bar.finish_and_clear();
    report
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn args(line: &str) -> Result<Args, clap::Error> {
        Line::try_parse_from(line.split_whitespace()).map(|line| line.args)
    }

    #[test]
    fn options_say_what_was_written_and_default_to_what_the_crate_has() {
        assert_eq!(args("analyze a.pcap").unwrap().options(), Options::default());
        let options =
            args("analyze --window 16 --sampling 16 --cache-packets 1000 a.pcap").unwrap().options();
        assert_eq!((options.max_match.window_bytes, options.max_match.sample_bits), (16, 4));
        assert_eq!(options.max_match.cache_packets, Some(1000));
        assert!(args("analyze --sampling 20 a.pcap").is_err());
        assert!(args("analyze").is_err());
    }

    #[test]
    fn a_method_that_does_not_exist_is_a_mistake_and_nothing_is_read() {
        let error = run(&args("analyze --method zsdt /nowhere").unwrap()).unwrap_err();
        assert!(error.is::<Mistake>() && error.to_string().contains("zsdt"), "{error}");
    }

    #[test]
    fn a_file_that_cannot_be_read_fails_the_command() {
        let error = run(&args("analyze /nowhere").unwrap()).unwrap_err();
        assert!(!error.is::<Mistake>());
    }
}
