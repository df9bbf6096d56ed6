//! Two connections, the channels between them, and a clock.

use crate::tcp::{Connection, Settings};
use std::net::SocketAddr;
use std::time::Duration;

pub(super) const START: Duration = Duration::from_secs(7);

/// The treatment of one packet by a channel.
#[derive(Debug, Clone, Copy)]
pub(super) enum Fate {
    Passes,
    IsLost,
    /// By so many milliseconds more than others.
    IsLate(u8),
    IsRepeated,
}

/// Packets under way in one direction.
#[derive(Debug)]
pub(super) struct Channel {
    delay: Duration,
    fates: std::vec::IntoIter<Fate>,
    under_way: Vec<(Duration, Vec<u8>)>,
}

impl Channel {
    /// The fates are those of the first packets. Later packets pass.
    pub(super) fn new(delay: Duration, fates: Vec<Fate>) -> Self {
        Channel { delay, fates: fates.into_iter(), under_way: Vec::new() }
    }

    fn send(&mut self, now: Duration, packet: &[u8]) {
        let (copies, late) = match self.fates.next().unwrap_or(Fate::Passes) {
            Fate::Passes => (1, 0),
            Fate::IsLost => (0, 0),
            Fate::IsLate(milliseconds) => (1, milliseconds),
            Fate::IsRepeated => (2, 0),
        };
        let at = now + self.delay + Duration::from_millis(late.into());
        self.under_way.extend((0..copies).map(|_| (at, packet.to_vec())));
    }

    fn next_at(&self) -> Option<Duration> {
        self.under_way.iter().map(|(at, _)| *at).min()
    }

    fn arrived(&mut self, now: Duration) -> Vec<Vec<u8>> {
        let (arrived, under_way) =
            std::mem::take(&mut self.under_way).into_iter().partition(|(at, _)| *at <= now);
        self.under_way = under_way;
        let arrived: Vec<(Duration, Vec<u8>)> = arrived;
        arrived.into_iter().map(|(_, packet)| packet).collect()
    }
}

/// A client that connects, and a server that accepts.
pub(super) struct Pair {
    pub(super) now: Duration,
    pub(super) client: Connection,
    pub(super) server: Option<Connection>,
    to_server: Channel,
    to_client: Channel,
    settings: Settings,
}

pub(super) fn settings(first_sequence: u32) -> Settings {
    Settings { mtu: 1500, receive_bytes: 20_000, send_bytes: 20_000, first_sequence }
}

pub(super) fn ends(is_v6: bool) -> [SocketAddr; 2] {
    let texts =
        if is_v6 { ["[2001:db8::1]:5000", "[2001:db8::2]:80"] } else { ["10.0.0.1:5000", "192.0.2.9:80"] };
    texts.map(|text| text.parse().unwrap())
}

impl Pair {
    pub(super) fn new(is_v6: bool, settings: Settings, to_server: Channel, to_client: Channel) -> Self {
        let [source, destination] = ends(is_v6);
        let client = Connection::connect(START, source, destination, settings);
        Pair { now: START, client, server: None, to_server, to_client, settings }
    }

    /// Over channels that lose nothing.
    pub(super) fn clean(is_v6: bool) -> Self {
        let channel = || Channel::new(Duration::from_millis(5), Vec::new());
        Self::new(is_v6, settings(3), channel(), channel())
    }

    /// Polls both, and moves on to the next event. False if there is none, or it is later than `until`.
    pub(super) fn step(&mut self, until: Duration) -> bool {
        let now = self.now;
        self.client.poll(now, &mut |packet: &[u8]| self.to_server.send(now, packet));
        if let Some(server) = &mut self.server {
            server.poll(now, &mut |packet: &[u8]| self.to_client.send(now, packet));
        }
        let next = [
            self.client.timeout(now),
            self.server.as_mut().and_then(|server| server.timeout(now)),
            self.to_server.next_at(),
            self.to_client.next_at(),
        ];
        let Some(next) = next.into_iter().flatten().min().filter(|next| *next <= until) else {
            self.now = until;
            return false;
        };
        self.now = next.max(now);
        for packet in self.to_server.arrived(self.now) {
            match &mut self.server {
                Some(server) => server.handle_packet(self.now, &packet),
                None => {
                    let settings =
                        Settings { first_sequence: !self.settings.first_sequence, ..self.settings };
                    self.server = Connection::accept(self.now, &packet, settings);
                }
            }
        }
        for packet in self.to_client.arrived(self.now) {
            self.client.handle_packet(self.now, &packet);
        }
        true
    }

    /// Steps until a condition holds. False if it does not within a time.
    pub(super) fn run(&mut self, within: Duration, mut is_done: impl FnMut(&mut Self) -> bool) -> bool {
        let until = self.now + within;
        for _ in 0..1_000_000 {
            if is_done(self) {
                return true;
            }
            if !self.step(until) {
                return is_done(self);
            }
        }
        panic!("no end of events at {:?}", self.now);
    }

    /// Opens the connection, and returns both ends.
    pub(super) fn open(&mut self) {
        use crate::tcp::State;
        assert!(self.run(Duration::from_secs(5), |pair| {
            let server = pair.server.as_ref().map(Connection::state);
            (pair.client.state(), server) == (State::Open, Some(State::Open))
        }));
    }

    pub(super) fn server(&mut self) -> &mut Connection {
        self.server.as_mut().unwrap()
    }
}

/// Reads all that came.
pub(super) fn read_all(connection: &mut Connection, into: &mut Vec<u8>) {
    while connection.readable() > 0 {
        connection.read(|bytes| {
            into.extend_from_slice(bytes);
            bytes.len()
        });
    }
}
