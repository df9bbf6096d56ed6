//! `[dashboard]`, and a web cache's `[management]`: the operator's page.

use super::file;
use super::resolve::beside;
use super::{Mistake, secret};
#[cfg(feature = "dashboard")]
use dashboard::Page;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

const PORT: u16 = 4785;
/// Shorter tokens could be guessed.
const SHORTEST_TOKEN_BYTES: usize = 16;

/// Address and access of the page.
#[derive(Debug)]
pub struct Dashboard {
    /// Its address.
    pub listen: SocketAddr,
    /// The token that clients must send.
    pub token: Option<String>,
}

impl Dashboard {
    /// The page of `table` in the file at `path`. An address that others can reach needs a token.
    pub(crate) fn read(
        path: &Path,
        table: &str,
        listen: SocketAddr,
        token_file: Option<&Path>,
    ) -> Result<Self, Mistake> {
        let key = format!("{table} token_file");
        let token = token_file.map(|named| token(path, &key, &beside(path, named))).transpose()?;
        if token.is_none() && !listen.ip().is_loopback() {
            let what = "is needed where others can ask; add it, or listen on 127.0.0.1";
            return Err(Mistake::at(path, &key, what));
        }
        Ok(Dashboard { listen, token })
    }

    /// Opens the page's port, for `table` of the file at `path`.
    #[cfg(feature = "dashboard")]
    pub(crate) fn open(&self, path: &Path, table: &str) -> Result<Page, Mistake> {
        Page::open(self.listen, self.token.clone()).map_err(|why| {
            let what = format!("cannot listen on {}: {why}; choose another", self.listen);
            Mistake::at(path, &format!("{table} listen"), what)
        })
    }
}

/// The value of `[dashboard]` in the file at `path`.
pub fn dashboard(path: &Path, dashboard: &file::Dashboard) -> Result<Dashboard, Mistake> {
    let listen = match &dashboard.listen {
        None => (Ipv4Addr::LOCALHOST, PORT).into(),
        Some(text) => text.parse::<SocketAddr>().map_err(|_| {
            let what = format!("{text:?} is no address and port; write one as \"127.0.0.1:{PORT}\"");
            Mistake::at(path, "[dashboard] listen", what)
        })?,
    };
    Dashboard::read(path, "[dashboard]", listen, dashboard.token_file.as_deref())
}

fn token(path: &Path, key: &str, file: &Path) -> Result<String, Mistake> {
    let mistake = |what: String| Mistake::at(path, key, what);
    let text =
        secret::read_text(file).map_err(|why| mistake(format!("cannot read {}: {why}", file.display())))?;
    let token = text.trim();
    if token.len() < SHORTEST_TOKEN_BYTES {
        let what =
            format!("{} is too short; write {SHORTEST_TOKEN_BYTES} characters or more", file.display());
        return Err(mistake(what));
    }
    Ok(token.to_owned())
}
