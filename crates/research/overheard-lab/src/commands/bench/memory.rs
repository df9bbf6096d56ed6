//! Resident memory of a gateway at full load both ways, beside its budget.
//!
//! The gateway is a whole process with a TUN device, in a namespace of its own. Its stations are state
//! machines in this process, which send and receive by UDP on the namespace's loopback. Each gets and sends
//! packets of which half the bytes repeat. The resident memory of the process, less that before the first
//! station came, is compared with the budget.

mod stations;

use super::{Progress, Row};
use anyhow::{Context, bail};
use lab::{Namespace, Program, Run};
use node::{NetworkKey, PrivateKey};
use rand::SeedableRng;
use rand::rngs::StdRng;
use stations::Stations;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Numbers of stations, and the budget for them in MiB.
const PEERS: [(usize, usize); 4] = [(1, 64), (10, 64), (100, 256), (1000, 256)];
/// The load lasts so long at the least, and longer for many stations.
const LOAD: Duration = Duration::from_secs(20);
const LOAD_FOR_EACH: Duration = Duration::from_millis(20);
/// The gateway's port.
const PORT: u16 = 4780;
/// A gateway is idle for so long before its memory is read. It maps again what it runs while it is idle.
const SETTLING: Duration = Duration::from_secs(5);
/// Timeout of its start.
const PATIENCE: Duration = Duration::from_secs(15);

/// What one measurement gave, in bytes.
struct Measured {
    idle: u64,
    /// The part of `idle` that is no file's: what the system cannot reclaim.
    own: u64,
    peak: u64,
    carried: u64,
    /// What the gateway counts in stores and beside them, at the end.
    stores: u64,
    beside: u64,
}

pub fn measure(runs: u32) -> anyhow::Result<Vec<Row>> {
    let progress = Progress::new(false, u64::from(runs) * PEERS.len() as u64, "starting a gateway");
    let mut rows = Vec::new();
    for (peers, budget_mib) in PEERS {
        let mut all = Vec::new();
        for run in 0..runs {
            progress.say(format!("{peers} stations, run {} of {runs}", run + 1));
            all.push(once(peers, budget_mib)?);
            progress.step();
        }
        let mib = |of: fn(&Measured) -> u64| median(all.iter().map(of).collect()) as f64 / f64::from(1 << 20);
        let name = |what: &str| format!("{peers} peers: {what}");
        rows.push(Row::new(name("budget"), budget_mib as f64, "MiB"));
        for (what, of) in [
            ("idle", (|it| it.idle) as fn(&Measured) -> u64),
            ("idle, without the program's file", |it| it.own),
            ("carried", |it| it.carried),
            ("counted in stores", |it| it.stores),
            ("counted beside stores", |it| it.beside),
        ] {
            rows.push(Row::new(name(what), mib(of), "MiB"));
        }
        let peak = mib(|it| it.peak.saturating_sub(it.idle));
        rows.push(Row::new(name("peak above idle"), peak, "MiB"));
        rows.push(Row::new(name("peak of the budget"), peak / budget_mib as f64, "ratio"));
    }
    progress.finish();
    Ok(rows)
}

fn median(mut all: Vec<u64>) -> u64 {
    all.sort_unstable();
    all.get(all.len() / 2).copied().unwrap_or_default()
}

fn once(peers: usize, budget_mib: usize) -> anyhow::Result<Measured> {
    let run = Run::begin().context("`bench memory` makes a network namespace")?;
    let Some(gateway) = Namespace::make(&run, &["gateway"])?.into_iter().next() else {
        bail!("the namespace is missing after it was made");
    };
    gateway.ip("link set lo up\n")?;
    let rng = &mut StdRng::seed_from_u64(1);
    let key = PrivateKey::generate(rng);
    let network = NetworkKey::generate(rng);
    let keys: Vec<PrivateKey> = (0..peers).map(|_| PrivateKey::generate(rng)).collect();
    let mut program = start(&run, &gateway, (&key, &network), &keys, budget_mib)?;
    let process = process_of(run.folder())?;
    let idle = resident_bytes(process, "Rss:")?;
    let own = resident_bytes(process, "Anonymous:")?;
    let mut stations = gateway.enter(|| Stations::new(&key.public(), &network, keys, PORT))??;
    let until = Instant::now() + LOAD + LOAD_FOR_EACH * u32::try_from(peers).unwrap_or(u32::MAX);
    let mut peak = idle;
    while Instant::now() < until {
        stations.carry(Duration::from_millis(200))?;
        peak = peak.max(resident_bytes(process, "Rss:")?);
    }
    let carried = stations.carried_bytes();
    let report = daemon::status_socket::ask(&run.folder().join("socket"))?;
    let memory = report.snapshot.node.memory.context("the gateway has no budget")?;
    let (stores, beside) = (memory.store_bytes as u64, memory.other_bytes as u64);
    program.stop();
    Ok(Measured { idle, own, peak, carried, stores, beside })
}

/// Starts the gateway, and waits for its socket.
fn start(
    run: &Run,
    gateway: &Namespace,
    (key, network): (&PrivateKey, &NetworkKey),
    stations: &[PrivateKey],
    budget_mib: usize,
) -> anyhow::Result<Program> {
    let folder = run.folder();
    fs::write(folder.join("gateway.key"), format!("{key}\n"))?;
    fs::write(folder.join("network.key"), format!("{network}\n"))?;
    let mut config = format!(
        "[node]\nrole = \"gateway\"\nprivate_key_file = \"gateway.key\"\nnetwork_key_file = \"network.key\"\n\
         revoked_file = \"revoked\"\nlisten = \"127.0.0.1:{PORT}\"\nstatus_socket = \"socket\"\n\
         [tunnel]\ninterface = \"memory0\"\naddresses = [\"10.80.0.1/16\"]\nmtu = 1400\n\
         [memory]\nmib = {budget_mib}\n[reduce]\nspare_processor = false\n"
    );
    for (at, station) in stations.iter().enumerate() {
        let address = stations::address(at);
        write!(
            config,
            "[[peer]]\nname = \"station-{at}\"\npublic_key = \"{}\"\nallowed_ips = [\"{address}/32\"]\n",
            station.public()
        )?;
    }
    let path = folder.join("gateway.toml");
    fs::write(&path, config)?;
    let log = fs::File::create(folder.join("log"))?;
    let mut command = Command::new(crate::programs::find()?.overheard);
    command.arg("up").arg(&path).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
    let program = Program::start(gateway, command, "overheard")?;
    let socket = folder.join("socket");
    let until = Instant::now() + PATIENCE;
    while !socket.exists() {
        if Instant::now() > until {
            bail!(
                "the gateway does not start: {}",
                fs::read_to_string(folder.join("log")).unwrap_or_default()
            );
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(SETTLING);
    Ok(program)
}

/// The process that has the configuration of this folder on its command line.
fn process_of(folder: &Path) -> anyhow::Result<u32> {
    let config = folder.join("gateway.toml");
    let wanted = config.to_string_lossy();
    for entry in fs::read_dir("/proc")?.flatten() {
        let Some(process) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let arguments: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
        if arguments.get(1) == Some(&&b"up"[..]) && arguments.contains(&wanted.as_bytes()) {
            return Ok(process);
        }
    }
    bail!("the gateway's process is not there")
}

/// The resident memory of a process: all of it, or a kind of it.
fn resident_bytes(process: u32, kind: &str) -> anyhow::Result<u64> {
    let text = fs::read_to_string(format!("/proc/{process}/smaps_rollup")).context("the gateway ended")?;
    let line = text.lines().find_map(|line| line.strip_prefix(kind)).context("the system tells no sizes")?;
    Ok(line.trim().trim_end_matches(" kB").trim().parse::<u64>()? * 1024)
}
