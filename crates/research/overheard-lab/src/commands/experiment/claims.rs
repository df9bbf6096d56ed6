//! Handling of claims: they are printed, and compared with a list of those that held before.

use anyhow::bail;
use console::say;
use experiments::claim::Claim;
use experiments::contents::Contents;
use experiments::kept_claims::{Differences, Judged, KeptClaims};
use std::path::{Path, PathBuf};

/// A list of claims.
#[derive(clap::Args)]
pub struct List {
    /// Fail if a claim on this list does not hold, and name claims that hold and are not on it
    #[arg(long, value_name = "FILE")]
    pub kept: Option<PathBuf>,
    /// Put the claims that hold on this list; of what does not run now, the list keeps what it has
    #[arg(long, value_name = "FILE", conflicts_with = "kept")]
    pub keep: Option<PathBuf>,
}

impl List {
    /// Holds one experiment against the list, or puts its claims there.
    pub fn hold(&self, contents: &Contents, judged: Judged) -> anyhow::Result<()> {
        let run = [judged];
        if let Some(path) = &self.keep {
            keep(path, contents, &run)?;
        }
        let kept = self.kept.as_deref().map(KeptClaims::read).transpose()?;
        kept.map_or(Ok(()), |kept| tell(&kept.compare(contents, &run)))
    }
}

/// Puts the claims that hold on a list, which may be there already.
pub fn keep(path: &Path, contents: &Contents, judged: &[Judged]) -> anyhow::Result<()> {
    let mut list = if path.exists() { KeptClaims::read(path)? } else { KeptClaims::default() };
    list.keep(contents, judged);
    list.write(path)
}

/// Tells what a run gained and lost; an error if it lost anything.
pub fn tell(differences: &Differences) -> anyhow::Result<()> {
    for claim in &differences.gained {
        say!("holds and is not on the list: {claim}")?;
    }
    for claim in &differences.lost {
        say!("does not hold and is on the list: {claim}")?;
    }
    match differences.lost.len() {
        0 => Ok(()),
        lost => bail!("{lost} claims on the list do not hold"),
    }
}

/// Prints every claim to standard error; an error if one falls short.
pub fn check(claims: &[Claim]) -> anyhow::Result<()> {
    for claim in claims {
        let holds = match claim.holds {
            Some(true) => "passed",
            Some(false) => "SHORT",
            None => "-",
        };
        console::hint!("{holds:7} {}: {}", claim.claim, claim.found);
    }
    let short = claims.iter().filter(|claim| claim.holds == Some(false)).count();
    if short > 0 {
        bail!("{short} of {} claims fall short", claims.len());
    }
    Ok(())
}
