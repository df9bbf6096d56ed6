//! Two namespaces with a cable between them, and over it the tunnels that are compared.

use super::echo;
use super::relay::Relay;
use super::wireguard::Implementation;
use anyhow::{Context, bail};
use experiments::pair::{self, Pair, Role};
use lab::{Namespace, Program, Run};
use std::net::IpAddr;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Timeout of the daemons' start.
pub const PATIENCE: Duration = Duration::from_secs(15);

/// The path of bytes between the namespaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// Through two Overheard nodes with default settings.
    Overheard,
    /// The same without redundancy elimination: `policy = "off"`.
    Unreduced,
    /// Through two of the newest wireguard-go.
    NewestWireguardGo,
    /// Through two of boringtun-cli.
    Boringtun,
    /// Through two of Debian's wireguard-go.
    DebianWireguardGo,
    /// Through two ends of a tunnel that does nothing.
    Empty,
    /// Without a tunnel.
    Bare,
}

/// The tunnels of others, the newest first.
pub const WIREGUARDS: [Way; 3] = [Way::NewestWireguardGo, Way::Boringtun, Way::DebianWireguardGo];

impl Way {
    /// The gateway's address on it.
    pub fn gateway(self) -> IpAddr {
        match self {
            Way::Overheard => IpAddr::from([10, 80, 0, 1]),
            Way::Unreduced => IpAddr::from([10, 81, 0, 1]),
            Way::NewestWireguardGo => IpAddr::from([10, 79, 0, 1]),
            Way::Boringtun => IpAddr::from([10, 77, 0, 1]),
            Way::DebianWireguardGo => IpAddr::from([10, 76, 0, 1]),
            Way::Empty => IpAddr::from([10, 78, 0, 1]),
            Way::Bare => IpAddr::from([192, 0, 2, 1]),
        }
    }
}

impl std::fmt::Display for Way {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Way::Overheard => "overheard",
            Way::Unreduced => "overheard, policy off",
            Way::NewestWireguardGo => "newest wireguard-go",
            Way::Boringtun => "boringtun",
            Way::DebianWireguardGo => "Debian's wireguard-go",
            Way::Empty => "empty tunnel",
            Way::Bare => "bare cable",
        })
    }
}

/// A way that there is.
pub struct Tunnel {
    /// Which it is.
    pub way: Way,
    /// Its programs' version, if others make them.
    pub version: Option<String>,
    /// Its programs; none for ways without.
    programs: Vec<Program>,
}

impl Tunnel {
    /// The processor time that its programs have had, at both ends.
    pub fn processor_seconds(&self) -> anyhow::Result<f64> {
        self.programs.iter().map(|program| Ok(program.processor_seconds()?)).sum()
    }
}

/// The environment of the measurements. Dropping it removes everything, programs first.
pub struct Ground {
    /// The ways that there are.
    pub tunnels: Vec<Tunnel>,
    /// Why others are missing.
    pub absent: Vec<String>,
    _relays: [Relay; 2],
    /// Where transfers end.
    pub gateway: Namespace,
    /// Where they begin.
    pub station: Namespace,
    _keys: Pair,
    _run: Run,
}

impl Ground {
    /// Lays it, with these of the [`WIREGUARDS`], and waits until all ways can be gone.
    pub fn lay(wireguards: &[(Way, anyhow::Result<Implementation>)]) -> anyhow::Result<Self> {
        let run = Run::begin().context("`bench tunnel` makes network namespaces")?;
        let mut namespaces = Namespace::make(&run, &["gateway", "station"])?.into_iter();
        let (Some(gateway), Some(station)) = (namespaces.next(), namespaces.next()) else {
            bail!("a namespace is missing after it was made");
        };
        gateway.ip(&format!("link add name cable type veth peer name cable netns {}\n", station.name()))?;
        for (namespace, own) in [(&gateway, 1), (&station, 2)] {
            namespace.ip(&format!("addr add 192.0.2.{own}/24 dev cable\nlink set cable up\n"))?;
            namespace.set_parameters([("net.ipv4.ping_group_range", "0 2147483647")])?;
        }
        let keys = Pair::new(1)?;
        let mut tunnels = Vec::new();
        for (way, reduce) in [(Way::Overheard, ""), (Way::Unreduced, "policy = \"off\"")] {
            let programs = overheard(&run, &keys, &gateway, &station, (way, reduce))?;
            tunnels.push(Tunnel { way, version: None, programs });
        }
        let mut absent = Vec::new();
        for (way, implementation) in wireguards {
            let started = match implementation {
                Ok(it) => it
                    .start(*way, &run, &gateway, &station)
                    .map(|programs| (it.version.clone(), Vec::from(programs)))
                    .map_err(|why| format!("{way}: {why:#}")),
                Err(why) => Err(format!("{why:#}")),
            };
            match started {
                Ok((version, programs)) => {
                    tunnels.push(Tunnel { way: *way, version: Some(version), programs });
                }
                Err(why) => absent.push(why),
            }
        }
        let end = |namespace, own: u8, other: u8| {
            let cable = |host| IpAddr::from([192, 0, 2, host]);
            Relay::start(namespace, cable(own), cable(other), IpAddr::from([10, 78, 0, own]))
        };
        let relays = [end(&gateway, 1, 2)?, end(&station, 2, 1)?];
        let without = [Way::Empty, Way::Bare];
        tunnels.extend(without.map(|way| Tunnel { way, version: None, programs: Vec::new() }));
        for Tunnel { way, .. } in &tunnels {
            if !echo::answers(&station, way.gateway(), PATIENCE)? {
                bail!("the gateway does not answer by {way}");
            }
        }
        Ok(Ground { tunnels, absent, _relays: relays, gateway, station, _keys: keys, _run: run })
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        // Stopped, not killed: wireguard-go's sockets are outside the namespaces, and only it removes them.
        let programs = self.tunnels.iter_mut().flat_map(|tunnel| &mut tunnel.programs);
        programs.for_each(Program::stop);
    }
}

/// Two nodes with default settings, apart from `reduce`.
fn overheard(
    run: &Run,
    keys: &Pair,
    gateway: &Namespace,
    station: &Namespace,
    (way, reduce): (Way, &str),
) -> anyhow::Result<Vec<Program>> {
    let exe = crate::programs::find()?.overheard;
    let IpAddr::V4(inside) = way.gateway() else { bail!("the tunnels are for IPv4") };
    let [a, b, c, _] = inside.octets();
    let port = 4700 + u16::from(b);
    let endpoint = format!("192.0.2.1:{port}");
    let mut programs = Vec::new();
    for (namespace, role, place, own, other, endpoint) in [
        (gateway, Role::Gateway, pair::GATEWAY, 1, 2, None),
        (station, Role::Station, pair::STATION, 2, 1, Some(endpoint.as_str())),
    ] {
        let node = pair::with_repairs(keys.node(&pair::Node {
            role,
            place,
            tunnel: &format!("interface = \"oh{b}\"\naddresses = [\"{a}.{b}.{c}.{own}/24\"]"),
            endpoint,
            allowed_ips: &format!("\"{a}.{b}.{c}.{other}/32\""),
            reduce,
            program: pair::Program::Shipped,
        }));
        let socket = run.folder().join(format!("{place}-{b}.sock"));
        let path = run.folder().join(format!("{place}-{b}.toml"));
        let mut config = node.config.replace("{socket}", &socket.to_string_lossy());
        if endpoint.is_none() {
            config = config.replacen("[node]", &format!("[node]\nlisten = \"[::]:{port}\""), 1);
        }
        std::fs::write(&path, config).with_context(|| format!("cannot write {}", path.display()))?;
        let mut command = Command::new(&exe);
        command.arg("up").arg(&path).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        programs.push(Program::start(namespace, command, "overheard")?);
    }
    Ok(programs)
}
