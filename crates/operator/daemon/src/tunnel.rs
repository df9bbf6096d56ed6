//! Runs a node: sets everything up or nothing, drives it, removes everything.

use crate::config::{Config, Mistake};
use crate::keeper::{Keeper, Kept, Order, Rules};
use crate::next_hops::NextHops;
use crate::reload::{Reload, Running, called};
use crate::sandbox::{self, Profile, rights};
use crate::status_socket::StatusSocket;
use crate::watch::Watch;
use crate::{boost, last_addresses, service};
use ::boost::Told;
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
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, SystemTime};

/// Whether a node's history is kept for readers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Watched {
    /// It is kept.
    Always,
    /// It is kept, and the node ends if it has no session within this time.
    WithSessionWithin(Duration),
    /// It is not kept.
    Never,
}

/// Runs the node of `config` until SIGINT or SIGTERM. SIGHUP makes it take over its file if
/// that is valid, and restarts it only where it must. `trace` receives the references of each packet.
///
/// A keeper starts first for the privileged work. Then this process gives up its rights, and only afterwards
/// opens its sockets.
pub fn run(mut config: Config, trace: Option<&Path>, watched: Watched) -> anyhow::Result<()> {
    let threads = config.threads.min(config.node.peers.len()).max(1);
    let (control, inboxes) = io::control(threads)?;
    let signals = Signals::new([SIGHUP, SIGINT, SIGTERM]).context("cannot listen for signals")?;
    let mut trace = match trace {
        Some(path) => Some(BufWriter::new(
            File::create(path)
                .map_err(|why| Mistake::new(format!("cannot write the trace {}: {why}", path.display())))?,
        )),
        None => None,
    };
    config.node.trace = trace.is_some();
    config.node.handshakes_above = microseconds_since_1970();
    StatusSocket::refuse_taken(&config.status_socket, &config.path)?;
    // The keeper starts first and ends last, because routes name its congestion control.
    let (keeper, boosted) = begin_keeper(&mut config)?;
    StatusSocket::make_folder(&config.status_socket, &config.path)?;
    // If the folder cannot be created, a revocation reports it.
    let _ = config.revocations.file().parent().map(std::fs::create_dir_all);
    if let Some(files) = &config.files {
        if let Err(why) = rights::keep(rights::OF_A_NODE) {
            tracing::warn!("rights that are not needed are kept: {why}");
        }
        sandbox::enter(Profile::Tunnel, files);
    }
    // Threads start after this point and inherit the restrictions.
    let (call, to_call) = mpsc::channel();
    let running = Running::of(&config, control.clone(), call, keeper.is_some());
    let begin_anew = heed_signals(signals, control.clone(), running.clone())?;
    let (is_watched, within) = match watched {
        Watched::Never => (false, None),
        Watched::Always => (true, None),
        Watched::WithSessionWithin(within) => (true, Some(within)),
    };
    let watch = is_watched.then(|| Watch::open(&config, within)).transpose()?;
    let failure = watch.as_ref().map(Watch::failure).unwrap_or_default();
    let clock = Clock::start();
    let (mut shards, mut nodes) = node::Shards::new(&config.node, threads, rand::random(), clock.now())
        .map_err(|why| Mistake::new(format!("{}: {why}", config.path.display())))?;
    for (key, address) in last_addresses::handed_on() {
        nodes.iter_mut().for_each(|node| node.find(clock.now(), &key, address));
    }
    let mut system = System::set_up(&config.system).map_err(|why| explain(&config, why))?;
    let listen = system.local();
    let about = About { boost: boosted, ..About::new(&config.path, config.role, &config.system, listen) };
    let split = config.split.take().map(Split::start).transpose();
    let split = split.map_err(|why| Mistake::at(&config.path, "[split]", why))?;
    let known = watch.as_ref().map(Watch::known);
    let socket = StatusSocket::bind(&config.status_socket, &config.path)?;
    let more = (split.as_ref().map(Split::watch), config.revocations.clone(), running);
    socket.serve(about.clone(), control.clone(), known, more)?;
    if let Some(watch) = watch {
        watch.begin(about, control.clone(), (called(&config.node), to_call))?;
    }
    let following = config.next_hops.take().map(|settings| NextHops::follow(settings, control.clone()));
    let following = following.transpose().context("cannot start the thread that follows routes")?;
    if let Some(preset) = &config.preset {
        tracing::info!("{}: {preset}", config.path.display());
    }
    tracing::info!(
        "{} up on {} (mtu {}), listening on {listen}, policy {}, {} peers",
        config.role,
        config.system.interface,
        config.system.mtu,
        config.node.reduce.policy,
        config.node.peers.len(),
    );
    if within.is_none() {
        service::is_ready();
    }
    let released = io::text::release();
    tracing::debug!("{released} bytes of the program's file are not resident any more after the start");
    let driven = io::drive(
        &mut system,
        (&mut shards, nodes.as_mut_slice()),
        clock,
        (&control, inboxes),
        |event| match (&event, &mut trace) {
            (Event::Ratio { flow, ratio }, _) => {
                keeper.iter().for_each(|keeper| keeper.tell(&Told::now(flow, *ratio)));
            }
            (Event::Sent(_) | Event::Arrived { .. }, Some(trace)) => write_trace(trace, &event),
            (Event::Sent(_) | Event::Arrived { .. }, None) => {}
            _ => tracing::info!("{event}"),
        },
    );
    let again = begin_anew.load(Ordering::Relaxed) && driven.is_ok();
    let last_addresses: Vec<_> = nodes.iter().flat_map(node::Node::last_addresses).collect();
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
    if let Some(failure) = failure.get() {
        anyhow::bail!("{failure}");
    }
    if again {
        drop(socket);
        return Err(service::begin_anew(keeper.as_ref(), &last_addresses)).context("cannot start anew");
    }
    Ok(())
}

/// Starts a keeper for the configuration's privileged work, if there is any. Returns it with the status text
/// of the boosted congestion control.
fn begin_keeper(config: &mut Config) -> anyhow::Result<(Option<Keeper>, Option<String>)> {
    let wanted = boost::wanted(config);
    let rules = config.split.as_mut().and_then(|split| {
        // Only the keeper installs them.
        std::mem::take(&mut split.rules).then(|| Rules::from(&split.plan))
    });
    let order =
        Order { rules, boost: wanted.as_ref().and_then(|wanted| Some(wanted.as_ref().ok()?.to_string())) };
    let keeper = if order == Order::default() {
        None
    } else {
        Some(Keeper::handed_on().map_or_else(Keeper::start, Ok)?)
    };
    let kept = keeper.as_ref().map_or_else(|| Ok(Kept::default()), |keeper| keeper.order(&order))?;
    if let Some(why) = &kept.no_rules {
        return Err(Mistake::at(&config.path, "[split]", why).into());
    }
    let boosted = boost::take_up(config, wanted, &kept);
    Ok((keeper, boosted))
}

/// Whether a configuration needs a keeper.
pub(crate) fn needs_keeper(config: &Config) -> bool {
    config.boost.is_some() || config.split.as_ref().is_some_and(|split| split.rules)
}

/// Stops the driver at a signal, at any stage of the start. SIGHUP stops it only if the node must restart.
/// Returns whether to restart.
fn heed_signals(mut signals: Signals, control: Control, running: Running) -> anyhow::Result<Arc<AtomicBool>> {
    let begin_anew = Arc::new(AtomicBool::new(false));
    let asked = begin_anew.clone();
    let heed = move || {
        for signal in signals.forever() {
            if signal == SIGHUP {
                service::reloads();
                match running.reload() {
                    Ok(Reload::Restart) => {}
                    Ok(Reload::Done) => {
                        service::is_ready();
                        continue;
                    }
                    Err(mistake) => {
                        tracing::error!(
                            "the configuration is not taken up, and the tunnel stays as it is: {mistake:#}"
                        );
                        service::is_ready();
                        continue;
                    }
                }
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

/// Adds the key of the configuration to the machine's refusal.
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

/// Writes one JSON object a line. A failed write must not stop the tunnel.
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

/// The boot number, which rises as far as the machine's clock does.
pub(crate) fn microseconds_since_1970() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}
