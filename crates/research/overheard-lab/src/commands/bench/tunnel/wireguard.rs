//! Implementations of WireGuard in user space, to compare with: the newest are built into a folder of the
//! user's cache.

use super::ground::{PATIENCE, Way};
use anyhow::{Context, bail, ensure};
use lab::{Namespace, Program, Run};
use node::PrivateKey;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write as _};
use std::net::IpAddr;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// WireGuard's usual port. Each implementation has one of its own, from this one on.
const PORT: u16 = 51_820;
/// The rest of Ethernet's 1500 bytes inside WireGuard, over either family.
const MTU: u16 = 1420;
/// The module of the newest wireguard-go.
const MODULE: &str = "golang.zx2c4.com/wireguard";

/// An implementation that can be run.
#[derive(Debug, Clone)]
pub struct Implementation {
    program: PathBuf,
    /// Its version, as its build says.
    pub version: String,
}

impl Implementation {
    /// The program of a way, built if need be.
    ///
    /// # Errors
    ///
    /// Why there is none.
    pub fn of(way: Way) -> anyhow::Result<Self> {
        let found = match way {
            Way::NewestWireguardGo => newest_wireguard_go(),
            Way::Boringtun => boringtun(),
            Way::DebianWireguardGo => debian_wireguard_go(),
            _ => bail!("{way} is no WireGuard"),
        };
        found.with_context(|| way.to_string())
    }

    /// The command that makes an interface of this name, and runs until it ends.
    pub fn command(&self, interface: &str) -> Command {
        let mut command = Command::new(&self.program);
        // Otherwise boringtun looks for the user who called sudo.
        command.args(["-f", interface]).env("WG_SUDO", "true");
        command
    }

    /// Starts both ends, station last, and sets them up through their sockets.
    ///
    /// # Errors
    ///
    /// When they do not start, or refuse what they are told.
    pub fn start(
        &self,
        way: Way,
        run: &Run,
        gateway: &Namespace,
        station: &Namespace,
    ) -> anyhow::Result<[Program; 2]> {
        let rng = &mut rand::rng();
        let keys = [PrivateKey::generate(rng), PrivateKey::generate(rng)];
        let IpAddr::V4(inside) = way.gateway() else { bail!("the tunnels are for IPv4") };
        let [a, b, c, _] = inside.octets();
        let port = PORT + u16::from(b);
        let start = |index: usize, namespace: &Namespace| -> anyhow::Result<Program> {
            // Its socket is in a folder that all namespaces share.
            let prefix = run.namespace_name("").replace('-', "");
            let name = format!("{prefix}{}{index}", char::from(b'a' + b % 26));
            let mut command = self.command(&name);
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            let program = Program::start(namespace, command, "wireguard-go")?;
            let (own, other) = (index + 1, 2 - index);
            let peer = hexadecimal(keys[1 - index].public().as_bytes());
            let mut wanted = format!("set=1\nprivate_key={}\n", hexadecimal(keys[index].as_bytes()));
            match index {
                0 => wanted += &format!("listen_port={port}\npublic_key={peer}\n"),
                _ => wanted += &format!("public_key={peer}\nendpoint=192.0.2.1:{port}\n"),
            }
            wanted += &format!("allowed_ip={a}.{b}.{c}.{other}/32\n\n");
            set(Path::new("/var/run/wireguard").join(format!("{name}.sock")).as_path(), &wanted)?;
            namespace
                .ip(&format!("addr add {a}.{b}.{c}.{own}/24 dev {name}\nlink set {name} mtu {MTU} up\n"))?;
            Ok(program)
        };
        Ok([start(0, gateway)?, start(1, station)?])
    }
}

/// The folder for built programs.
fn folder() -> anyhow::Result<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let cache = cache.or_else(home).context("neither HOME nor XDG_CACHE_HOME is set")?;
    let folder = cache.join("overheard-lab");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder)
}

/// The module's newest version, or the version that is here if Go's proxy is out of reach.
fn newest_wireguard_go() -> anyhow::Result<Implementation> {
    let folder = folder()?;
    let program = folder.join("wireguard");
    let module = format!("{MODULE}@latest");
    let built = output(Command::new("go").args(["install", &module]).env("GOBIN", &folder));
    if let Err(why) = built {
        ensure!(program.exists(), "`go install {module}`: {why:#}");
        tracing::warn!("wireguard-go stays as it is: {why:#}");
    }
    let told = output(Command::new("go").args(["version", "-m"]).arg(&program))?;
    let module = told.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let version = module.filter(|words| words.first() == Some(&"mod")).find_map(|words| Some(*words.get(2)?));
    let version = version.context("`go version -m` names no version of the module")?.to_owned();
    Ok(Implementation { program, version })
}

/// The version of crates.io at the first build; later runs use the same one.
fn boringtun() -> anyhow::Result<Implementation> {
    let folder = folder()?;
    let program = folder.join("bin/boringtun-cli");
    if !program.exists() {
        output(Command::new("cargo").args(["install", "boringtun-cli", "--root"]).arg(&folder))
            .context("`cargo install boringtun-cli`")?;
    }
    let version = last_word(&output(Command::new(&program).arg("--version"))?)?;
    Ok(Implementation { program, version })
}

fn debian_wireguard_go() -> anyhow::Result<Implementation> {
    let program = PathBuf::from("wireguard-go");
    let version = last_word(&output(Command::new(&program).arg("--version"))?)?;
    Ok(Implementation { program, version })
}

/// The last word of the first line: `wireguard-go v0.0.20220316`, `boringtun 0.7.1`.
fn last_word(told: &str) -> anyhow::Result<String> {
    let word = told.lines().next().and_then(|line| line.split_whitespace().last());
    Ok(word.context("it names no version")?.to_owned())
}

/// What a command prints, if it succeeds.
fn output(command: &mut Command) -> anyhow::Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("cannot start {name}"))?;
    let last = String::from_utf8_lossy(&output.stderr).lines().last().unwrap_or_default().to_owned();
    ensure!(output.status.success(), "{name} ends with {}: {last}", output.status);
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Speaks the cross-platform userspace protocol (www.wireguard.com/xplatform).
pub fn set(socket: &Path, wanted: &str) -> anyhow::Result<()> {
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
    ensure!(answer.trim() == "errno=0", "it refuses what it is told: {}", answer.trim());
    Ok(())
}

/// Bytes as the protocol writes them.
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
