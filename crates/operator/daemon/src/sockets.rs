//! The status sockets of this machine: which nodes and web caches run here, and what a web cache says of itself.

use anyhow::{Context, bail};
use serde_json::Value;
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where the sockets are that answer `overheard status`.
pub const SOCKET_DIRECTORY: &str = "/run/overheard";
const PATIENCE: Duration = Duration::from_secs(4);
/// The longest answer that is read.
const ANSWER_BYTES: u64 = 16 << 20;

/// How a web cache answers requests, as its report names it.
pub const OUTCOMES: [&str; 7] = ["local", "ph_local", "validated", "stale", "remote", "miss", "pass"];
/// How many of [`OUTCOMES`], from the first, cost the gateway nothing.
pub const KEPT_OFF: usize = 5;

/// What answers on a socket.
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
    let ending = match kind {
        Kind::Node => "sock",
        Kind::Cache => "cache",
    };
    let Ok(directory) = std::fs::read_dir(Path::new(SOCKET_DIRECTORY)) else { return Vec::new() };
    let mut sockets: Vec<PathBuf> = directory
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == ending))
        .collect();
    sockets.sort();
    sockets
}

/// The status socket of the node that is meant: named, that of a configuration, or the only one here.
///
/// # Errors
///
/// When no node runs here, several do, or the configuration is wrong.
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

/// Asks the web cache that answers on `path`.
///
/// # Errors
///
/// When it does not answer, or not in JSON.
pub fn ask_cache(path: &Path) -> anyhow::Result<Value> {
    let no_answer = || format!("the cache on {} does not answer", path.display());
    let stream = UnixStream::connect(path).with_context(no_answer)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut text = String::new();
    stream.take(ANSWER_BYTES).read_to_string(&mut text).with_context(no_answer)?;
    serde_json::from_str(&text).with_context(no_answer)
}

/// What every web cache that runs here and answers has done, in a line each.
#[must_use]
pub fn cache_lines() -> Vec<String> {
    here(Kind::Cache).iter().filter_map(|socket| Some(line(&ask_cache(socket).ok()?))).collect()
}

fn line(report: &Value) -> String {
    let requests = &report["counters"]["requests"];
    let counts = OUTCOMES.map(|outcome| requests[outcome].as_u64().unwrap_or(0));
    let (kept_off, all) = (counts[..KEPT_OFF].iter().sum(), counts.iter().sum::<u64>());
    let name = report["name"].as_str().unwrap_or("?");
    format!("web cache {name}: {all} requests, {} of them off the gateway", share(kept_off, all))
}

/// A share in percent, for people; `-` of nothing.
#[must_use]
pub fn share(part: u64, whole: u64) -> String {
    if whole == 0 { "-".to_owned() } else { format!("{:.1}%", 100.0 * part as f64 / whole as f64) }
}
