//! `overheard-lab results`: the tables of documents from kept rows.

use anyhow::{Context as _, bail};
use console::say;
use experiments::documents::{self, Source};
use std::fs;
use std::path::PathBuf;

/// Make the tables of the documents anew from the rows in docs/rows
#[derive(clap::Args)]
pub struct Args {
    /// The project's folder
    #[arg(default_value = ".", value_name = "PROJECT")]
    project: PathBuf,
    /// Change nothing, and fail if a document differs from the rows
    #[arg(long)]
    check: bool,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let source = Source::in_folder(&args.project.join("docs/rows"))?;
    let mut stale = Vec::new();
    for path in documents::with_blocks(&args.project)? {
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let filled = source.fill(&text).with_context(|| path.display().to_string())?;
        if filled == text {
            continue;
        }
        if args.check {
            stale.push(path.display().to_string());
        } else {
            fs::write(&path, filled).with_context(|| format!("cannot write {}", path.display()))?;
            say!("{} is made anew", path.display())?;
        }
    }
    if stale.is_empty() { Ok(()) } else { bail!("the rows say otherwise than {}", stale.join(", ")) }
}
