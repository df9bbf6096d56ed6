//! The stations of a gateway, as state machines beside each other.

use anyhow::Context;
use etherparse::PacketBuilder;
use node::{Config, Memory, NetworkKey, Node, PeerConfig, PrivateKey, PublicKey, Shortening};
use rand::rngs::StdRng;
use rand::{Rng, RngExt, SeedableRng};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

/// Bytes of a packet's payload.
const PAYLOAD_BYTES: usize = 1200;
/// Bytes of it that an earlier packet of the station had.
const REPEATED_BYTES: usize = 600;
/// Packets each way in a row for one station.
const ROW: usize = 8;
/// Packets under way at once, by what the gateway's queue holds.
const MOST_ROWS_A_SECOND: u32 = 3000;
/// The port of packets.
const PORT: u16 = 9;
/// The budget of a station, in bytes.
const BUDGET: usize = 512 << 20;
/// The stock of repeated content.
const STOCK_BYTES: usize = 4 << 20;

/// The inner address of a station.
pub fn address(at: usize) -> Ipv4Addr {
    let number = at + 2;
    Ipv4Addr::new(10, 80, (number >> 8) as u8, number as u8)
}

struct Station {
    node: Node,
    socket: UdpSocket,
    address: Ipv4Addr,
}

/// All of them.
pub struct Stations {
    all: Vec<Station>,
    gateway: SocketAddr,
    started: Instant,
    /// Sends packets into the gateway's TUN device.
    hosts: UdpSocket,
    /// Takes what the gateway delivers.
    sink: UdpSocket,
    stock: Vec<u8>,
    rng: StdRng,
    turn: usize,
    carried: u64,
    buffer: Vec<u8>,
    number: u32,
}

impl Stations {
    /// Stations with these keys, of a gateway on this port of loopback.
    pub fn new(
        gateway: &PublicKey,
        network: &NetworkKey,
        keys: Vec<PrivateKey>,
        port: u16,
    ) -> anyhow::Result<Self> {
        let address_of_gateway = SocketAddr::from(([127, 0, 0, 1], port));
        let mut rng = StdRng::seed_from_u64(2);
        let all = keys.into_iter().enumerate().map(|(at, key)| {
            let peer = PeerConfig {
                name: "gateway".to_owned(),
                public_key: *gateway,
                endpoint: Some(address_of_gateway),
                allowed_ips: vec!["0.0.0.0/0".parse()?],
                keepalive: Some(Duration::from_secs(5)),
                bits_a_second: None,
            };
            let mut config = Config::new(key, network.clone(), vec![peer]);
            config.shorten = Shortening::ALL;
            config.reduce.store_bytes = 1 << 30;
            config.memory = Some(Memory { bytes: BUDGET, nodes: 1 });
            let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).context("no socket for a station")?;
            socket.set_nonblocking(true)?;
            let node = Node::new(config, rng.random(), Duration::ZERO)?;
            Ok(Station { node, socket, address: address(at) })
        });
        let all = all.collect::<anyhow::Result<Vec<_>>>()?;
        let hosts = UdpSocket::bind((Ipv4Addr::new(10, 80, 0, 1), 0)).context("no socket for hosts")?;
        let sink = UdpSocket::bind((Ipv4Addr::new(10, 80, 0, 1), PORT)).context("no socket for a sink")?;
        hosts.set_nonblocking(true)?;
        sink.set_nonblocking(true)?;
        let mut stock = vec![0; STOCK_BYTES];
        rng.fill_bytes(&mut stock);
        Ok(Stations {
            all,
            gateway: address_of_gateway,
            started: Instant::now(),
            hosts,
            sink,
            stock,
            rng,
            turn: 0,
            carried: 0,
            buffer: vec![0; 65_536],
            number: 0,
        })
    }

    /// Bytes of packets that arrived at either end.
    pub fn carried_bytes(&self) -> u64 {
        self.carried
    }

    /// Carries packets both ways for so long.
    pub fn carry(&mut self, time: Duration) -> anyhow::Result<()> {
        let begun = Instant::now();
        let mut rows = 0;
        while begun.elapsed() < time {
            if rows < (begun.elapsed() * MOST_ROWS_A_SECOND).as_secs() {
                self.load();
                rows += 1;
            }
            // the station at hand, and another one, so that all have their turn
            for at in [self.turn, self.number as usize % self.all.len()] {
                self.serve(at);
            }
            self.number = self.number.wrapping_add(1);
            while let Ok(count) = self.sink.recv(&mut self.buffer) {
                self.carried += count as u64;
            }
        }
        Ok(())
    }

    /// Lets packets wait both ways for the next station.
    fn load(&mut self) {
        self.turn = (self.turn + 1) % self.all.len();
        let now = self.started.elapsed();
        for _ in 0..ROW {
            let mut payload = [0; PAYLOAD_BYTES];
            self.rng.fill_bytes(&mut payload);
            let at = self.rng.random_range(0..self.stock.len() - REPEATED_BYTES);
            payload[..REPEATED_BYTES].copy_from_slice(&self.stock[at..at + REPEATED_BYTES]);
            let station = &mut self.all[self.turn];
            // what a socket does not take now is lost
            let _ = self.hosts.send_to(&payload, (station.address, PORT));
            let mut packet = Vec::with_capacity(PAYLOAD_BYTES + 28);
            let builder = PacketBuilder::ipv4(station.address.octets(), [10, 80, 0, 1], 64).udp(PORT, PORT);
            if builder.write(&mut packet, &payload).is_ok() {
                station.node.handle_packet(now, &packet);
            }
        }
    }

    /// Does what a station has to do.
    fn serve(&mut self, at: usize) {
        let now = self.started.elapsed();
        let Some(Station { node, socket, .. }) = self.all.get_mut(at) else { return };
        while let Ok(count) = socket.recv(&mut self.buffer) {
            node.handle_datagram(now, self.gateway, 0, &mut self.buffer[..count]);
        }
        node.handle_timeout(now);
        let mut datagram = Vec::new();
        while let Some(transmit) = node.poll_transmit(now, &mut datagram) {
            transmit.seal(&mut datagram);
            let _ = socket.send_to(&datagram, transmit.to);
        }
        while node.poll_deliver(&mut datagram) {
            self.carried += datagram.len() as u64;
        }
        while node.poll_event().is_some() {}
    }
}
