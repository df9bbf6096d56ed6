//! The manual pages, generated from the command line's definition, so that both agree.

use anyhow::Context;
use clap_mangen::Man;
use std::io::Write;
use std::path::PathBuf;

/// Print the manual page of the program, or write the pages of all commands into a folder
#[derive(clap::Args)]
pub struct Args {
    /// The folder for the pages; the command makes it if needed
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print the reference of all commands as Markdown, for the documents
    #[arg(long, hide = true, conflicts_with = "out")]
    markdown: bool,
}

/// Prints the page of `command`, or writes it and its subcommands' pages.
///
/// # Errors
///
/// If the folder or a page cannot be written.
pub fn run(args: &Args, command: clap::Command) -> anyhow::Result<()> {
    if args.markdown {
        return Ok(std::io::stdout().write_all(crate::reference::markdown(command).as_bytes())?);
    }
    match &args.out {
        Some(folder) => {
            std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
            clap_mangen::generate_to(command, folder)
                .with_context(|| format!("cannot write into {}", folder.display()))
        }
        None => {
            let mut page = Vec::new();
            Man::new(command).render(&mut page)?;
            Ok(std::io::stdout().write_all(&page)?)
        }
    }
}
