//! The status sockets of this machine: its running nodes and web caches, and a web cache's report.

#[cfg(feature = "cache")]
mod answers;

use anyhow::{Context, bail};
use serde_json::Value;
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[cfg(feature = "cache")]
pub use answers::{answered, line};

/// Folder of nodes' sockets for `overheard status`.
pub const SOCKET_DIRECTORY: &str = "/run/overheard";
/// Folder of web caches' sockets; they run as another user.
pub const CACHE_SOCKET_DIRECTORY: &str = "/run/overheard-cache";
const PATIENCE: Duration = Duration::from_secs(4);
/// The longest answer.
const ANSWER_BYTES: u64 = 16 << 20;

/// The program at a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A node.
    Node,
    /// A web cache.
    Cache,
}

/// The sockets of one kind on this machine, in order.
#[must_use]
pub fn here(kind: Kind) -> Vec<PathBuf> {
    let (directory, ending) = match kind {
        Kind::Node => (SOCKET_DIRECTORY, "sock"),
        Kind::Cache => (CACHE_SOCKET_DIRECTORY, "cache"),
    };
    let Ok(directory) = std::fs::read_dir(directory) else { return Vec::new() };
    let mut sockets: Vec<PathBuf> = directory
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == ending))
        .collect();
    sockets.sort();
    sockets
}

/// The status socket of the selected node: by name, by configuration, or the only one here.
///
/// # Errors
///
/// If no node runs here, several do, or the configuration is wrong.
pub fn only_node(config: Option<&Path>, socket: Option<&Path>) -> anyhow::Result<PathBuf> {
    match (socket, config) {
        (Some(socket), _) => return Ok(socket.to_owned()),
        (None, Some(config)) => return Ok(crate::config::status_socket(config)?),
        (None, None) => {}
    }
    match &here(Kind::Node)[..] {
        [socket] => Ok(socket.clone()),
        [] => bail!("no node runs here; start one with `overheard up`"),
        several => {
            let named: Vec<_> =
                several.iter().map(|socket| format!("--socket {}", socket.display())).collect();
            bail!("several nodes run here; choose one: {}", named.join(", "))
        }
    }
}

/// Queries the web cache at `path`.
///
/// # Errors
///
/// If it does not answer, or not in JSON.
pub fn ask_cache(path: &Path) -> anyhow::Result<Value> {
    let no_answer = || format!("the cache on {} does not answer", path.display());
    let stream = UnixStream::connect(path).with_context(no_answer)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut text = String::new();
    stream.take(ANSWER_BYTES).read_to_string(&mut text).with_context(no_answer)?;
    serde_json::from_str(&text).with_context(no_answer)
}

/// A line for every running web cache that answers; none in a build without web caches.
#[must_use]
pub fn cache_lines() -> Vec<String> {
    #[cfg(feature = "cache")]
    return here(Kind::Cache).iter().filter_map(|socket| Some(line(&ask_cache(socket).ok()?))).collect();
    #[cfg(not(feature = "cache"))]
    Vec::new()
}
