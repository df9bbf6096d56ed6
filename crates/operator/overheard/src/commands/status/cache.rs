//! What a web cache says of itself.

use console::{Table, bytes};
use daemon::sockets::{KEPT_OFF, OUTCOMES, share};
use serde_json::Value;
use std::io::Write;

/// Sites shown.
const SITES: usize = 10;

/// Prints it: hits by kind, what was kept off the gateway, sites, neighbours.
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
    let mut table = Table::new(&[
        "",
        "local",
        "ph-local",
        "validated",
        "stale",
        "remote",
        "miss",
        "not kept",
        "off the gateway",
    ]);
    let row = |name: &str, answered: &Value, written: &dyn Fn(u64) -> String| {
        let counts = OUTCOMES.map(|outcome| number(&answered[outcome]));
        let mut cells = vec![name.to_owned()];
        cells.extend(counts.iter().map(|count| written(*count)));
        cells.push(share(counts[..KEPT_OFF].iter().sum(), counts.iter().sum()));
        cells
    };
    table.row(row("requests", &counters["requests"], &|count| count.to_string()));
    table.row(row("bytes", &counters["bytes"], &bytes));
    let mut sites: Vec<(&String, &Value)> = counters["sites"].as_object().into_iter().flatten().collect();
    let sent = |site: &Value| OUTCOMES.iter().map(|outcome| number(&site["bytes"][*outcome])).sum::<u64>();
    sites.sort_by_key(|(_, site)| std::cmp::Reverse(sent(site)));
    for (name, site) in sites.into_iter().take(SITES) {
        table.row(row(name, &site["bytes"], &bytes));
    }
    table.write(out)?;
    for (address, neighbour) in counters["neighbours"].as_object().into_iter().flatten() {
        let (asked, failed) = (number(&neighbour["asked_us"]), number(&neighbour["failed"]));
        writeln!(out, "neighbour {address}: asked us {asked} times, failed us {failed} times")?;
    }
    Ok(())
}
