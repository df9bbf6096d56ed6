//! Analyses captures and prints the reports: `cargo run --example analyze -- FILE...`
#![allow(clippy::disallowed_methods)] // It says how long it took.

use std::path::Path;
use std::time::Instant;

fn main() -> anyhow::Result<()> {
    for file in std::env::args().skip(1) {
        let start = Instant::now();
        let mut total = 0;
        let report =
            capture::Options::default().analyze_file(Path::new(&file), &mut |p| total = p.read_bytes());
        let seconds = start.elapsed().as_secs_f64();
        match report {
            Ok(report) => println!("{file}\n{}", serde_json::to_string_pretty(&report)?),
            Err(error) => println!("{file} {error}"),
        }
        eprintln!("{file}: {:.1} MB/s", total as f64 / 1e6 / seconds);
    }
    Ok(())
}
