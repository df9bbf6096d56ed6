//! What `overheard up` and `overheard cache` start for what takes rights: see [`daemon::keeper`].

/// Keep what takes rights for the node or the cache that started this, until that ends
#[derive(clap::Args)]
#[command(hide = true)]
pub struct Args {}

/// Keeps.
///
/// # Errors
///
/// When nobody started it.
pub fn run(_: &Args) -> anyhow::Result<()> {
    daemon::keeper::run()
}
