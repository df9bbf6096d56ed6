//! The output for a web cache's report, by a program without the feature `cache`: its name alone.

use serde_json::Value;
use std::io::Write;

pub fn print(out: &mut impl Write, report: &Value) -> std::io::Result<()> {
    let name = report["name"].as_str().unwrap_or("?");
    writeln!(
        out,
        "web cache {name}: --json prints its report; a table takes a build with the feature \"cache\""
    )
}
