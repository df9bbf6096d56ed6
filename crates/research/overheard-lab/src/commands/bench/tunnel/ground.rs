//! Two namespaces with a cable between them, and over it the tunnels that are compared.

use super::echo;
use super::relay::Relay;
use anyhow::{Context, bail};
use experiments::pair::{self, Pair, Role};
use lab::{Namespace, Program, Run};
use node::PrivateKey;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write as _};
use std::net::IpAddr;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Timeout of the daemons' start.
const PATIENCE: Duration = Duration::from_secs(15);
/// WireGuard's usual port.
const WIREGUARD_PORT: u16 = 51_820;
/// The rest of Ethernet's 1500 bytes inside WireGuard, over either family.
const WIREGUARD_MTU: u16 = 1420;

/// The path of bytes between the namespaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Through two Overheard nodes.
    Overheard,
    /// Through two of wireguard-go.
    Wireguard,
    /// Through two ends of a tunnel that does nothing.
    Empty,
    /// Without a tunnel.
    Bare,
}

impl Way {
    /// The gateway's address on it.
    pub fn gateway(self) -> IpAddr {
        match self {
            Way::Overheard => IpAddr::from([10, 80, 0, 1]),
            Way::Wireguard => IpAddr::from([10, 79, 0, 1]),
            Way::Empty => IpAddr::from([10, 78, 0, 1]),
            Way::Bare => IpAddr::from([192, 0, 2, 1]),
        }
    }
}

impl std::fmt::Display for Way {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Way::Overheard => "overheard",
            Way::Wireguard => "wireguard-go",
            Way::Empty => "empty tunnel",
            Way::Bare => "bare cable",
        })
    }
}

/// The environment of the measurements. Dropping it removes everything, programs first.
pub struct Ground {
    programs: Vec<Program>,
    _relays: [Relay; 2],
    /// Why there is no wireguard-go.
    wireguard_absent: Option<String>,
    /// Where transfers end.
    pub gateway: Namespace,
    /// Where they begin.
    pub station: Namespace,
    _keys: Pair,
    _run: Run,
}

impl Ground {
    /// Lays it, and waits until all ways can be gone.
    pub fn lay() -> anyhow::Result<Self> {
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
        let mut programs = overheard(&run, &keys, &gateway, &station)?;
        let wireguard_absent = match wireguard(&run, &gateway, &station) {
            Ok(both) => {
                programs.extend(both);
                None
            }
            Err(why) => Some(format!("{why:#}")),
        };
        let end = |namespace, own: u8, other: u8| {
            let cable = |host| IpAddr::from([192, 0, 2, host]);
            Relay::start(namespace, cable(own), cable(other), IpAddr::from([10, 78, 0, own]))
        };
        let relays = [end(&gateway, 1, 2)?, end(&station, 2, 1)?];
        let ground =
            Ground { programs, _relays: relays, wireguard_absent, gateway, station, _keys: keys, _run: run };
        for way in ground.ways() {
            if !echo::answers(&ground.station, way.gateway(), PATIENCE)? {
                bail!("the gateway does not answer by {way}");
            }
        }
        Ok(ground)
    }

    /// The ways that there are.
    pub fn ways(&self) -> Vec<Way> {
        let all = [Way::Overheard, Way::Wireguard, Way::Empty, Way::Bare].into_iter();
        all.filter(|way| *way != Way::Wireguard || self.wireguard_absent.is_none()).collect()
    }

    /// Why there is no wireguard-go to compare with, if there is none.
    pub fn wireguard_absent(&self) -> Option<&str> {
        self.wireguard_absent.as_deref()
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        // Stopped, not killed: wireguard-go's sockets are outside the namespaces, and only it removes them.
        self.programs.iter_mut().for_each(Program::stop);
    }
}

/// Two nodes with default settings, redundancy elimination included.
fn overheard(
    run: &Run,
    keys: &Pair,
    gateway: &Namespace,
    station: &Namespace,
) -> anyhow::Result<Vec<Program>> {
    let exe = crate::programs::find()?.overheard;
    let mut programs = Vec::new();
    for (namespace, role, place, own, other, endpoint) in [
        (gateway, Role::Gateway, pair::GATEWAY, 1, 2, None),
        (station, Role::Station, pair::STATION, 2, 1, Some("192.0.2.1:4780")),
    ] {
        let node = keys.node(&pair::Node {
            role,
            place,
            tunnel: &format!("interface = \"oh0\"\naddresses = [\"10.80.0.{own}/24\"]"),
            endpoint,
            allowed_ips: &format!("\"10.80.0.{other}/32\""),
            reduce: "",
            program: pair::Program::Shipped,
        });
        let socket = run.folder().join(format!("{place}.sock"));
        let config = run.folder().join(format!("{place}.toml"));
        std::fs::write(&config, node.config.replace("{socket}", &socket.to_string_lossy()))
            .with_context(|| format!("cannot write {}", config.display()))?;
        let mut command = Command::new(&exe);
        command.arg("up").arg(&config).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        programs.push(Program::start(namespace, command, "overheard")?);
    }
    Ok(programs)
}

/// The same by wireguard-go, set up through its own sockets.
fn wireguard(run: &Run, gateway: &Namespace, station: &Namespace) -> anyhow::Result<Vec<Program>> {
    let rng = &mut rand::rng();
    let keys = [PrivateKey::generate(rng), PrivateKey::generate(rng)];
    let mut programs = Vec::new();
    for (index, namespace) in [gateway, station].into_iter().enumerate() {
        // Its socket is in a folder that all namespaces share.
        let prefix = run.namespace_name("").replace('-', "");
        let name = format!("{prefix}w{index}");
        let mut command = Command::new("wireguard-go");
        command.args(["-f", &name]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        programs.push(Program::start(namespace, command, "wireguard-go")?);
        let mut wanted = format!("set=1\nprivate_key={}\n", hexadecimal(keys[index].as_bytes()));
        let peer = hexadecimal(keys[1 - index].public().as_bytes());
        match index {
            0 => wanted += &format!("listen_port={WIREGUARD_PORT}\npublic_key={peer}\n"),
            _ => wanted += &format!("public_key={peer}\nendpoint=192.0.2.1:{WIREGUARD_PORT}\n"),
        }
        let (own, other) = (index + 1, 2 - index);
        wanted += &format!("allowed_ip=10.79.0.{other}/32\n\n");
        set(Path::new("/var/run/wireguard").join(format!("{name}.sock")).as_path(), &wanted)?;
        namespace
            .ip(&format!("addr add 10.79.0.{own}/24 dev {name}\nlink set {name} mtu {WIREGUARD_MTU} up\n"))?;
    }
    Ok(programs)
}

/// Speaks the cross-platform userspace protocol (www.wireguard.com/xplatform).
fn set(socket: &Path, wanted: &str) -> anyhow::Result<()> {
    let end = Instant::now() + PATIENCE;
    let mut stream = loop {
        match UnixStream::connect(socket) {
            Ok(stream) => break stream,
            Err(_) if Instant::now() < end => std::thread::sleep(Duration::from_millis(20)),
            Err(why) => return Err(why).with_context(|| format!("cannot ask on {}", socket.display())),
        }
    };
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(wanted.as_bytes())?;
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer)?;
    if answer.trim() != "errno=0" {
        bail!("wireguard-go refuses what it is told: {}", answer.trim());
    }
    Ok(())
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
