//! What the demo shows: a bar while a run goes on, a line when it is done, a table at the end.

use anyhow::Context;
use console::{Table, bytes, say};
use experiments::pair::{AIR, GATEWAY, STATION};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lab::{Content, Outcome};
use std::io::{self, Write};

/// The figures of one run.
pub struct Run {
    name: String,
    offered_bytes: u64,
    down_bytes: u64,
    up_bytes: u64,
    air_seconds: f64,
    /// Seconds that each device took for all files.
    seconds: Vec<f64>,
    undecodable: Option<u64>,
    lost_packets: u64,
    whole: bool,
}

impl Run {
    /// From an outcome of the demo's scenario, in which each device fetched so many files.
    pub fn new(name: &str, outcome: &Outcome, files: usize) -> anyhow::Result<Self> {
        let link = outcome.link(AIR).context("the air was not counted")?;
        let seconds = |part: &[lab::DownloadOutcome]| part.iter().map(|download| download.seconds).sum();
        let missed = |node: &str| {
            let counters = &outcome.statuses.get(node)?["node"]["peers"][0]["counters"];
            Some(counters["missed"].as_u64()? - counters["repaired"].as_u64()?)
        };
        Ok(Run {
            name: name.to_owned(),
            offered_bytes: outcome.downloads.iter().map(|download| download.bytes).sum(),
            down_bytes: link.forward.transmitted.bytes,
            up_bytes: link.backward.transmitted.bytes,
            air_seconds: link.forward.air_seconds + link.backward.air_seconds,
            seconds: outcome.downloads.chunks(files.max(1)).map(seconds).collect(),
            undecodable: missed(STATION).zip(missed(GATEWAY)).map(|(down, up)| down + up),
            lost_packets: link.forward.lost.packets + link.backward.lost.packets,
            whole: outcome.all_came_whole(),
        })
    }

    fn sent_bytes(&self) -> u64 {
        self.down_bytes + self.up_bytes
    }
}

/// The demo's display.
pub struct Screen {
    quiet: bool,
    whole_bytes: u64,
}

impl Screen {
    /// Prints the plan.
    pub fn new(quiet: bool, contents: &[Content], devices: u64, link: &str) -> io::Result<Self> {
        let lengths = contents.iter().filter_map(|content| content.length_bytes);
        let whole_bytes = devices * lengths.sum::<u64>();
        if !quiet {
            say!("A gateway, a station, and between them the air: {link}.")?;
            match devices {
                1 => say!("Fetched by curl, each file once:")?,
                _ => say!(
                    "Fetched by curl, each file by one device and then by a second behind the same station:"
                )?,
            }
            for content in contents {
                say!("  {:<24} {:>9}", content.name, bytes(content.length_bytes.unwrap_or(0)))?;
            }
            say!("")?;
        }
        Ok(Screen { quiet, whole_bytes })
    }

    /// A bar for one run.
    pub fn begin(&self, name: &str) -> ProgressBar {
        let bar = ProgressBar::new(self.whole_bytes);
        if self.quiet {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        let style = ProgressStyle::with_template("{prefix:<24} {wide_bar} {bytes:>10} fetched, {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_prefix(name.to_owned());
        bar
    }

    /// Moves the bar.
    pub fn progress(&self, bar: &ProgressBar, fetched_bytes: u64, sent_bytes: u64) {
        bar.set_position(fetched_bytes);
        bar.set_message(format!("{} on the link", bytes(sent_bytes)));
    }

    /// Prints the end of a run.
    pub fn done(&self, run: &Run) -> io::Result<()> {
        if !self.quiet {
            say!(
                "{:<24} {} fetched in {:.1} s with {} on the link",
                run.name,
                bytes(run.offered_bytes),
                run.seconds.iter().sum::<f64>(),
                bytes(run.sent_bytes())
            )?;
        }
        Ok(())
    }
}

/// Prints the runs side by side, one line a figure.
pub fn table(runs: &[&Run]) -> anyhow::Result<()> {
    let mut table =
        Table::new(&[&[""], &runs.iter().map(|run| run.name.as_str()).collect::<Vec<_>>()[..]].concat());
    let mut line = |name: &str, figure: &dyn Fn(&Run) -> String| {
        table.row(std::iter::once(name.to_owned()).chain(runs.iter().map(|run| figure(run))));
    };
    line("bytes offered", &|run| bytes(run.offered_bytes));
    line("bytes on the link, to the station", &|run| bytes(run.down_bytes));
    line("bytes on the link, to the gateway", &|run| bytes(run.up_bytes));
    line("air time", &|run| format!("{:.1} s", run.air_seconds));
    let devices = runs.first().map_or(0, |run| run.seconds.len());
    for (device, name) in ["time, first device", "time, second device"].into_iter().enumerate().take(devices)
    {
        line(name, &|run| {
            run.seconds.get(device).map_or("-".to_owned(), |seconds| format!("{seconds:.1} s"))
        });
    }
    line("packets lost on the link", &|run| run.lost_packets.to_string());
    line("packets undecodable", &|run| run.undecodable.map_or("-".to_owned(), |count| count.to_string()));
    line("checksums", &|run| if run.whole { "equal" } else { "DIFFERENT" }.to_owned());
    let mut out = io::stdout().lock();
    writeln!(out)?;
    table.write(&mut out)?;
    if let (Some(bare), Some(last)) = (runs.first(), runs.last()) {
        let share = |part: f64, whole: f64| 100.0 * (1.0 - part / whole.max(f64::MIN_POSITIVE));
        writeln!(
            out,
            "\n{} left {:.0}% of the bytes and {:.0}% of the time out.",
            last.name,
            share(last.sent_bytes() as f64, bare.sent_bytes() as f64),
            share(last.seconds.iter().sum(), bare.seconds.iter().sum())
        )?;
    }
    Ok(())
}
