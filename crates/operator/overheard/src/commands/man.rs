//! `overheard man`: the manual pages, made of the command line itself, so that neither says what the other does not.

use crate::Overheard;
use anyhow::Context;
use clap::CommandFactory;
use clap_mangen::Man;
use std::io::Write;
use std::path::PathBuf;

/// Print the manual page of the program, or write those of all its commands into a folder
#[derive(clap::Args)]
pub struct Args {
    /// The folder for overheard.1, overheard-up.1 and so on; it is made if need be
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let command = Overheard::command();
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
