//! The table of `docs/guides/radios.md`, from the rows that `scripts/radio-rows` keeps.

#![allow(clippy::unwrap_used)] // a test fails by panicking

use crate::reference::hold_block;
use crate::support::documents::read;
use std::fmt::Write as _;

#[test]
fn others_frames_by_rate() {
    let rows: serde_json::Value = serde_json::from_str(&read("docs/rows/radios.json")).unwrap();
    let rows = rows.as_array().unwrap();
    assert!(rows.len() > 1, "the guide has figures");
    let mut table = String::from(
        "\n| frames for others | at | usable | encrypted | in an A-MPDU |\n|---|---|---|---|---|\n",
    );
    for row in rows {
        for rate in row["rates"].as_array().unwrap() {
            let text = |key: &str| rate[key].as_u64().unwrap();
            let (name, at) = (row["name"].as_str().unwrap(), rate["rate"].as_str().unwrap());
            let (readable, protected, aggregated) = (text("readable"), text("protected"), text("aggregated"));
            writeln!(table, "| {name} | {at} | {readable} | {protected} | {aggregated} |").unwrap();
        }
    }
    hold_block("docs/guides/radios.md", "radios", &table);
}
