//! The output for a web cache's report.

use console::{Table, bytes};
use daemon::sockets::answered;
use dashboard::cache::OUTCOMES;
use dashboard::figures::share;
use serde_json::Value;
use std::io::Write;

/// The most sites shown.
const SITES: usize = 10;

/// Prints hits by kind, bytes kept off the gateway, sites and neighbours.
pub fn print(out: &mut impl Write, report: &Value) -> std::io::Result<()> {
    let (store, counters) = (&report["store"], &report["counters"]);
    let number = |value: &Value| value.as_u64().unwrap_or(0);
    writeln!(
        out,
        "web cache {}: {} responses, {} in memory, {} on disk, {} not kept twice; HTTPS passes untouched and uncounted",
        report["name"].as_str().unwrap_or("?"),
        number(&store["objects"]),
        bytes(number(&store["memory_bytes"])),
        bytes(number(&store["disk_bytes"])),
        bytes(number(&store["deduplicated_bytes"])),
    )?;
    let mut headings = vec![""];
    headings.extend(OUTCOMES);
    headings.push("off the gateway");
    let mut table = Table::new(&headings);
    let row = |name: &str, counts: &Value, written: &dyn Fn(u64) -> String| {
        let answered = answered(counts);
        let mut cells = vec![name.to_owned()];
        cells.extend(answered.by_outcome().map(|(_, count)| written(count)));
        cells.push(share(answered.kept_off() as f64, answered.all() as f64));
        cells
    };
    table.row(row("requests", &counters["requests"], &|count| count.to_string()));
    table.row(row("bytes", &counters["bytes"], &bytes));
    let mut sites: Vec<(&String, &Value)> = counters["sites"].as_object().into_iter().flatten().collect();
    sites.sort_by_key(|(_, site)| std::cmp::Reverse(answered(&site["bytes"]).all()));
    for (name, site) in sites.into_iter().take(SITES) {
        table.row(row(name, &site["bytes"], &bytes));
    }
    table.write(out)?;
    let refused = counters["refused"].as_object().into_iter().flatten();
    let refused: Vec<String> = refused.map(|(why, count)| format!("{} {why}", number(count))).collect();
    if !refused.is_empty() {
        writeln!(out, "refused: {}", refused.join(", "))?;
    }
    for (address, neighbour) in counters["neighbours"].as_object().into_iter().flatten() {
        let (asked, failed) = (number(&neighbour["asked_us"]), number(&neighbour["failed"]));
        writeln!(out, "neighbour {address}: asked us {asked} times, failed us {failed} times")?;
    }
    Ok(())
}
