//! A report as text.

use crate::{Table, bytes};
use capture::{DEFAULT_TUNNEL, MethodReport, Report, TunnelReport};
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

/// Cells of the longest bar.
const BAR_CELLS: usize = 40;
/// Parts of a cell in a bar.
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// Writes a report.
pub fn write(out: &mut impl Write, file: &Path, report: &Report, took: Duration) -> io::Result<()> {
    let traffic = &report.traffic;
    writeln!(
        out,
        "{}: {} packets ({}), {} clients, {} of payload to clients and {} to servers",
        file.display(),
        report.packets,
        report.link_types.join(", "),
        report.clients,
        bytes(traffic.to_client_bytes),
        bytes(traffic.payload_bytes - traffic.to_client_bytes),
    )?;
    if traffic.payload_bytes > 0 {
        writeln!(
            out,
            "encrypted: TLS {}, QUIC {}, SSH {} of it; left out: {} that TCP sent again\n",
            share(report.percent_of_payload(traffic.tls_bytes)),
            share(report.percent_of_payload(traffic.quic_bytes)),
            share(report.percent_of_payload(traffic.ssh_bytes)),
            bytes(traffic.retransmitted_bytes),
        )?;
        table(report.default.as_ref(), &report.methods).write(out)?;
        writeln!(out)?;
        if let Some(default) = &report.default {
            let carried = default.total();
            writeln!(
                out,
                "default: {} in {} packets became {} in {} datagrams: saved {}",
                bytes(carried.packet_bytes),
                carried.packets,
                bytes(carried.sent_bytes),
                carried.datagrams,
                share(carried.saved_percent()),
            )?;
        }
        if !report.stores.is_empty() {
            writeln!(out)?;
            curve(report).write(out)?;
            writeln!(out)?;
        }
    }
    writeln!(out, "{}", report.advice)?;
    if !report.configuration.is_empty() {
        writeln!(out, "Write in the configuration of both nodes:\n")?;
        report.configuration.iter().try_for_each(|line| writeln!(out, "    {line}"))?;
        writeln!(out)?;
    }
    for note in &report.notes {
        writeln!(out, "Note: {note}.")?;
    }
    let payload_bytes = (traffic.payload_bytes + traffic.retransmitted_bytes) as f64;
    let rate = payload_bytes / 1e6 / took.as_secs_f64().max(1e-3);
    writeln!(out, "Took {:.1} s ({rate:.1} MB/s of payload).", took.as_secs_f64())
}

fn share(percent: f64) -> String {
    // A value that rounds to zero has no sign.
    let percent = if percent.abs() < 0.05 { 0.0 } else { percent };
    format!("{percent:.1}%")
}

fn table(default: Option<&TunnelReport>, methods: &[MethodReport]) -> Table {
    let mut table = Table::new(&[
        "to clients:",
        "repeated",
        "saved",
        "and zstd",
        "intra",
        "inter",
        "| to servers: repeated",
        "saved",
        "and zstd",
    ]);
    let nothing = || "-".to_owned();
    if let Some(default) = default {
        table.row([
            DEFAULT_TUNNEL.to_owned(),
            nothing(),
            share(default.to_client_saved_percent),
            nothing(),
            nothing(),
            nothing(),
            nothing(),
            share(default.to_server_saved_percent),
            nothing(),
        ]);
    }
    for method in methods {
        let (down, up) = (&method.to_client, &method.to_server);
        // A compressor has neither repetitions nor clients.
        let of_caches = |percent: f64| if method.name == "zstd" { nothing() } else { share(percent) };
        table.row([
            method.name.clone(),
            of_caches(down.redundant_percent),
            share(down.saved_percent),
            share(down.saved_with_zstd_percent),
            of_caches(method.intra_percent),
            of_caches(method.inter_percent),
            of_caches(up.redundant_percent),
            share(up.saved_percent),
            share(up.saved_with_zstd_percent),
        ]);
    }
    table
}

/// Savings over the size of the store, and those of max-match with all of the capture.
fn curve(report: &Report) -> Table {
    let mut table = Table::new(&["store", "saved", "", ""]);
    for point in &report.stores {
        let is_default = Some(point.store_mib) == report.default.as_ref().map(|default| default.store_mib);
        let takes = Some(point.store_mib) == report.store_mib_to_take;
        let remark = match (is_default, takes) {
            (true, true) => "default; the size to take",
            (true, false) => "default",
            (false, true) => "the size to take",
            (false, false) => "",
        };
        let saved = point.saved_percent;
        table.row([format!("{} MiB", point.store_mib), share(saved), remark.to_owned(), bar(saved)]);
    }
    if let Some(max_match) = report.method("max-match") {
        let saved = max_match.total.saved_percent;
        table.row(["max-match".to_owned(), share(saved), "of the payload".to_owned(), bar(saved)]);
    }
    table
}

/// A bar for a share of 100%, always as wide as the longest one.
fn bar(percent: f64) -> String {
    let eighths = (percent.clamp(0.0, 100.0) / 100.0 * (8 * BAR_CELLS) as f64).round() as usize;
    let bar = "█".repeat(eighths / 8) + EIGHTHS[eighths % 8];
    format!("{bar:<BAR_CELLS$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_long_as_its_share() {
        let cells = |percent| bar(percent).trim_end().chars().count();
        assert_eq!([-5.0, 0.0, 0.2, 50.0, 51.0, 100.0, 150.0].map(cells), [0, 0, 1, 20, 21, 40, 40]);
        assert!([0.0, 33.3, 100.0].iter().all(|&percent| bar(percent).chars().count() == BAR_CELLS));
    }
}
