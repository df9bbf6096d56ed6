//! `[dashboard]`: the page for whoever looks after the node.

use super::Mistake;
use super::file;
use super::resolve::beside;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

const PORT: u16 = 4785;
/// Shorter tokens could be guessed.
const SHORTEST_TOKEN_BYTES: usize = 16;

/// Where the page is, and who may see it.
pub struct Dashboard {
    /// Where it is.
    pub listen: SocketAddr,
    /// What whoever asks has to bear.
    pub token: Option<String>,
}

/// What `[dashboard]` means in the file at `path`.
pub fn dashboard(path: &Path, dashboard: &file::Dashboard) -> Result<Dashboard, Mistake> {
    let listen = match &dashboard.listen {
        None => (Ipv4Addr::LOCALHOST, PORT).into(),
        Some(text) => text.parse::<SocketAddr>().map_err(|_| {
            let what = format!("{text:?} is no address and port; write one as \"127.0.0.1:{PORT}\"");
            Mistake::at(path, "[dashboard] listen", what)
        })?,
    };
    let token = dashboard.token_file.as_ref().map(|named| token(path, &beside(path, named))).transpose()?;
    if token.is_none() && !listen.ip().is_loopback() {
        let what = "is needed where others can ask; add it, or listen on 127.0.0.1";
        return Err(Mistake::at(path, "[dashboard] token_file", what));
    }
    Ok(Dashboard { listen, token })
}

fn token(path: &Path, file: &Path) -> Result<String, Mistake> {
    let mistake = |what: String| Mistake::at(path, "[dashboard] token_file", what);
    let text = std::fs::read_to_string(file)
        .map_err(|why| mistake(format!("cannot read {}: {why}", file.display())))?;
    let token = text.trim();
    if token.len() < SHORTEST_TOKEN_BYTES {
        let what =
            format!("{} is too short; write {SHORTEST_TOKEN_BYTES} characters or more", file.display());
        return Err(mistake(what));
    }
    Ok(token.to_owned())
}
