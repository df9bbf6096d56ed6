//! One connection of two hosts, and its model.

use crate::host::Host;
use crate::plan::{Answer, ConversationPlan};
use crate::tally::Tally;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;
use streams::tcp::{Connection, Settings, State, is_takeable_syn, write_reset};

pub const SERVER_PORT: u16 = 80;
/// The port of the first conversation's client.
pub const FIRST_PORT: u16 = 2000;
const BUFFER_BYTES: usize = 32 << 10;

pub struct Conversation {
    plan: ConversationPlan,
    /// The client and the server.
    pub hosts: [Host; 2],
    ends: [SocketAddr; 2],
    settings: [Settings; 2],
    /// One of its packets crossed the hop as it is.
    pub has_passed: bool,
}

impl Conversation {
    pub fn new(plan: ConversationPlan, seed: u64, number: u16) -> Self {
        let address = |side: usize| -> IpAddr {
            let last = side as u8 + 1;
            if plan.is_v6 {
                Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, last.into()).into()
            } else {
                Ipv4Addr::new(10, 0, 0, last).into()
            }
        };
        let ends = [
            SocketAddr::new(address(plan.opener), FIRST_PORT + number),
            SocketAddr::new(address(1 - plan.opener), SERVER_PORT),
        ];
        let key = |end: u64| (seed << 20 ^ u64::from(number) << 1 ^ end).wrapping_mul(0xd6e8_feb8_6659_fd93);
        let keys = [key(0), key(1)];
        let settings = keys.map(|key| Settings {
            mtu: 1400,
            receive_bytes: BUFFER_BYTES,
            send_bytes: BUFFER_BYTES,
            first_sequence: (key >> 32) as u32,
        });
        let hosts =
            [Host::new(plan.client.clone(), keys), Host::new(plan.server.clone(), [keys[1], keys[0]])];
        Conversation { plan, hosts, ends, settings, has_passed: false }
    }

    /// The side of the client or the server.
    pub fn side(&self, end: usize) -> usize {
        if end == 0 { self.plan.opener } else { 1 - self.plan.opener }
    }

    /// The client begins.
    pub fn connect(&mut self, now: Duration) {
        let [source, destination] = self.ends;
        let settings = self.settings[0];
        self.hosts[0]
            .connection
            .get_or_insert_with(|| Connection::connect(now, source, destination, settings));
    }

    /// Takes a packet for the client or the server. A reset that answers it.
    pub fn take_packet(&mut self, now: Duration, end: usize, packet: &[u8]) -> Option<Vec<u8>> {
        let host = &mut self.hosts[end];
        match &mut host.connection {
            Some(connection) if !matches!(connection.state(), State::Reset | State::Refused) => {
                connection.handle_packet(now, packet);
                return None;
            }
            None if end == 1 && is_takeable_syn(packet) => match self.plan.answer {
                Answer::Accepts => {
                    host.connection = Connection::accept(now, packet, self.settings[1]);
                    return None;
                }
                Answer::Silent => return None,
                Answer::Refuses => {}
            },
            _ => {}
        }
        let mut reset = Vec::new();
        write_reset(packet, &mut reset).then_some(reset)
    }

    /// A host read no more than the other wrote, and saw an end only at the end.
    pub fn check(&self, end: usize) -> Result<(), String> {
        let (host, other) = (&self.hosts[end], &self.hosts[1 - end]);
        if host.read > other.written {
            return Err(format!("{} bytes read of {} written", host.read, other.written));
        }
        let is_whole = other.is_finished && host.read == other.written;
        if host.has_ended() && !is_whole {
            return Err(format!("a false end after {} of {} bytes", host.read, other.program.bytes));
        }
        Ok(())
    }

    pub fn is_over(&self) -> bool {
        self.hosts.iter().all(Host::is_over)
    }

    /// Whether both ends ended in order.
    fn is_clean(&self) -> bool {
        self.hosts.iter().all(|host| host.state() == Some(State::Closed))
    }

    /// Whether it went as a stream from its beginning to its end in order.
    pub fn is_clean_stream(&self) -> bool {
        !self.has_passed && self.is_clean()
    }

    /// Whether nothing but a fault of ours could break it.
    fn must_be_clean(&self, is_lossy: bool, may_fill: bool) -> bool {
        let is_answered = self.plan.answer == Answer::Accepts && !may_fill;
        is_answered && !self.has_passed && !is_lossy && self.hosts.iter().all(|host| !host.has_reset)
    }

    /// At rest, every end is over, and in order unless something broke it.
    pub fn check_end(&self, is_lossy: bool, may_fill: bool) -> Result<(), String> {
        let is_half_dead = self.hosts.iter().any(Host::is_over) && (is_lossy || self.has_passed);
        if !self.is_over() && !is_half_dead {
            return Err("a connection that does not end".to_owned());
        }
        if self.must_be_clean(is_lossy, may_fill) && !self.is_clean() {
            return Err("a reset for no reason".to_owned());
        }
        Ok(())
    }

    pub fn count(&self, tally: &mut Tally) {
        tally.conversations += 1;
        tally.clean += u64::from(self.is_clean());
        tally.resets += u64::from(!self.is_clean());
        tally.passed += u64::from(self.has_passed);
        tally.bytes += self.hosts.iter().map(|host| host.read).sum::<u64>();
    }

    pub fn describe(&self) -> String {
        let host = |host: &Host| {
            let Host { written, read, is_finished, has_reset, .. } = host;
            let state = host.state();
            format!("{state:?} wrote {written} read {read} finished {is_finished} reset {has_reset}")
        };
        let Conversation { has_passed, .. } = self;
        let [client, server] = &self.hosts;
        format!("client {}, server {}, passed {has_passed}", host(client), host(server))
    }
}
