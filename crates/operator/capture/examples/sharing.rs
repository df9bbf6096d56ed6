//! Savings on captures for each reach of references, as a Markdown table: `cargo run --example sharing --
//! FILE...`
//!
//! Values are percent of the TCP and UDP payload, minus references and their fronts, under the policy
//! `acked`. Brackets add the compression of each packet's rest. The first column matches to the byte across
//! all flows, as the papers' systems do. The second is the default.

use re::Sharing;
use std::path::Path;

const COLUMNS: [Sharing; 4] = [Sharing::ToTheByte, Sharing::Station, Sharing::Host, Sharing::Flow];

fn main() -> anyhow::Result<()> {
    let names = COLUMNS.map(|sharing| sharing.to_string());
    println!("| capture | {} |", names.join(" | "));
    println!("|---|{}", "---:|".repeat(names.len()));
    for file in std::env::args().skip(1) {
        let path = Path::new(&file);
        let mut row = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for sharing in COLUMNS {
            let mut options = capture::Options { only: vec!["acked".to_owned()], ..Default::default() };
            options.byte_caching.sharing = sharing;
            match options.analyze_file(path, &mut |_| {}) {
                Ok(report) => {
                    for shares in report.methods.iter().map(|method| method.total) {
                        row += &format!(
                            " | {:.1} ({:.1})",
                            shares.saved_percent, shares.saved_with_zstd_percent
                        );
                    }
                }
                Err(error) => anyhow::bail!("{file} {error}"),
            }
        }
        println!("| {row} |");
    }
    Ok(())
}
