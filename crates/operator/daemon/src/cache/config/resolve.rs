//! The meaning of the file. Everything is checked before anything starts.

use super::Config;
use super::file::{Cache, File, Forward, Upstream};
use super::key::cache_key;
use crate::config::{Dashboard, Files, Mistake, beside, features};
use interception::{Plan, Taken};
use ipnet::IpNet;
use std::fmt::Display;
use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;
use webcache::config::{Config as Settings, Mesh, Protocol, Routing, Search};
use webcache::destinations::{Destinations, Exception, Ports};
use webcache::icp::Neighbour;
use webcache::proxy::MOST_CONNECTIONS;
use webcache::semantics::key::Key;
use webcache::site::{Rewrite, Rewrites};
use webcache::store::Limits;

/// A day: an uplink is usually restored in that time, and older content is outdated.
const STALE_SECONDS: u32 = 86_400;
const LONGEST_SEARCH: Duration = Duration::from_secs(5);
const MOST_UPLINK_HOPS: f64 = 64.0;
const MIB: u64 = 1 << 20;

fn mistake<T>(path: &Path, key: &str, sentence: impl Display) -> Result<T, Mistake> {
    Err(Mistake::at(path, key, sentence))
}

/// Resolves a file read from `path`.
pub fn resolve(path: &Path, text: String, file: File) -> Result<Config, Mistake> {
    let name = match &file.cache.name {
        Some(name) => name.clone(),
        None => std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned(),
    };
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    if name.is_empty() || name.len() > 64 || !name.bytes().all(token) {
        return mistake(
            path,
            "[cache] name",
            format!("{name:?} is no name; use up to 64 letters, digits, '-', '.' or '_'"),
        );
    }
    let clients = networks(path, "[cache] clients", &file.cache.clients)?;
    if clients.is_empty() {
        return mistake(
            path,
            "[cache] clients",
            "nobody is served; name the networks of the clients, as [\"10.0.0.0/8\"]",
        );
    }
    let connections_each = file.cache.connections_each;
    if !(1..=MOST_CONNECTIONS).contains(&connections_each) {
        return mistake(path, "[cache] connections_each", format!("must be 1 to {MOST_CONNECTIONS}"));
    }
    let limits = limits(path, &file)?;
    let transparent = file.transparent.as_ref().map(|taken| -> Result<(Plan, bool), Mistake> {
        let ours = Taken {
            interfaces: taken.interfaces.clone(),
            sources: clients.clone(),
            destinations: Vec::new(),
            ports: taken.origin_ports.clone(),
        };
        check_taken(path, &ours)?;
        let (mark, table) = (taken.mark, taken.table);
        let plan = Plan { taker: "cache", door: taken.port, taken: vec![ours], mark, table };
        Ok((plan, taken.rules))
    });
    let transparent = transparent.transpose()?;
    if let Some((key, what)) = transparent.as_ref().and_then(|(plan, _)| plan.mistake()) {
        return mistake(path, &format!("[transparent] {key}"), what);
    }
    let reverse = match &file.reverse {
        Some(reverse) if reverse.upstream.is_empty() => {
            return mistake(
                path,
                "[reverse] upstream",
                "there is none; add a table [[reverse.upstream]] with a url",
            );
        }
        Some(reverse) => {
            let rewrites = reverse
                .upstream
                .iter()
                .map(|upstream| rewrite(path, upstream))
                .collect::<Result<Vec<Rewrite>, Mistake>>()?;
            Some((reverse.listen, Rewrites::new(rewrites)))
        }
        None => None,
    };
    let mesh = mesh(path, &file)?;
    if transparent.is_none() && file.forward.is_none() && reverse.is_none() && mesh.is_none() {
        return mistake(
            path,
            "[transparent]",
            "nothing is served; add [transparent], [forward], [reverse] or [peers]",
        );
    }
    features::DASHBOARD.needed_by(path, "[management]", file.management.is_some())?;
    let management = match &file.management {
        Some(management) => {
            let token_file = management.token_file.as_deref();
            Some(Dashboard::read(path, "[management]", management.listen, token_file)?)
        }
        None => None,
    };
    let icp = match file.icp {
        Some(icp) if icp.neighbour.is_empty() => {
            return mistake(
                path,
                "[icp] neighbour",
                "there is none; add a table [[icp.neighbour]] with an address",
            );
        }
        Some(icp) => {
            let neighbours = icp.neighbour.iter().map(|neighbour| Neighbour {
                address: neighbour.address,
                icp_port: neighbour.icp_port,
                http_port: neighbour.http_port,
                parent: neighbour.parent,
            });
            Some((icp.listen, neighbours.collect()))
        }
        None => None,
    };
    let files = file.sandbox.then(|| {
        let mut files = Files::default();
        // A reload reads them again.
        files.read_beside(path);
        let key = file.peers.as_ref().map(|peers| &peers.cache_key_file);
        let token = file.management.as_ref().and_then(|management| management.token_file.as_ref());
        key.into_iter().chain(token).for_each(|file| files.read_beside(&beside(path, file)));
        files.written.extend(limits.directory.iter().map(|(folder, _)| folder.clone()));
        let routes = file.routing.as_ref().and_then(|routing| routing.file.as_ref());
        routes.into_iter().for_each(|file| files.read_beside(&beside(path, file)));
        files
    });
    let settings = Settings {
        name,
        clients,
        connections_each,
        stale_if_unreachable: file.cache.stale_if_unreachable_seconds.unwrap_or(STALE_SECONDS),
        packages: file.cache.packages,
        limits,
        transparent,
        verify_host: file.transparent.as_ref().is_none_or(|taken| taken.verify_host),
        destinations: destinations(path, &file.cache, file.forward.as_ref())?,
        forward: file.forward.map(|forward| forward.listen),
        reverse,
        mesh,
        icp,
    };
    Ok(Config { path: path.to_owned(), text, settings, management, files })
}

fn networks(path: &Path, key: &str, texts: &[String]) -> Result<Vec<IpNet>, Mistake> {
    let network = |text: &String| {
        let alone = || text.parse::<IpAddr>().ok().map(IpNet::from);
        text.parse().ok().or_else(alone).map_or_else(
            || {
                mistake(
                    path,
                    key,
                    format!("{text:?} is no network; write one as \"10.0.0.0/8\" or \"fd00::/8\""),
                )
            },
            Ok,
        )
    };
    texts.iter().map(network).collect()
}

fn destinations(path: &Path, cache: &Cache, forward: Option<&Forward>) -> Result<Destinations, Mistake> {
    let ports = |value: &toml::Value| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        text.parse::<Ports>().or_else(|_| {
            let what = format!("{value} is no port; write one as 80, or a range as \"1025-65535\"");
            mistake(path, "[cache] destination_ports", what)
        })
    };
    let exception = |text: &String| {
        text.parse::<Exception>().or_else(|_| {
            let what =
                format!("{text:?} is no destination; write one as \"127.0.0.0/8\" or \"10.0.0.1:8080\"");
            mistake(path, "[cache] allow_destinations", what)
        })
    };
    Ok(Destinations {
        ports: cache.destination_ports.iter().map(ports).collect::<Result<_, _>>()?,
        connect_ports: forward.map(|forward| forward.connect_ports.clone()).unwrap_or_default().into(),
        exceptions: cache.allow_destinations.iter().map(exception).collect::<Result<_, _>>()?,
    })
}

fn limits(path: &Path, file: &File) -> Result<Limits, Mistake> {
    let store = &file.store;
    let least = |key, given: u64, least: u64| {
        if given < least {
            mistake(path, key, format!("{given} is too little; give at least {least}"))
        } else {
            Ok(given)
        }
    };
    least("[store] memory_mib", store.memory_mib, 1)?;
    least("[store] objects", store.objects as u64, 16)?;
    least("[store] object_mib", store.object_mib, 1)?;
    if store.directory.is_some() {
        least("[store] disk_mib", store.disk_mib, 4)?;
    }
    Ok(Limits {
        memory_bytes: store.memory_mib.saturating_mul(MIB),
        directory: store
            .directory
            .as_ref()
            .map(|named| (beside(path, named), store.disk_mib.saturating_mul(MIB))),
        objects: store.objects,
        object_bytes: store.object_mib.saturating_mul(MIB),
        policy: store.policy,
    })
}

fn check_taken(path: &Path, taken: &Taken) -> Result<(), Mistake> {
    if taken.ports.is_empty() || taken.ports.contains(&0) {
        return mistake(path, "[transparent] origin_ports", "no port is taken; name some, as [80]");
    }
    if taken.ports.contains(&443) {
        return mistake(
            path,
            "[transparent] origin_ports",
            "443 is HTTPS, which passes untouched; take it out",
        );
    }
    let named = |name: &String| {
        !name.is_empty()
            && name.len() < 16
            && name.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"')
    };
    if let Some(name) = taken.interfaces.iter().find(|name| !named(name)) {
        return mistake(
            path,
            "[transparent] interfaces",
            format!("{name:?} is no name of an interface; see `ip link`"),
        );
    }
    Ok(())
}

fn rewrite(path: &Path, upstream: &Upstream) -> Result<Rewrite, Mistake> {
    let key = "[[reverse.upstream]] url";
    let Some(url) = Key::parse(&upstream.url).ok().filter(|url| url.as_str().ends_with('/')) else {
        let what =
            format!("{:?} is no upstream; write one as \"http://deb.debian.org/debian/\"", upstream.url);
        return mistake(path, key, what);
    };
    if !upstream.path.starts_with('/') || !upstream.path.ends_with('/') {
        return mistake(
            path,
            "[[reverse.upstream]] path",
            format!("{:?} must begin and end with /", upstream.path),
        );
    }
    Ok(Rewrite { host: upstream.host.clone(), path: upstream.path.clone(), upstream: url })
}

fn mesh(path: &Path, file: &File) -> Result<Option<Mesh>, Mistake> {
    let Some(peers) = &file.peers else {
        if file.routing.is_some() {
            return mistake(
                path,
                "[routing]",
                "there are no [peers] to route to; add them, or take [routing] out",
            );
        }
        return Ok(None);
    };
    let key = cache_key(path, &beside(path, &peers.cache_key_file))?;
    let search_timeout = Duration::from_millis(peers.search_timeout_milliseconds);
    if search_timeout.is_zero() || search_timeout > LONGEST_SEARCH {
        return mistake(path, "[peers] search_timeout_milliseconds", "must be 1 to 5000");
    }
    if !(0.0..=MOST_UPLINK_HOPS).contains(&peers.uplink_hops) {
        return mistake(path, "[peers] uplink_hops", "must be 0 to 64");
    }
    let grid = peers.grid_metres;
    if !(grid.is_finite() && grid > 0.0) {
        return mistake(path, "[peers] grid_metres", "must be a positive number of metres");
    }
    if peers.positions.values().flatten().any(|metres| !metres.is_finite()) {
        return mistake(path, "[peers] positions", "must be finite numbers of metres");
    }
    let protocol = file.cache.selection;
    if protocol == Protocol::Grid && !peers.positions.contains_key(&peers.address) {
        let what = format!("{} has none, and selection = \"grid\" goes by it; add it", peers.address);
        return mistake(path, "[peers] positions", what);
    }
    if let Some(wrong) = peers.broadcast.iter().find(|address| address.is_ipv6() || peers.address.is_ipv6()) {
        let what = format!("{wrong} is not for here; IPv6 has no broadcast: name the mesh's `interfaces`");
        return mistake(path, "[peers] broadcast", what);
    }
    if !peers.interfaces.is_empty() && peers.address.is_ipv4() {
        let what = "are for IPv6; name the mesh's `broadcast` addresses where `address` is IPv4";
        return mistake(path, "[peers] interfaces", what);
    }
    if protocol == Protocol::Broadcast && peers.broadcast.is_empty() && peers.interfaces.is_empty() {
        let what = "there are none, and selection = \"broadcast\" searches through them; add the mesh's broadcast addresses, or its interfaces where it is IPv6";
        return mistake(path, "[peers] broadcast", what);
    }
    let routing = match &file.routing {
        Some(routing) => {
            let (file, socket) = (routing.file.as_deref(), routing.socket.as_deref());
            let folder = path.parent().unwrap_or(Path::new(""));
            let source =
                routing::Settings::new(routing.source, file, folder, socket, routing.refresh_seconds);
            let source = source.map_err(|(key, what)| Mistake::at(path, key, what))?;
            Some(Routing { source, gateways: routing.gateways.clone() })
        }
        None => None,
    };
    Ok(Some(Mesh {
        architecture: file.cache.architecture,
        protocol,
        gateway: file.cache.gateway,
        address: peers.address,
        port: peers.port,
        networks: networks(path, "[peers] networks", &peers.networks)?,
        key,
        search_timeout,
        search: Search::default(),
        uplink_hops: peers.uplink_hops,
        broadcast: peers.broadcast.clone(),
        interfaces: peers.interfaces.clone(),
        positions: peers.positions.clone(),
        grid_metres: grid,
        routing,
    }))
}
