//! Runs a node: sets everything up or nothing, drives it, takes everything out.

use crate::config::{Config, Mistake, Product};
use crate::next_hops::NextHops;
use crate::status_socket::StatusSocket;
use crate::watch::Watch;
use crate::{boost, service};
use anyhow::Context;
use dashboard::node::About;
use io::clock::Clock;
use io::{Control, System};
use node::Event;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use split::Split;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

/// Whether what happens to a node is kept for those who look at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Watched {
    /// It is.
    Always,
    /// It is not.
    Never,
}

/// Runs the node of `config` until SIGINT or SIGTERM, and on SIGHUP anew if its file is still right. `trace`
/// is where it writes what each packet refers to.
pub fn run(mut config: Config, trace: Option<&Path>, watched: Watched) -> anyhow::Result<()> {
    let threads = config.threads.min(config.node.peers.len()).max(1);
    let (control, inboxes) = io::control(threads)?;
    let begin_anew = heed_signals(control.clone(), config.path.clone())?;
    let mut trace = match trace {
        Some(path) => Some(BufWriter::new(
            File::create(path)
                .map_err(|why| Mistake::new(format!("cannot write the trace {}: {why}", path.display())))?,
        )),
        None => None,
    };
    config.node.trace = trace.is_some();
    config.node.handshakes_above = microseconds_since_1970();
    // loaded first and dropped last: routes name it
    let (controller, boosted) = boost::begin(&mut config);
    StatusSocket::refuse_taken(&config.status_socket, &config.path)?;
    let watch = if watched == Watched::Always { Some(Watch::open(&config)?) } else { None };
    let clock = Clock::start();
    let (shards, mut nodes) = node::Shards::new(&config.node, threads, rand::random(), clock.now())
        .map_err(|why| Mistake::new(format!("{}: {why}", config.path.display())))?;
    let mut system = System::set_up(&config.system).map_err(|why| explain(&config, why))?;
    let listen = system.local();
    let about = About { boost: boosted, ..About::new(&config.path, config.role, &config.system, listen) };
    let split = config.split.take().map(Split::start).transpose();
    let split = split.map_err(|why| Mistake::at(&config.path, "[split]", why))?;
    let known = watch.as_ref().map(Watch::known);
    let socket = StatusSocket::bind(&config.status_socket, &config.path)?;
    socket.serve(about.clone(), control.clone(), known, split.as_ref().map(Split::watch))?;
    if let Some(watch) = watch {
        watch.begin(about, control.clone())?;
    }
    let following = config.next_hops.take().map(|settings| NextHops::follow(settings, control.clone()));
    let following = following.transpose().context("cannot start the thread that follows routes")?;
    tracing::info!(
        "{} up on {} (mtu {}), listening on {listen}, policy {}, {} peers",
        config.role,
        config.system.interface,
        config.system.mtu,
        config.node.reduce.policy,
        config.node.peers.len(),
    );
    service::is_ready();
    let nodes = (&shards, nodes.as_mut_slice());
    let driven =
        io::drive(&mut system, nodes, clock, (&control, inboxes), |event| match (&event, &mut trace) {
            (Event::Ratio { flow, ratio }, _) => {
                controller.iter().for_each(|controller| controller.tell(flow, *ratio));
            }
            (Event::Sent(_) | Event::Arrived { .. }, Some(trace)) => write_trace(trace, &event),
            (Event::Sent(_) | Event::Arrived { .. }, None) => {}
            _ => tracing::info!("{event}"),
        });
    let again = begin_anew.load(Ordering::Relaxed) && driven.is_ok();
    if !again {
        service::stops();
    }
    drop((split, following));
    drop(system);
    if let Some(trace) = &mut trace {
        trace.flush().context("cannot write the trace")?;
    }
    driven?;
    tracing::info!("{} down", config.system.interface);
    if again {
        drop((socket, controller));
        return Err(service::begin_anew()).context("cannot start anew");
    }
    Ok(())
}

/// From here on a signal makes the driver return, however far the start has come; SIGHUP only if the
/// configuration in the file is right. Whether it is then to begin anew.
fn heed_signals(control: Control, path: PathBuf) -> anyhow::Result<Arc<AtomicBool>> {
    let begin_anew = Arc::new(AtomicBool::new(false));
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM]).context("cannot listen for signals")?;
    let asked = begin_anew.clone();
    let heed = move || {
        for signal in signals.forever() {
            if signal == SIGHUP {
                if let Err(mistake) = Config::load(&path, &Product) {
                    tracing::error!(
                        "the configuration is not taken up, and the tunnel stays as it is: {mistake:#}"
                    );
                    continue;
                }
                tracing::info!("the configuration is taken up: the tunnel begins anew");
            }
            asked.store(signal == SIGHUP, Ordering::Relaxed);
            control.stop();
        }
    };
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(heed)
        .context("cannot start the thread that listens for signals")?;
    Ok(begin_anew)
}

/// Which key of the configuration the machine's refusal is about.
fn explain(config: &Config, why: io::Error) -> anyhow::Error {
    use io::Error::*;
    let key = match &why {
        PortTaken(_) | NotOurAddress(_) | Socket { .. } => "[node] listen",
        NoTunDevice | NoTunRight | InterfaceTaken(_) | InterfaceName(_) | TableTaken { .. } => {
            "[tunnel] interface"
        }
        NoInterface(_) | NoPacketRight | CannotOverhear { .. } => "[overhear] interface",
        NoIpv6(_) => "[tunnel] addresses",
        RouteTaken(_) => "[[peer]] allowed_ips",
        _ => return anyhow::Error::new(why).context(format!("{}", config.path.display())),
    };
    Mistake::at(&config.path, key, why).into()
}

/// One JSON object a line. A trace that cannot be written any more must not stop the tunnel.
fn write_trace(out: &mut impl Write, event: &Event) {
    let line = match event {
        Event::Sent(sent) => serde_json::json!({
            "sent": sent.sequence,
            "peer": sent.peer,
            "flow": format!("{:?}", sent.flow),
            "tcp_sequence": sent.tcp_sequence,
            "payload_bytes": sent.payload_bytes,
            "packet_bytes": sent.packet_bytes,
            "frame_bytes": sent.frame_bytes,
            "references": sent.references,
        }),
        Event::Arrived { peer, sequence, outcome } => serde_json::json!({
            "arrived": sequence,
            "peer": peer,
            "outcome": format!("{outcome:?}").to_lowercase(),
        }),
        _ => return,
    };
    if let Err(error) = writeln!(out, "{line}") {
        tracing::warn!("cannot write the trace: {error}");
    }
}

/// Rises from boot to boot where the machine's clock does.
fn microseconds_since_1970() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}
