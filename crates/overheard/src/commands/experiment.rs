//! `overheard experiment`: runs a paper again and sets our figures beside its own.

use crate::config::Mistake;
use anyhow::Context;
use experiments::byte_caching::plan::{Extent, Plan, Traced};
use experiments::byte_caching::{self};
use experiments::contents::Contents;
use experiments::row::Driver;
use experiments::run::Runner;
use indicatif::{ProgressBar, ProgressStyle};
use std::path::PathBuf;

/// Run a paper's experiments again and set our figures beside its own
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    paper: Paper,
}

#[derive(clap::Subcommand)]
enum Paper {
    /// Byte Caching in Wireless Networks (Le, Srivatsa, Iyengar, ICDCS 2012)
    ByteCaching(ByteCaching),
}

#[derive(clap::Args)]
struct ByteCaching {
    /// Only this figure or table (may be given several times): table-1, 6, 10 and so on
    #[arg(long, value_name = "ID")]
    figure: Vec<String>,
    /// What runs it: `virtual` is the virtual-time kernel, `lab` this one (needs root), `sim` has no TCP
    #[arg(long, default_value = "virtual")]
    driver: Driver,
    /// How many seeds in every cell, instead of each figure's own number
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    seeds: Option<u32>,
    /// A few cells of every figure and few seeds
    #[arg(long)]
    quick: bool,
    /// Print the rows as a JSON array
    #[arg(long)]
    json: bool,
    /// Write a report, with curves, into this file
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let Paper::ByteCaching(args) = &args.paper;
    let figures = byte_caching::chosen(&args.figure).map_err(|why| Mistake::new(why.to_string()))?;
    let extent = match (args.quick, args.driver) {
        (true, Driver::Virtual) => Extent::Quick,
        (false, Driver::Virtual) => Extent::Whole,
        _ => Extent::Corner,
    };
    let plan = Plan { extent, seeds: args.seeds, trace: Traced::default() };
    let exe = std::env::current_exe().context("cannot find this program's own file")?;
    let guest = vec![exe.to_string_lossy().into_owned(), "lab-guest".to_owned()];
    let runner = Runner { driver: args.driver, exe, guest };
    let progress = ProgressBar::new(0).with_style(
        ProgressStyle::with_template("{wide_bar} {pos}/{len} runs, {elapsed} of about {duration}  {msg:40!}")
            .context("the progress bar")?,
    );
    let rows = byte_caching::run(&figures, plan, &Contents::find(), &runner, &progress)?;
    progress.finish_and_clear();
    println!("{}", serde_json::to_string_pretty(&rows)?);
    Ok(())
}
