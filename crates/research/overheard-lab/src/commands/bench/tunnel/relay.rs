//! A tunnel without processing: the device's packets go unchanged into datagrams, and back.
//!
//! It waits, reads and writes like a node. The additional time of an echo, compared with the bare cable, is
//! the cost of wake-ups and system calls on this machine. Further additional time through a node is the
//! node's own.

use anyhow::Context;
use io::netlink::Netlink;
use io::reactor::{Reactor, Waker};
use io::tun::Tun;
use io::udp::Udp;
use lab::Namespace;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// Port of its ends.
const PORT: u16 = 4799;
/// The rest of Ethernet's 1500 bytes.
const MTU: u16 = 1472;

/// One end, on a thread of its own until it is dropped.
pub struct Relay {
    stop: Arc<AtomicBool>,
    waker: Waker,
    thread: Option<JoinHandle<anyhow::Result<()>>>,
}

impl Relay {
    /// Makes the end of `namespace`, at `own` on the cable and `inside` in the tunnel, towards `other` on the
    /// cable.
    pub fn start(namespace: &Namespace, own: IpAddr, other: IpAddr, inside: IpAddr) -> anyhow::Result<Self> {
        let network = ipnet::IpNet::new(inside, 24).context("24 bits are a prefix")?;
        let (mut tun, mut udp) = namespace.enter(|| -> Result<_, io::Error> {
            let tun = Tun::create(&Netlink::open()?, "relay", MTU, &[network])?;
            Ok((tun, Udp::bind(SocketAddr::new(own, PORT))?))
        })??;
        let to = SocketAddr::new(other, PORT);
        let (stop, waker) = (Arc::new(AtomicBool::new(false)), Waker::new()?);
        let (stopped, woken) = (stop.clone(), waker.clone());
        let relay = move || -> anyhow::Result<()> {
            while !stopped.load(Ordering::Relaxed) {
                let sockets = std::slice::from_ref(&udp);
                let reactor = Reactor {
                    sockets,
                    wants_out: None,
                    reads: true,
                    device: &tun,
                    sniffer: None,
                    waker: &woken,
                };
                let ready = reactor.wait(None)?;
                if ready.socket_in {
                    // what the kernel does not take is lost, as on any link
                    udp.receive(|received| drop(tun.write(received.datagram)))?;
                    drop(tun.flush());
                }
                if ready.device_in {
                    tun.read(|packet| drop(udp.send(to, 0, &[packet])))?;
                }
            }
            Ok(())
        };
        let thread = std::thread::Builder::new().name("relay".into()).spawn(relay)?;
        Ok(Relay { stop, waker, thread: Some(thread) })
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.waker.wake();
        if let Some(Err(error)) = self.thread.take().and_then(|thread| thread.join().ok()) {
            tracing::warn!("the empty tunnel broke down: {error:#}");
        }
    }
}
