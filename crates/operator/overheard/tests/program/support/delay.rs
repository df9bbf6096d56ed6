//! A path of some length between two machines, and what somebody on it hears.

use super::namespaces::Machine;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Datagrams that are remembered.
const MOST_KEPT: usize = 20_000;
/// How often a thread looks whether it is to end.
const LOOK: Duration = Duration::from_millis(50);

/// Passes datagrams between a station and a gateway, each so much later. The gateway takes this machine for
/// the station.
pub struct Delay {
    to_station: Arc<UdpSocket>,
    to_gateway: Arc<UdpSocket>,
    station: Arc<Mutex<Option<SocketAddr>>>,
    heard: Arc<Mutex<Vec<Vec<u8>>>>,
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Delay {
    /// On `machine`, whose address `at` the station takes for the gateway's.
    pub fn new(machine: &Machine, at: SocketAddr, gateway: SocketAddr, one_way: Duration) -> Self {
        let socket = |address: SocketAddr| {
            let socket = machine.on(|| UdpSocket::bind(address).unwrap());
            socket.set_read_timeout(Some(LOOK)).unwrap();
            Arc::new(socket)
        };
        let (to_station, to_gateway) = (socket(at), socket(SocketAddr::new(at.ip(), 0)));
        let mut delay = Delay {
            to_station: Arc::clone(&to_station),
            to_gateway: Arc::clone(&to_gateway),
            station: Arc::default(),
            heard: Arc::default(),
            over: Arc::default(),
            threads: Vec::new(),
        };
        let (station, heard) = (Arc::clone(&delay.station), Arc::clone(&delay.heard));
        let out = Arc::clone(&to_gateway);
        delay.pass(&to_station, one_way, move |datagram, from| {
            *station.lock().unwrap() = Some(from);
            let mut heard = heard.lock().unwrap();
            if heard.len() < MOST_KEPT {
                heard.push(datagram.to_vec());
            }
            Some((Arc::clone(&out), gateway))
        });
        let (station, out) = (Arc::clone(&delay.station), to_station);
        delay.pass(&to_gateway, one_way, move |_, _| Some((Arc::clone(&out), (*station.lock().unwrap())?)));
        delay
    }

    /// Where the station spoke from last.
    pub fn station(&self) -> Option<SocketAddr> {
        *self.station.lock().unwrap()
    }

    /// What the station has sent so far.
    pub fn heard(&self) -> Vec<Vec<u8>> {
        self.heard.lock().unwrap().clone()
    }

    /// What the station and the gateway take for each other: the sockets to the station and to the gateway.
    pub fn sockets(&self) -> [Arc<UdpSocket>; 2] {
        [Arc::clone(&self.to_station), Arc::clone(&self.to_gateway)]
    }

    fn pass(
        &mut self,
        from: &Arc<UdpSocket>,
        one_way: Duration,
        way: impl Fn(&[u8], SocketAddr) -> Option<(Arc<UdpSocket>, SocketAddr)> + Send + 'static,
    ) {
        let (sender, receiver) = channel();
        let (over, from) = (Arc::clone(&self.over), Arc::clone(from));
        self.threads.push(std::thread::spawn(move || listen(&over, &from, one_way, &sender, way)));
        self.threads.push(std::thread::spawn(move || send(&receiver)));
    }
}

impl Drop for Delay {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// A datagram on its way: when it is due, by which socket and where to.
type Due = (Instant, Arc<UdpSocket>, SocketAddr, Vec<u8>);

fn listen(
    over: &AtomicBool,
    from: &UdpSocket,
    one_way: Duration,
    sender: &Sender<Due>,
    way: impl Fn(&[u8], SocketAddr) -> Option<(Arc<UdpSocket>, SocketAddr)>,
) {
    let mut buffer = [0; 65_536];
    while !over.load(Ordering::Relaxed) {
        // a socket that nobody listens to any more is told so once, and goes on
        let Ok((count, source)) = from.recv_from(&mut buffer) else { continue };
        if let Some((by, to)) = way(&buffer[..count], source) {
            let _ = sender.send((Instant::now() + one_way, by, to, buffer[..count].to_vec()));
        }
    }
}

fn send(receiver: &Receiver<Due>) {
    // all are delayed alike, so that they are due in this order; ends with the listener
    for (due, by, to, datagram) in receiver {
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        let _ = by.send_to(&datagram, to);
    }
}
