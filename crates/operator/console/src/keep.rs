//! The process that `overheard up` and `overheard cache` start for privileged work: see [`daemon::keeper`].

/// Keep what takes rights for the node or the cache that started this, until that ends
#[derive(clap::Args)]
#[command(hide = true)]
pub struct Args {}

/// Runs the keeper.
///
/// # Errors
///
/// If no node or cache started it.
pub fn run(_: &Args) -> anyhow::Result<()> {
    daemon::keeper::run()
}
