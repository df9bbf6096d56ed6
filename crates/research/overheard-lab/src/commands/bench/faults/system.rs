//! The compared systems: nodes of Overheard, and wireguard-go, with the same operations.

use super::super::tunnel::{Implementation, hexadecimal, set};
use super::field::{Field, GATEWAY, STATION};
use anyhow::{Context, bail};
use experiments::pair::{self, Pair, Role};
use lab::Program;
use node::PrivateKey;
use rustix::process::Signal;
use std::fmt::Write as _;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

pub const OVERHEARD: &str = "overheard";
const PORTS: [u16; 2] = [4780, 4781];
/// The rest of Ethernet's 1500 bytes inside WireGuard, over either family.
const WIREGUARD_MTU: u16 = 1420;

/// Programs of one kind, by machine.
pub struct System {
    kind: Kind,
    programs: [Option<Program>; 3],
    /// Of the gateway.
    port: u16,
    /// Stations that were added to the gateway.
    added: Vec<PrivateKey>,
}

enum Kind {
    Overheard(Pair),
    WireGuard { implementation: Implementation, keys: [PrivateKey; 2] },
}

impl System {
    pub fn overheard() -> anyhow::Result<Self> {
        Ok(Self::of(Kind::Overheard(Pair::new(1)?)))
    }

    pub fn wireguard(implementation: Implementation) -> Self {
        let keys = [(); 2].map(|()| PrivateKey::generate(&mut rand::rng()));
        Self::of(Kind::WireGuard { implementation, keys })
    }

    fn of(kind: Kind) -> Self {
        System { kind, programs: [None, None, None], port: PORTS[0], added: Vec::new() }
    }

    pub fn label(&self) -> String {
        match &self.kind {
            Kind::Overheard(_) => OVERHEARD.to_owned(),
            Kind::WireGuard { implementation, .. } => format!("wireguard-go {}", implementation.version),
        }
    }

    /// The gateway's address in the tunnel.
    pub fn gateway(&self) -> IpAddr {
        IpAddr::from([10, 80, 0, 1])
    }

    /// Starts the program of a machine. The twin has the station's configuration.
    pub fn start(&mut self, field: &Field, machine: usize) -> anyhow::Result<()> {
        let program = match &self.kind {
            Kind::Overheard(_) => self.start_node(field, machine),
            Kind::WireGuard { .. } => self.start_wireguard(field, machine),
        };
        self.programs[machine] = Some(program?);
        Ok(())
    }

    pub fn stop(&mut self, machine: usize) {
        self.programs[machine].iter_mut().for_each(Program::stop);
        self.kill(machine);
    }

    pub fn kill(&mut self, machine: usize) {
        self.programs[machine] = None;
    }

    /// Adds a further station to the gateway: by its file and a reload, or by a command.
    pub fn add_station(&mut self, field: &Field, reloads: bool) -> anyhow::Result<()> {
        let key = PrivateKey::generate(&mut rand::rng());
        let public = key.public();
        self.added.push(key);
        let own = self.added.len() + 10;
        match &self.kind {
            Kind::WireGuard { .. } => {
                let peer = hexadecimal(public.as_bytes());
                set(
                    &self.socket(field, GATEWAY),
                    &format!("set=1\npublic_key={peer}\nallowed_ip=10.80.0.{own}/32\n\n"),
                )
            }
            Kind::Overheard(_) if reloads => {
                self.write_config(field, GATEWAY)?;
                self.reload(GATEWAY)
            }
            Kind::Overheard(_) => {
                let (socket, public) = (self.socket(field, GATEWAY), public.to_string());
                let mut command = Command::new(crate::programs::find()?.overheard);
                command.args(["peer", "add", &format!("added-{own}"), "--public-key", &public]);
                command.args(["--allowed-ips", &format!("10.80.0.{own}/32"), "--socket"]).arg(socket);
                let done = command.stdin(Stdio::null()).output().context("`overheard peer add`")?;
                let said = String::from_utf8_lossy(&done.stderr);
                anyhow::ensure!(done.status.success(), "`overheard peer add`: {said}");
                // A later reload finds it in the file.
                self.write_config(field, GATEWAY).map(drop)
            }
        }
    }

    /// Gives the gateway another port.
    pub fn move_gateway(&mut self, field: &Field) -> anyhow::Result<()> {
        self.port = PORTS[1];
        match &self.kind {
            Kind::WireGuard { .. } => {
                set(&self.socket(field, GATEWAY), &format!("set=1\nlisten_port={}\n\n", self.port))
            }
            Kind::Overheard(_) => {
                self.write_config(field, GATEWAY)?;
                self.reload(GATEWAY)
            }
        }
    }

    /// The time until the station's path MTU is this, at most `patience`.
    pub fn until_path_mtu(&self, field: &Field, bytes: u64, patience: Duration) -> anyhow::Result<Duration> {
        let began = Instant::now();
        while began.elapsed() < patience {
            let status = self.status(field, STATION)?;
            if status["node"]["peers"][0]["path_mtu_bytes"].as_u64() >= Some(bytes) {
                break;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(began.elapsed())
    }

    fn reload(&self, machine: usize) -> anyhow::Result<()> {
        let Some(program) = &self.programs[machine] else { bail!("there is no {}", Field::name(machine)) };
        Ok(program.signal(Signal::HUP)?)
    }

    fn start_node(&self, field: &Field, machine: usize) -> anyhow::Result<Program> {
        let path = self.write_config(field, machine)?;
        let mut command = Command::new(crate::programs::find()?.overheard);
        command.arg("up").arg(path).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Program::start(field.machine(machine), command, "overheard")?)
    }

    /// Writes a node's configuration, with the gateway's port and all stations. Returns its path.
    fn write_config(&self, field: &Field, machine: usize) -> anyhow::Result<PathBuf> {
        let Kind::Overheard(keys) = &self.kind else { bail!("only nodes have files") };
        let gateway = format!("192.0.2.1:{}", PORTS[0]);
        let is_gateway = machine == GATEWAY;
        let (role, own, other) = if is_gateway { (Role::Gateway, 1, 2) } else { (Role::Station, 2, 1) };
        let daemon = pair::with_repairs(keys.node(&pair::Node {
            role,
            place: if is_gateway { pair::GATEWAY } else { pair::STATION },
            tunnel: &format!("interface = \"oh0\"\naddresses = [\"10.80.0.{own}/24\"]"),
            endpoint: (!is_gateway).then_some(gateway.as_str()),
            allowed_ips: &format!("\"10.80.0.{other}/32\""),
            reduce: "",
            program: pair::Program::Shipped,
        }));
        let socket = self.socket(field, machine);
        let mut config = daemon.config.replace("{socket}", &socket.to_string_lossy());
        if is_gateway {
            config = config.replacen("[node]", &format!("[node]\nlisten = \"[::]:{}\"", self.port), 1);
            for (index, key) in self.added.iter().enumerate() {
                let (own, public) = (index + 11, key.public());
                let _ = write!(
                    config,
                    "\n[[peer]]\nname = \"added-{own}\"\npublic_key = \"{public}\"\n\
                     allowed_ips = [\"10.80.0.{own}/32\"]\n"
                );
            }
        }
        let path = field.run().folder().join(format!("{}.toml", Field::name(machine)));
        std::fs::write(&path, config).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(path)
    }

    /// The socket of a machine's program: that of the status, or that of the settings.
    fn socket(&self, field: &Field, machine: usize) -> PathBuf {
        match &self.kind {
            Kind::Overheard(_) => field.run().folder().join(format!("{}.sock", Field::name(machine))),
            Kind::WireGuard { .. } => {
                Path::new("/var/run/wireguard").join(format!("{}.sock", interface(field, machine)))
            }
        }
    }

    fn status(&self, field: &Field, machine: usize) -> anyhow::Result<serde_json::Value> {
        let mut command = Command::new(crate::programs::find()?.overheard);
        command.args(["status", "--json", "--socket"]).arg(self.socket(field, machine));
        let output = command.stdin(Stdio::null()).output().context("`overheard status`")?;
        serde_json::from_slice(&output.stdout).context("`overheard status` prints no JSON")
    }

    fn start_wireguard(&self, field: &Field, machine: usize) -> anyhow::Result<Program> {
        let Kind::WireGuard { implementation, keys } = &self.kind else { bail!("no WireGuard") };
        let name = interface(field, machine);
        let mut command = implementation.command(&name);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let program = Program::start(field.machine(machine), command, "wireguard-go")?;
        let is_gateway = machine == GATEWAY;
        let (key, peer) = if is_gateway { (&keys[0], &keys[1]) } else { (&keys[1], &keys[0]) };
        let (own, other) = if is_gateway { (1, 2) } else { (2, 1) };
        let (key, peer) = (hexadecimal(key.as_bytes()), hexadecimal(peer.public().as_bytes()));
        let place = if is_gateway { format!("listen_port={}\n", self.port) } else { String::new() };
        let endpoint = if is_gateway { String::new() } else { format!("endpoint=192.0.2.1:{}\n", PORTS[0]) };
        let wanted = format!(
            "set=1\nprivate_key={key}\n{place}public_key={peer}\n{endpoint}allowed_ip=10.80.0.{other}/32\n\n"
        );
        set(&self.socket(field, machine), &wanted)?;
        let up = format!("addr add 10.80.0.{own}/24 dev {name}\nlink set {name} mtu {WIREGUARD_MTU} up\n");
        field.machine(machine).ip(&up)?;
        Ok(program)
    }
}

impl Drop for System {
    fn drop(&mut self) {
        // Stopped, not killed: wireguard-go's sockets are outside the namespaces, and only it removes them.
        self.programs.iter_mut().flatten().for_each(Program::stop);
    }
}

/// The interface's name: sockets of all namespaces share a folder.
fn interface(field: &Field, machine: usize) -> String {
    let prefix = field.run().namespace_name("").replace('-', "");
    format!("{prefix}{machine}")
}
