//! The meaning of a configuration file: paths, keys, addresses, defaults.

use super::boost::boost;
use super::dashboard::dashboard;
use super::destinations::destinations;
use super::features;
use super::file::{Control, Correction, File, Kind, Peer, Reduce, Role, Tunnel, WhenDown};
use super::gateways::gateways;
use super::key_file::{check_secrets, key_of, public_key};
use super::memory::memory;
use super::mesh::mesh;
use super::mtu::{largest_datagram_bytes, mtu};
use super::overhear::{group, overhear};
use super::preset::Preset;
use super::preshared::{self, preshared_keys};
use super::rate;
use super::snoop::snoop;
use super::split::split;
use super::streams::streams;
use super::{Config, Files, Mistake, Policies, overlap};
use crate::revocations::Revocations;
use crate::sockets::SOCKET_DIRECTORY;
use anyhow::Context;
use ipnet::IpNet;
use node::{
    AROUND_PACKET, Gateways, LANE_BYTES, MAX_LANES, NetworkKey, PeerConfig, SHARING_BYTES, Shortening,
};
use re::Policy;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Folder of nodes' persistent state.
const STATE_DIRECTORY: &str = "/var/lib/overheard";
const PORT: u16 = 4780;
/// The most threads. More threads than processors gain nothing, and most machines have fewer.
const MAX_THREADS: usize = 64;
const KEEPALIVE: Duration = Duration::from_secs(25);

/// Resolves `file`, read from `path`. `preset` is that of the command line.
pub fn resolve(
    path: &Path,
    mut file: File,
    preset: Option<Kind>,
    policies: &dyn Policies,
) -> anyhow::Result<Config> {
    features::check(path, &file)?;
    let preset = Preset::apply(path, &mut file, preset)?;
    let mistake = |key: &str, what: String| Mistake::at(path, key, what);
    let status_socket = status_socket(path, &file);
    let named: Vec<PathBuf> = [
        Some(&file.node.private_key_file),
        Some(&file.node.network_key_file),
        file.node.previous_network_key_file.as_ref(),
        file.dashboard.as_ref().and_then(|dashboard| dashboard.token_file.as_ref()),
        file.routing.as_ref().and_then(|routing| routing.file.as_ref()),
    ]
    .into_iter()
    .flatten()
    .chain(preshared::files(&file))
    .cloned()
    .collect();
    let private_key = key_of(path, "[node] private_key_file", &file.node.private_key_file)?;
    let network_key = key_of(path, "[node] network_key_file", &file.node.network_key_file)?;
    let previous_network_key = previous_network_key(path, &file, &network_key)?;
    let revocations = revocations(path, &file);
    let revoked = revocations.read().map_err(|why| mistake("[node] revoked_file", why.to_string()))?;
    let listen = listen(path, &file)?;
    let mut reduce = reduce(path, &file.reduce, policies)?;
    let memory = memory(path, &file.memory, &reduce)?;
    if memory.is_some() && file.reduce.store_mib.is_none() {
        reduce.store_bytes = *re::Parameters::STORE_BYTES.end();
    }
    let interface = file.tunnel.interface.clone();
    if !io::tun::is_name(&interface) {
        let why = io::Error::InterfaceName(interface);
        return Err(mistake("[tunnel] interface", why.to_string()).into());
    }
    let addresses = own_addresses(path, &file.tunnel.addresses)?;
    let mut peers: Vec<PeerConfig> =
        file.peer.iter().map(|it| peer(path, it)).collect::<Result<_, anyhow::Error>>()?;
    let gateways = gateways(path, &file, &mut peers)?;
    set_rates(path, &file, &mut peers)?;
    check_names(path, &peers)?;
    let mut network_keys = vec![("[node] network_key_file", &network_key)];
    network_keys.extend(previous_network_key.as_ref().map(|key| ("[node] previous_network_key_file", key)));
    let public_keys =
        peers.iter().map(|peer| (format!("[[peer]] {:?} public_key", peer.name), &peer.public_key));
    check_secrets(path, &private_key, &network_keys, public_keys)?;
    let (destinations, next_hops) = destinations(path, &file, &peers)?;
    let mesh = mesh(path, &file, &peers, destinations)?;
    check_addresses(path, &addresses, &peers, &gateways)?;
    check_destinations(path, &addresses, &mesh.destinations)?;
    if file.node.role == Role::Station && peers.iter().all(|peer| peer.endpoint.is_none()) {
        let what =
            "no peer has one, and a station has to know where a gateway is; add endpoint = \"ADDRESS:PORT\"";
        return Err(mistake("[[peer]] endpoint", what.to_owned()).into());
    }
    for peer in &peers {
        if listen.is_ipv4() && peer.endpoint.is_some_and(|endpoint| endpoint.is_ipv6()) {
            let what =
                format!("{listen} is IPv4 and the endpoint of {:?} is IPv6; listen on [::]", peer.name);
            return Err(mistake("[node] listen", what).into());
        }
    }
    check_when_down(path, &file.tunnel, &peers)?;
    let boost = boost(path, &file)?;
    let endpoints: Vec<SocketAddr> = peers.iter().filter_map(|peer| peer.endpoint).collect();
    let of_destinations = mesh.destinations.iter().map(|it| it.allowed_ips.clone());
    let allowed_ips: Vec<Vec<IpNet>> =
        peers.iter().map(|peer| peer.allowed_ips.clone()).chain(of_destinations).collect();
    let inner_ipv6 = addresses.iter().chain(allowed_ips.iter().flatten()).any(|net| net.addr().is_ipv6());
    let source_ports = source_ports(path, &file, &peers)?;
    let threads = threads(path, &file)?;
    let group = file.overhear.as_ref().map(|overhear| group(path, overhear, memory)).transpose()?;
    let others = gateways.peers().len();
    let shares = group.is_some() && peers.len() > 1 && peers.len() > others;
    let lane_bytes = if source_ports > 1 { LANE_BYTES } else { 0 };
    let preshared_keys = preshared_keys(path, &file, &peers, &network_key)?;
    let mut node = node::Config::new(private_key, network_key, peers);
    node.previous_network_key = previous_network_key;
    node.preshared_keys = preshared_keys;
    node.revoked = revoked;
    node.reduce = reduce;
    node.spares_processor = file.reduce.spare_processor.unwrap_or(node.spares_processor);
    node.memory = memory;
    node.fec = file.link.fec == Correction::Auto;
    node.controls_queue = file.link.control == Control::Auto;
    node.snoop = snoop(path, file.snoop.take())?;
    node.streams = streams(path, file.streams.take())?;
    let around_bytes = lane_bytes + if shares { SHARING_BYTES } else { 0 };
    let mtu = mtu(path, &file.tunnel, &endpoints, listen, inner_ipv6, around_bytes)?;

    let overhear = overhear(path, &file, &endpoints)?;
    let split = split(path, file.split, &file.tunnel, &allowed_ips, node.streams.is_some())?;
    let by_default = node.reduce.policy == Policy::Adaptive;
    node.shorten = Shortening {
        headers: file.shorten.headers.unwrap_or(by_default),
        literals: file.shorten.literals.unwrap_or(by_default),
        packing: file.shorten.packing.unwrap_or(by_default || boost.is_some()),
    };
    node.boost = boost.is_some();
    node.copies_dscp = file.tunnel.copy_dscp;
    node.computes_aes = io::processor::computes_aes();
    node.source_ports = source_ports;
    node.group = group;
    node.gateways = gateways;
    node.mesh = mesh;
    node.max_datagram_bytes = usize::from(mtu) + AROUND_PACKET + around_bytes;
    node.largest_datagram_bytes = largest_datagram_bytes(&endpoints, listen).max(node.max_datagram_bytes);
    node.validate().map_err(|why| Mistake::new(format!("{}: {why}", path.display())))?;
    let system = io::Settings {
        interface,
        addresses,
        mtu,
        routes: file.tunnel.routes,
        allowed_ips,
        open_when_down: file.tunnel.when_down == WhenDown::Open,
        endpoints: endpoints.iter().map(SocketAddr::ip).collect(),
        listen,
        source_ports,
        overhear,
        mss_clamp: file.tunnel.mss_clamp,
        congestion_control: None,
    };
    let path = path.to_owned();
    let dashboard = file.dashboard.as_ref().map(|it| dashboard(&path, it)).transpose()?;
    let radio_bits_per_second = group.unwrap_or_default().rate_bits_per_second;
    let role = file.node.role;
    let files = file.sandbox.then(|| reached(&path, [&status_socket, revocations.file()], named));
    Ok(Config {
        path,
        role,
        preset,
        node,
        system,
        boost,
        split,
        threads,
        status_socket,
        revocations,
        dashboard,
        next_hops,
        radio_bits_per_second,
        files,
    })
}

/// The files that a node needs at run time and at a restart: the folders of its configuration, of files that
/// it names, and of files that it writes.
fn reached(path: &Path, written: [&Path; 2], named: impl IntoIterator<Item = PathBuf>) -> Files {
    let mut files = Files::default();
    files.read_beside(path);
    named.into_iter().for_each(|file| files.read_beside(&beside(path, &file)));
    written.into_iter().for_each(|file| files.write_beside(file));
    files
}

/// Path of the socket for `overheard status`.
pub fn status_socket(path: &Path, file: &File) -> PathBuf {
    match &file.node.status_socket {
        Some(socket) => beside(path, socket),
        None => Path::new(SOCKET_DIRECTORY).join(format!("{}.sock", file.tunnel.interface)),
    }
}

/// The file of revoked keys.
fn revocations(path: &Path, file: &File) -> Revocations {
    Revocations::at(match &file.node.revoked_file {
        Some(named) => beside(path, named),
        None => Path::new(STATE_DIRECTORY).join(format!("{}.revoked", file.tunnel.interface)),
    })
}

/// The network's previous key, which must differ.
fn previous_network_key(path: &Path, file: &File, now: &NetworkKey) -> Result<Option<NetworkKey>, Mistake> {
    let key = "[node] previous_network_key_file";
    let Some(named) = &file.node.previous_network_key_file else { return Ok(None) };
    let previous: NetworkKey = key_of(path, key, named)?;
    if previous == *now {
        let what = "holds the same key as network_key_file; put the new key there, or take this out";
        return Err(Mistake::at(path, key, what));
    }
    Ok(Some(previous))
}

/// Resolves a path relative to the file at `path`.
pub fn beside(path: &Path, named: &Path) -> PathBuf {
    path.parent().unwrap_or(Path::new("")).join(named)
}

fn listen(path: &Path, file: &File) -> Result<SocketAddr, Mistake> {
    let port = if file.node.role == Role::Station { 0 } else { PORT };
    let Some(text) = &file.node.listen else { return Ok((Ipv6Addr::UNSPECIFIED, port).into()) };
    text.parse().map_err(|_| {
        let what =
            format!("{text:?} is no address and port; write one as \"[::]:{PORT}\" or \"0.0.0.0:{PORT}\"");
        Mistake::at(path, "[node] listen", what)
    })
}

fn source_ports(path: &Path, file: &File, peers: &[PeerConfig]) -> Result<usize, Mistake> {
    let wanted = file.node.source_ports.unwrap_or(1);
    let ports = usize::try_from(wanted).ok().filter(|ports| (1..=MAX_LANES).contains(ports));
    let wrong = |what: String| Mistake::at(path, "[node] source_ports", what);
    let ports = ports.ok_or_else(|| wrong(format!("{wanted} is not between 1 and {MAX_LANES}")))?;
    if ports > 1 && peers.iter().all(|peer| peer.endpoint.is_none()) {
        let what = "several are used towards peers with an endpoint only, and none has one; take it out, and let the \
                    peers have several";
        return Err(wrong(what.to_owned()));
    }
    Ok(ports)
}

fn threads(path: &Path, file: &File) -> Result<usize, Mistake> {
    let wanted = file.node.threads.unwrap_or(1);
    let wrong = |what: String| Mistake::at(path, "[node] threads", what);
    let threads = usize::try_from(wanted).ok().filter(|threads| (1..=MAX_THREADS).contains(threads));
    let threads = threads.ok_or_else(|| wrong(format!("{wanted} is not between 1 and {MAX_THREADS}")))?;
    if threads > 1 && file.overhear.is_some() {
        let what = "what stations overhear of each other is known to one thread; take it out, or [overhear]";
        return Err(wrong(what.to_owned()));
    }
    Ok(threads)
}

fn reduce(path: &Path, file: &Reduce, policies: &dyn Policies) -> Result<re::Parameters, Mistake> {
    let mut parameters = re::Parameters::default();
    if let Some(name) = &file.policy {
        parameters.policy = policies.named(name).map_err(|why| Mistake::at(path, "[reduce] policy", why))?;
    }
    if let Some(k) = file.k {
        let policy = parameters.policy;
        parameters.policy = policies.with_k(policy, k).ok_or_else(|| {
            let what = format!("belongs to policy = \"k-distance\", and the policy is {policy}; take it out");
            Mistake::at(path, "[reduce] k", what)
        })?;
    }
    if let Some(name) = &file.form {
        parameters.form = policies.form(name).map_err(|why| Mistake::at(path, "[reduce] form", why))?;
    }
    if let Some(name) = &file.sharing {
        parameters.sharing = name.parse().map_err(|why| Mistake::at(path, "[reduce] sharing", why))?;
    }
    parameters.window_bytes = file.window_bytes.unwrap_or(parameters.window_bytes);
    parameters.sample_bits = file.sample_bits.unwrap_or(parameters.sample_bits);
    if let Some(mib) = file.store_mib {
        parameters.store_bytes = mib.saturating_mul(1 << 20);
    }
    parameters.validate().map_err(|why| Mistake::at(path, "[reduce]", why))?;
    Ok(parameters)
}

/// The node's own addresses. Each needs its length: without it, the kernel finds no other node of the network
/// behind the device.
fn own_addresses(path: &Path, texts: &[String]) -> Result<Vec<IpNet>, Mistake> {
    let key = "[tunnel] addresses";
    if let Some(address) = texts.iter().find_map(|text| text.parse::<IpAddr>().ok()) {
        let usual = if address.is_ipv4() { 24 } else { 64 };
        let what = format!(
            "{:?} has no prefix length; write the length of the tunnel's network behind it, such as \"{address}/{usual}\"",
            address.to_string()
        );
        return Err(Mistake::at(path, key, what));
    }
    nets(path, key, texts)
}

/// Parses prefixes. An address alone is a prefix of its whole length.
pub(super) fn nets(path: &Path, key: &str, texts: &[String]) -> Result<Vec<IpNet>, Mistake> {
    let net = |text: &String| -> Result<IpNet, Mistake> {
        let address = text.parse::<IpAddr>().map(IpNet::from);
        text.parse::<IpNet>().or(address).map_err(|_| {
            let what = format!("{text:?} is no address with a prefix length; write one as \"10.9.0.1/24\"");
            Mistake::at(path, key, what)
        })
    };
    let nets = texts.iter().map(net).collect::<Result<Vec<_>, _>>()?;
    if nets.is_empty() {
        return Err(Mistake::at(path, key, "is empty; write at least one, such as \"10.9.0.1/24\""));
    }
    Ok(nets)
}

/// Gives each peer without a rate of its own that of `[link]`.
fn set_rates(path: &Path, file: &File, peers: &mut [PeerConfig]) -> Result<(), Mistake> {
    let general = file.link.rate.as_deref().map(|rate| rate::parse(path, "[link] rate", rate)).transpose()?;
    let of_one = peers.iter().find(|peer| peer.bits_a_second.is_some());
    let key = match of_one {
        Some(peer) => format!("[[peer]] {:?} rate", peer.name),
        None => "[link] rate".to_owned(),
    };
    let against = [
        (file.link.control == Control::Off, "[link] control = \"off\""),
        (file.reduce.policy.as_deref() == Some("off"), "[reduce] policy = \"off\""),
        (file.overhear.is_some(), "[overhear]"),
    ];
    if let Some((_, other)) = against.iter().find(|(is_there, _)| *is_there)
        && (general.is_some() || of_one.is_some())
    {
        return Err(Mistake::at(path, &key, format!("has no effect beside {other}; take out one of them")));
    }
    peers.iter_mut().for_each(|peer| peer.bits_a_second = peer.bits_a_second.or(general));
    Ok(())
}

fn peer(path: &Path, file: &Peer) -> anyhow::Result<PeerConfig> {
    let key = |key: &str| format!("[[peer]] {:?} {key}", file.name);
    let public_key = public_key(path, &key("public_key"), &file.public_key)?;
    let endpoint = match &file.endpoint {
        Some(text) => Some(endpoint(path, &key("endpoint"), text)?),
        None => None,
    };
    let keepalive = match file.keepalive_seconds {
        Some(0) => None,
        Some(seconds) => Some(Duration::from_secs(seconds.into())),
        None => endpoint.map(|_| KEEPALIVE),
    };
    let allowed_ips = match file.allowed_ips.as_slice() {
        [] if file.relays => Vec::new(),
        allowed_ips => nets(path, &key("allowed_ips"), allowed_ips)?,
    };
    let bits_a_second = file.rate.as_deref().map(|rate| rate::parse(path, &key("rate"), rate)).transpose()?;
    Ok(PeerConfig { name: file.name.clone(), public_key, endpoint, allowed_ips, keepalive, bits_a_second })
}

/// Resolves an endpoint. A name that is not found may exist a minute later, so it is no mistake of the user.
pub(super) fn endpoint(path: &Path, key: &str, text: &str) -> anyhow::Result<SocketAddr> {
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let port = text.rsplit_once(':').map(|(host, port)| (host, port.parse::<u16>()));
    let Some((host, Ok(port @ 1..))) = port else {
        let what = format!(
            "{text:?} is no address and port; write one as \"192.0.2.1:{PORT}\", \"[2001:db8::1]:{PORT}\" or \
             \"gateway.example:{PORT}\""
        );
        return Err(Mistake::at(path, key, what).into());
    };
    // [fe80::1%eth0] is resolved as well, because the resolver knows the interfaces' numbers.
    let name = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let mut found = (name, port)
        .to_socket_addrs()
        .with_context(|| format!("{}: {key}: cannot look up the name {host:?}", path.display()))?;
    found.next().with_context(|| format!("{}: {key}: the name {host:?} has no address", path.display()))
}

/// Checks `when_down = "open"`: it needs routes to withdraw, and keepalives to notice the return of an idle
/// peer.
fn check_when_down(path: &Path, tunnel: &Tunnel, peers: &[PeerConfig]) -> Result<(), Mistake> {
    if tunnel.when_down == WhenDown::Closed {
        return Ok(());
    }
    if !tunnel.routes {
        let what = "\"open\" withdraws routes, and routes = false puts none in; take one of the two out";
        return Err(Mistake::at(path, "[tunnel] when_down", what));
    }
    match peers.iter().find(|peer| peer.endpoint.is_some() && peer.keepalive.is_none()) {
        Some(peer) => {
            let key = format!("[[peer]] {:?} keepalive_seconds", peer.name);
            let what =
                "0 never finds out that the peer is back, which when_down = \"open\" waits for; take it out";
            Err(Mistake::at(path, &key, what))
        }
        None => Ok(()),
    }
}

fn check_names(path: &Path, peers: &[PeerConfig]) -> Result<(), Mistake> {
    if peers.is_empty() {
        return Err(Mistake::at(path, "[[peer]]", "there is none; add one for each node to talk to"));
    }
    let mut names: Vec<&str> = peers.iter().map(|peer| peer.name.as_str()).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => {
            let what = format!("two are called {:?}; give each a name of its own", pair[0]);
            Err(Mistake::at(path, "[[peer]] name", what))
        }
        None => Ok(()),
    }
}

/// Checks destinations. One that is also a peer may share the peer's prefixes. Among destinations a prefix
/// has one owner, and the longest prefix wins.
fn check_destinations(
    path: &Path,
    addresses: &[IpNet],
    destinations: &[node::Destination],
) -> Result<(), Mistake> {
    let wrong = |name: &str, what: String| {
        Err(Mistake::at(path, &format!("[[destination]] {name:?} allowed_ips"), what))
    };
    for node::Destination { name, allowed_ips } in destinations {
        if let Some(net) = own_address(addresses, allowed_ips) {
            return wrong(name, format!("{net} is this node's own address; write the destination's"));
        }
    }
    let claims: Vec<overlap::Claim<'_>> =
        destinations.iter().map(|it| (it.name.as_str(), it.allowed_ips.as_slice())).collect();
    match overlap::between_peers(&claims) {
        Some(((name, net), (other, other_net))) => {
            let what =
                format!("{other_net} is {net} of {name:?} too; an address can lead to one destination only");
            wrong(other, what)
        }
        None => Ok(()),
    }
}

/// The prefix that is one of this node's own addresses.
fn own_address<'a>(addresses: &[IpNet], nets: &'a [IpNet]) -> Option<&'a IpNet> {
    let is_own = |net: &&IpNet| {
        net.prefix_len() == net.max_prefix_len() && addresses.iter().any(|own| own.addr() == net.addr())
    };
    nets.iter().find(is_own)
}

fn check_addresses(
    path: &Path,
    addresses: &[IpNet],
    peers: &[PeerConfig],
    gateways: &Gateways,
) -> Result<(), Mistake> {
    for (at, address) in addresses.iter().enumerate() {
        if addresses[..at].iter().any(|other| other.addr() == address.addr()) {
            let what = format!("{} is there twice; take one out", address.addr());
            return Err(Mistake::at(path, "[tunnel] addresses", what));
        }
    }
    for peer in peers {
        if let Some(net) = own_address(addresses, &peer.allowed_ips) {
            let what = format!("{net} is this node's own address; write the peer's");
            return Err(Mistake::at(path, &format!("[[peer]] {:?} allowed_ips", peer.name), what));
        }
    }
    // A station's gateways lead to the same addresses.
    let same = match gateways {
        Gateways::Choice(choice) => &choice[1..],
        Gateways::One | Gateways::Neighbours(_) => &[],
    };
    let of_peers = peers.iter().enumerate().filter(|(index, _)| !same.contains(index));
    let claims: Vec<overlap::Claim<'_>> =
        of_peers.map(|(_, peer)| (peer.name.as_str(), peer.allowed_ips.as_slice())).collect();
    if let Some(((name, net), (other, other_net))) = overlap::between_peers(&claims) {
        let what = format!("{other_net} is {net} of peer {name:?} too; a prefix can lead to one peer only");
        return Err(Mistake::at(path, &format!("[[peer]] {other:?} allowed_ips"), what));
    }
    Ok(())
}
