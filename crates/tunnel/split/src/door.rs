//! The door of intercepted connections, and the sockets of their other halves, which use others' addresses.

use crate::counters::{Counters, Counts};
use crate::relay::{Ended, breaks, relay};
use interception::{Interception, NoInterception, Plan, listen, transparent};
use socket2::{Domain, SockRef, Socket, TcpKeepalive, Type};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::Notify;
use tokio::task::LocalSet;

/// Longest wait for the other end: TCP tries four times in this time.
const CONNECT: Duration = Duration::from_secs(20);
/// Idle time after which keepalives begin.
const KEEPALIVE: Duration = Duration::from_secs(120);

/// The connections to split, and their bounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The connections to intercept, and the door's port.
    pub plan: Plan,
    /// Whether the rules for that are installed.
    pub rules: bool,
    /// The most connections at a time.
    pub connections: usize,
    /// The longest idle time of a connection.
    pub idle: Duration,
}

/// Reason why nothing is split; a sentence with a remedy.
#[derive(Debug, thiserror::Error)]
pub enum NotListening {
    /// The socket cannot be opened.
    #[error(transparent)]
    NotOpen(#[from] interception::NotListening),
    /// Connections cannot be intercepted.
    #[error(transparent)]
    NotTaken(#[from] NoInterception),
    /// The thread cannot be started.
    #[error("cannot start the thread that splits connections: {0}")]
    NoThread(io::Error),
}

/// Splits connections on its own thread until it is dropped. Open connections are then reset.
#[derive(Debug)]
pub struct Split {
    counters: Arc<Counters>,
    stop: Arc<Notify>,
    thread: Option<std::thread::JoinHandle<()>>,
    // Interception ends before the thread does.
    interception: Option<Interception>,
}

impl Split {
    /// Opens the door and starts the interception.
    pub fn start(settings: Settings) -> Result<Self, NotListening> {
        let port = settings.plan.door;
        let mut doors = vec![listen((Ipv4Addr::UNSPECIFIED, port).into(), true)?];
        match listen((Ipv6Addr::UNSPECIFIED, port).into(), true) {
            Ok(door) => doors.push(door),
            Err(interception::NotListening::Address { source, .. }) => {
                tracing::info!("no IPv6 connection is split: {source}");
            }
            Err(error) => return Err(error.into()),
        }
        let (counters, stop) = (Arc::new(Counters::default()), Arc::new(Notify::new()));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(NotListening::NoThread)?;
        let (bounds, ours, stopped) = ((settings.connections, settings.idle), counters.clone(), stop.clone());
        let thread = std::thread::Builder::new().name("split".to_owned()).spawn(move || {
            let local = LocalSet::new();
            local.block_on(&runtime, async {
                for door in doors {
                    tokio::task::spawn_local(serve(door, bounds, ours.clone()));
                }
                stopped.notified().await;
            });
        });
        let thread = Some(thread.map_err(NotListening::NoThread)?);
        let mut split = Split { counters, stop, thread, interception: None };
        if settings.rules {
            split.interception = Some(Interception::install(settings.plan)?);
        }
        Ok(split)
    }

    /// A reader of the counters while it runs.
    #[must_use]
    pub fn watch(&self) -> Watch {
        Watch(self.counters.clone())
    }
}

/// Reads the counters.
#[derive(Debug, Clone)]
pub struct Watch(Arc<Counters>);

impl Watch {
    /// The current counts.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.0.counts()
    }
}

impl Drop for Split {
    fn drop(&mut self) {
        self.interception = None;
        self.stop.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Connects to `to` from the address `from`.
async fn connect(from: SocketAddr, to: SocketAddr) -> io::Result<TcpStream> {
    let socket = transparent(from).map_err(io::Error::other)?;
    let socket = TcpSocket::from_std_stream(socket.into());
    tokio::time::timeout(CONNECT, socket.connect(to)).await.map_err(|_| io::ErrorKind::TimedOut)?
}

async fn serve(door: std::net::TcpListener, (most, idle): (usize, Duration), counters: Arc<Counters>) {
    use std::sync::atomic::Ordering::Relaxed;
    let door = match TcpListener::from_std(door) {
        Ok(door) => door,
        Err(error) => return tracing::error!("no connection can be split: {error}"),
    };
    let port = door.local_addr().map_or(0, |address| address.port());
    loop {
        let (stream, client) = match door.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                // Descriptors or memory are exhausted: other connections must end first.
                tracing::warn!("no connection can be taken: {error}");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        breaks(&stream);
        let came_to_the_door = stream.local_addr().is_ok_and(|to| to.port() == port && is_ours(to.ip()));
        if counters.open.load(Relaxed) >= most as u64 || came_to_the_door {
            Counters::one(&counters.refused);
            continue;
        }
        Counters::one(&counters.accepted);
        Counters::one(&counters.open);
        let counters = counters.clone();
        tokio::task::spawn_local(async move {
            carry(stream, client, idle, &counters).await;
            counters.open.fetch_sub(1, Relaxed);
        });
    }
}

async fn carry(stream: TcpStream, client: SocketAddr, idle: Duration, counters: &Counters) {
    let Ok(destination) = stream.local_addr() else { return };
    let onward = match connect(client, destination).await {
        Ok(onward) => onward,
        Err(error) => {
            tracing::debug!("{destination} is not reached for {client}: {error}");
            Counters::one(&counters.unreached);
            return;
        }
    };
    breaks(&onward);
    for stream in [&stream, &onward] {
        let _ = stream.set_nodelay(true);
        let asked = TcpKeepalive::new().with_time(KEEPALIVE).with_interval(KEEPALIVE / 4);
        let _ = SockRef::from(stream).set_tcp_keepalive(&asked);
    }
    match relay(stream, onward, idle, counters).await {
        Ended::InOrder => {}
        Ended::Reset => Counters::one(&counters.reset),
        Ended::Idle => Counters::one(&counters.idle),
    }
}

/// Whether an address is this host's. A connection to the door itself would lead back to it.
fn is_ours(ip: IpAddr) -> bool {
    let any = SocketAddr::new(ip, 0);
    Socket::new(Domain::for_address(any), Type::DGRAM, None)
        .and_then(|socket| socket.bind(&any.into()))
        .is_ok()
}
