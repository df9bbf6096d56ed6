//! A path of some length between two machines, with an observer.

use super::namespaces::Machine;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The most datagrams remembered.
const MOST_KEPT: usize = 20_000;
/// Interval of a thread's checks for its end.
const LOOK: Duration = Duration::from_millis(50);

/// Forwards datagrams between a station and a gateway with this delay. The gateway takes this machine for the
/// station.
pub struct Delay {
    to_station: Arc<UdpSocket>,
    to_gateway: Arc<UdpSocket>,
    station: Arc<Mutex<Option<SocketAddr>>>,
    heard: Arc<Mutex<Vec<Vec<u8>>>>,
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Delay {
    /// A delay on `machine`, whose address `at` the station takes for the gateway's.
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

    /// The station's latest address.
    pub fn station(&self) -> Option<SocketAddr> {
        *self.station.lock().unwrap()
    }

    /// The station's datagrams so far.
    pub fn heard(&self) -> Vec<Vec<u8>> {
        self.heard.lock().unwrap().clone()
    }

    /// The sockets to the station and to the gateway.
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

/// A datagram in flight: its due time, socket and destination.
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
        // A closed destination gives one error, and the socket continues.
        let Ok((count, source)) = from.recv_from(&mut buffer) else { continue };
        if let Some((by, to)) = way(&buffer[..count], source) {
            let _ = sender.send((Instant::now() + one_way, by, to, buffer[..count].to_vec()));
        }
    }
}

fn send(receiver: &Receiver<Due>) {
    // All datagrams have the same delay, so they are due in order; this ends with the listener.
    for (due, by, to, datagram) in receiver {
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        let _ = by.send_to(&datagram, to);
    }
}
