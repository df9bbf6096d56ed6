//! What a web cache says of itself.

use crate::table::{Table, bytes};
use anyhow::Context;
use serde_json::Value;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(4);
/// The longest answer that is read.
const ANSWER_BYTES: u64 = 16 << 20;
/// Sites shown.
const SITES: usize = 10;
const OUTCOMES: [&str; 7] = ["local", "ph_local", "validated", "stale", "remote", "miss", "pass"];
/// Those that cost the gateway nothing.
const KEPT_OFF: usize = 5;

/// Asks the cache that answers on `path`.
pub fn ask(path: &Path) -> anyhow::Result<Value> {
    let no_answer = || format!("the cache on {} does not answer", path.display());
    let stream = UnixStream::connect(path).with_context(no_answer)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut text = String::new();
    stream.take(ANSWER_BYTES).read_to_string(&mut text).with_context(no_answer)?;
    serde_json::from_str(&text).with_context(no_answer)
}

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

/// The same, of every cache that runs here and answers, in a line each.
pub fn lines() -> Vec<String> {
    super::sockets_here("cache").iter().filter_map(|socket| Some(line(&ask(socket).ok()?))).collect()
}

fn line(report: &Value) -> String {
    let requests = &report["counters"]["requests"];
    let counts = OUTCOMES.map(|outcome| requests[outcome].as_u64().unwrap_or(0));
    let (kept_off, all) = (counts[..KEPT_OFF].iter().sum(), counts.iter().sum::<u64>());
    let name = report["name"].as_str().unwrap_or("?");
    format!("web cache {name}: {all} requests, {} of them off the gateway", share(kept_off, all))
}

fn share(part: u64, whole: u64) -> String {
    if whole == 0 { "-".to_owned() } else { format!("{:.1}%", 100.0 * part as f64 / whole as f64) }
}
