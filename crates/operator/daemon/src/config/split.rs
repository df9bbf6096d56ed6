//! `split`: TCP connections that end here and continue as another one.

use super::Mistake;
use super::file::{Split, Switched, Tunnel};
use ipnet::IpNet;
use split::Settings;
use split::{Plan, Taken};
use std::path::Path;
use std::time::Duration;

const CONNECTIONS: usize = 4096;
/// The most connections; each takes two file descriptors and two buffers.
const MAX_CONNECTIONS: usize = 1 << 16;
/// The least time that a NAT keeps an idle connection (RFC 5382, section 5).
const IDLE_SECONDS: u64 = 7440;
const PORT: u16 = 4783;
const MARK: u32 = 0x4f53;
const TABLE: u32 = 4783;

/// The value of `split` in the file at `path`. It intercepts connections through the tunnel, and to a peer's
/// addresses. `has_streams`: streams end connections on this node.
pub fn split(
    path: &Path,
    split: Option<Switched<Split>>,
    tunnel: &Tunnel,
    allowed_ips: &[Vec<IpNet>],
    has_streams: bool,
) -> Result<Option<Settings>, Mistake> {
    let Some(table) = Switched::table(split) else { return Ok(None) };
    if has_streams {
        let what = "streams end TCP connections, too, and no second place may; take [split] or streams out";
        return Err(Mistake::at(path, "[split]", what.to_owned()));
    }
    let mistake = |key: &str, what: String| Err(Mistake::at(path, &format!("[split] {key}"), what));
    let ports = table.ports.unwrap_or_default();
    if ports.contains(&0) {
        return mistake("ports", "0 is no port; name those of servers, as [80, 443]".to_owned());
    }
    let connections = table.connections.unwrap_or(CONNECTIONS);
    if !(1..=MAX_CONNECTIONS).contains(&connections) {
        return mistake("connections", format!("{connections} is not between 1 and {MAX_CONNECTIONS}"));
    }
    let idle_seconds = table.idle_seconds.unwrap_or(IDLE_SECONDS);
    if !(1..=86_400 * 7).contains(&idle_seconds) {
        return mistake(
            "idle_seconds",
            format!("{idle_seconds} is not between a second and a week (604800)"),
        );
    }
    let inward =
        Taken { interfaces: vec![tunnel.interface.clone()], ports: ports.clone(), ..Taken::default() };
    let mut taken = vec![inward];
    let destinations: Vec<IpNet> = allowed_ips.iter().flatten().copied().collect();
    if !destinations.is_empty() {
        taken.push(Taken { destinations, ports, ..Taken::default() });
    }
    let (mark, routing) = (table.mark.unwrap_or(MARK), table.table.unwrap_or(TABLE));
    let plan = Plan { taker: "split", door: table.port.unwrap_or(PORT), taken, mark, table: routing };
    if let Some((key, what)) = plan.mistake() {
        return mistake(key, what);
    }
    Ok(Some(Settings {
        plan,
        rules: table.rules.unwrap_or(true),
        connections,
        idle: Duration::from_secs(idle_seconds),
    }))
}
