//! Several gateways of one operator: on a station its choices, on a gateway the others.

use super::Mistake;
use super::file::{File, Gateway, Role};
use super::key_file::public_key;
use super::resolve::{endpoint, nets};
use node::{Gateways, PeerConfig};
use std::path::Path;
use std::time::Duration;

/// Idle time before a keepalive to a gateway. A station with several gateways changes if one is silent.
const STATION_KEEPALIVE: Duration = Duration::from_secs(2);
/// The same between gateways, which are on a wire.
const GATEWAY_KEEPALIVE: Duration = Duration::from_secs(5);

/// The value of the `[[gateway]]`s in the file at `path`. They become peers, behind the existing ones.
pub fn gateways(path: &Path, file: &File, peers: &mut Vec<PeerConfig>) -> anyhow::Result<Gateways> {
    let first = peers.len();
    let is_station = file.node.role == Role::Station;
    if !file.gateway.is_empty() && file.node.threads.is_some_and(|threads| threads > 1) {
        let what = "which gateway a station is with is known to one thread; take it out, or the [[gateway]]s";
        return Err(Mistake::at(path, "[node] threads", what).into());
    }
    for gateway in &file.gateway {
        peers.push(peer(path, file, gateway)?);
    }
    let (others, gateways) = peers.split_at(first);
    if gateways.is_empty() {
        return Ok(Gateways::One);
    }
    if !is_station {
        if others.is_empty() {
            let what = "there is none; add one for each station, at this gateway as at the others";
            return Err(Mistake::at(path, "[[peer]]", what).into());
        }
        return Ok(Gateways::Neighbours((first..peers.len()).collect()));
    }
    for other in &gateways[1..] {
        if other.allowed_ips != gateways[0].allowed_ips {
            let key = format!("[[gateway]] {:?} allowed_ips", other.name);
            let what = format!(
                "differ from those of {:?}, and a station reaches the same by whichever gateway it is with; write them once, \
                 at the first",
                gateways[0].name
            );
            return Err(Mistake::at(path, &key, what).into());
        }
    }
    Ok(Gateways::Choice((first..peers.len()).collect()))
}

fn peer(path: &Path, file: &File, gateway: &Gateway) -> anyhow::Result<PeerConfig> {
    let is_station = file.node.role == Role::Station;
    let key = |key: &str| format!("[[gateway]] {:?} {key}", gateway.name);
    let public_key = public_key(path, &key("public_key"), &gateway.public_key)?;
    let found = match &gateway.endpoint {
        Some(text) => Some(endpoint(path, &key("endpoint"), text)?),
        None if is_station => {
            let what =
                "is missing, and a station has to know where a gateway is; add endpoint = \"ADDRESS:PORT\"";
            return Err(Mistake::at(path, &key("endpoint"), what).into());
        }
        None => None,
    };
    let first = file.gateway.first().filter(|_| is_station).and_then(|first| first.allowed_ips.as_ref());
    let allowed_ips = match gateway.allowed_ips.as_ref().or(first) {
        Some(allowed_ips) => nets(path, &key("allowed_ips"), allowed_ips)?,
        None if is_station => {
            let what = "is missing; say which addresses are reached by it, such as [\"0.0.0.0/0\"]";
            return Err(Mistake::at(path, &key("allowed_ips"), what).into());
        }
        // A gateway may have no inner address of its own.
        None => Vec::new(),
    };
    let keepalive = match gateway.keepalive_seconds {
        Some(0) if is_station => {
            let what = "0 never finds out that a gateway is gone; take it out";
            return Err(Mistake::at(path, &key("keepalive_seconds"), what).into());
        }
        Some(0) => None,
        Some(seconds) => Some(Duration::from_secs(seconds.into())),
        None if is_station => Some(STATION_KEEPALIVE),
        None => found.map(|_| GATEWAY_KEEPALIVE),
    };
    Ok(PeerConfig {
        name: gateway.name.clone(),
        public_key,
        endpoint: found,
        allowed_ips,
        keepalive,
        bits_a_second: None,
    })
}
