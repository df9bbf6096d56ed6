//! One end of a host's connection.

mod bytes;
mod repair;
mod timers;
mod undelivered;

use super::device::Device;
use super::filter::{Verdict, judge};
use super::seed;
use super::segment::{Segment, ahead, flag, is_unicast, shorten};
use super::sent::Sent;
use super::syn::is_takeable;
use super::watch::Watch;
use super::{Settings, State};
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::socket::tcp;
use smoltcp::time::Instant;
use smoltcp::wire::{HardwareAddress, IpCidr};
use std::collections::VecDeque;
use std::mem;
use std::net::SocketAddr;
use std::time::Duration;

const ACK_DELAY: smoltcp::time::Duration = smoltcp::time::Duration::from_millis(10);
/// Most packets of one poll; the next poll is due at once.
const PACKETS_PER_POLL: usize = 1024;
/// Most answers that wait for a poll.
const MAX_REPLIES: usize = 64;

/// One end of a host's TCP connection.
///
/// The bytes of [`Self::read`] are those that the host sent, the bytes of [`Self::write`] those that it gets.
pub struct Connection {
    interface: Interface,
    sockets: SocketSet<'static>,
    handle: SocketHandle,
    ours: SocketAddr,
    host: SocketAddr,
    mtu: usize,
    state: State,
    now: Duration,
    began: Duration,
    watch: Watch,
    sent: Sent,
    /// The sequence number of the host's first byte, once its SYN came.
    first: Option<u32>,
    /// Bytes read, modulo 2^32.
    consumed: u32,
    /// The host's furthest acknowledgment number.
    acknowledged: Option<u32>,
    /// The window field of the host's last segment, SYN excepted.
    host_window: Option<u16>,
    has_host_finished: bool,
    is_finishing: bool,
    /// smoltcp has nothing more to do.
    is_at_rest: bool,
    /// An acknowledgment is due, unless more packets than this were emitted.
    owed: Option<u64>,
    replies: VecDeque<Vec<u8>>,
    incoming: Vec<u8>,
    space: Vec<u8>,
}

impl Connection {
    /// Takes the connection that a host begins with this SYN, an IP packet of either version.
    ///
    /// None if [`is_takeable_syn`](super::is_takeable_syn) says no. The SYN|ACK leaves with the first poll.
    #[must_use]
    pub fn accept(now: Duration, syn: &[u8], settings: Settings) -> Option<Self> {
        let segment = Segment::parse(syn).filter(is_takeable)?;
        let mut connection = Self::new(now, segment.destination, segment.source, settings);
        connection.socket().listen(segment.destination).ok()?;
        connection.ingest(syn);
        connection.first = Some(segment.end());
        (connection.tcp().state() == tcp::State::SynReceived).then_some(connection)
    }

    /// Begins a connection to `destination`, as `source`. The SYN leaves with the first poll.
    ///
    /// It is refused at once if the addresses differ in version, or one is not unicast or has port 0.
    #[must_use]
    pub fn connect(now: Duration, source: SocketAddr, destination: SocketAddr, settings: Settings) -> Self {
        let ends = [source, destination].map(|end| SocketAddr::new(end.ip(), end.port()));
        let [source, destination] = ends;
        let mut connection = Self::new(now, source, destination, settings);
        let context = connection.interface.context();
        let socket = connection.sockets.get_mut::<tcp::Socket>(connection.handle);
        let is_begun = ends.iter().all(|end| is_unicast(end.ip()))
            && socket.connect(context, destination, source).is_ok();
        if !is_begun {
            connection.state = State::Refused;
            connection.is_at_rest = true;
        }
        connection
    }

    fn new(now: Duration, ours: SocketAddr, host: SocketAddr, settings: Settings) -> Self {
        let mtu = settings.mtu.clamp(576, usize::from(u16::MAX));
        let receive_bytes = settings.receive_bytes.clamp(1, 1 << 30);
        let buffer = |bytes: usize| tcp::SocketBuffer::new(vec![0; bytes]);
        let mut socket = tcp::Socket::new(buffer(receive_bytes), buffer(settings.send_bytes.max(1)));
        socket.set_nagle_enabled(false);
        socket.set_ack_delay(Some(ACK_DELAY));
        // smoltcp 0.12 computes this window, and then sends whatever the host's window allows.
        socket.set_congestion_control(tcp::CongestionControl::Cubic);
        let mut sockets = SocketSet::new(Vec::with_capacity(1));
        let handle = sockets.add(socket);
        Connection {
            interface: interface(now, ours, mtu, seed::drawing(settings.first_sequence)),
            sockets,
            handle,
            ours,
            host,
            mtu,
            state: State::Opening,
            now,
            began: now,
            watch: Watch::new(now),
            sent: Sent::default(),
            first: None,
            consumed: 0,
            acknowledged: None,
            host_window: None,
            has_host_finished: false,
            is_finishing: false,
            is_at_rest: false,
            owed: None,
            replies: VecDeque::new(),
            incoming: Vec::new(),
            space: Vec::new(),
        }
    }

    /// Takes a packet of this flow from the host. Anything else is ignored.
    pub fn handle_packet(&mut self, now: Duration, packet: &[u8]) {
        self.now = self.now.max(now);
        let Some(segment) = Segment::parse(packet) else { return };
        if (segment.source, segment.destination) != (self.host, self.ours) {
            return;
        }
        let is_old = self.expected().is_some_and(|expected| ahead(segment.sequence, expected) < 0);
        match self.state {
            State::Opening | State::Open => self.handle_segment(packet, &segment),
            // The host repeats its FIN or probes: our last acknowledgment was lost.
            State::Closed if is_old && !segment.has(flag::RST) => self.owed = Some(self.sent.packets),
            State::Closed | State::Refused | State::Reset => {}
        }
    }

    fn handle_segment(&mut self, packet: &[u8], segment: &Segment) {
        let verdict = judge(segment, self.expected(), &self.sent);
        if verdict == Verdict::Drop {
            return;
        }
        self.watch.hear(self.now);
        if matches!(verdict, Verdict::TakeAndAnswer | Verdict::Trim(_) | Verdict::Answer) {
            self.owed = Some(self.sent.packets);
        }
        if verdict == Verdict::Answer {
            return;
        }
        self.note_acknowledgment(segment);
        let before = self.tcp().state();
        match verdict {
            Verdict::Trim(keep) => {
                let mut trimmed = mem::take(&mut self.incoming);
                trimmed.clear();
                trimmed.extend_from_slice(packet);
                shorten(&mut trimmed, segment.tcp_offset, segment.payload_offset + keep);
                self.ingest(&trimmed);
                self.incoming = trimmed;
            }
            _ => self.ingest(packet),
        }
        if before == tcp::State::SynSent && self.tcp().state() == tcp::State::Established {
            self.first = Some(segment.sequence.wrapping_add(1));
            self.sent.note_answer(segment.sequence, segment.window_shift().is_some());
        }
        self.settle(before, segment.has(flag::RST));
    }

    /// Takes note of the host's acknowledgment of bytes that were sent.
    fn note_acknowledgment(&mut self, segment: &Segment) {
        let (Some(number), Some(next)) = (segment.acknowledgment, self.sent.next) else { return };
        let advance = self.acknowledged.map_or(1, |acknowledged| ahead(number, acknowledged));
        if ahead(number, next) > 0 || advance < 0 || segment.has(flag::RST) {
            return;
        }
        if advance > 0 {
            self.acknowledged = Some(number);
            self.watch.advance(self.now);
        }
        if !segment.has(flag::SYN) {
            self.host_window = Some(segment.window);
        }
    }

    /// Draws the conclusions from smoltcp's states before and after a segment of the host.
    fn settle(&mut self, before: tcp::State, is_reset: bool) {
        use tcp::State as Tcp;
        let after = self.tcp().state();
        self.has_host_finished |=
            matches!(after, Tcp::CloseWait | Tcp::LastAck | Tcp::Closing | Tcp::TimeWait);
        self.state = match after {
            Tcp::SynSent | Tcp::SynReceived => State::Opening,
            Tcp::Closed if before == Tcp::SynSent => State::Refused,
            Tcp::Closed if before == Tcp::LastAck && !is_reset => State::Closed,
            Tcp::Closed | Tcp::Listen => State::Reset,
            Tcp::TimeWait => State::Closed,
            _ => State::Open,
        };
        self.is_at_rest = matches!(after, Tcp::Closed | Tcp::Listen | Tcp::TimeWait);
        if after == Tcp::TimeWait {
            self.owed = Some(self.sent.packets);
        }
        if self.is_finishing && self.state == State::Open {
            self.socket().close();
        }
    }

    /// Hands a packet to smoltcp. Its answer waits for the next poll.
    fn ingest(&mut self, packet: &[u8]) {
        let (sent, replies) = (&mut self.sent, &mut self.replies);
        let mut emit = |reply: &[u8]| {
            sent.note(reply);
            if replies.len() < MAX_REPLIES {
                replies.push_back(reply.to_vec());
            }
        };
        let mut device =
            Device { mtu: self.mtu, incoming: Some(packet), space: &mut self.space, emit: &mut emit };
        self.interface.poll_ingress_single(instant(self.now), &mut device, &mut self.sockets);
    }

    /// Does what is due, and emits whole IP packets for the host.
    pub fn poll(&mut self, now: Duration, emit: &mut (impl FnMut(&[u8]) + ?Sized)) {
        self.now = self.now.max(now);
        self.watch.wait(self.now, self.is_unacknowledged());
        if self.gives_up_at().is_some_and(|at| at <= self.now) {
            self.abort();
        } else if self.prods_at().is_some_and(|at| at <= self.now) {
            self.prod(&mut |packet: &[u8]| emit(packet));
        }
        for reply in self.replies.drain(..) {
            emit(&reply);
        }
        if !self.is_at_rest {
            self.emit_due(emit);
        }
        let is_answering = matches!(self.state, State::Open | State::Closed);
        if self.owed.take() == Some(self.sent.packets) && is_answering {
            self.emit_acknowledgment(&mut |packet: &[u8]| emit(packet));
        }
    }

    fn emit_due(&mut self, emit: &mut (impl FnMut(&[u8]) + ?Sized)) {
        let segments_before = self.sent.segments;
        let sent = &mut self.sent;
        for _ in 0..PACKETS_PER_POLL {
            let packets_before = sent.packets;
            let mut emit = |packet: &[u8]| {
                sent.note(packet);
                emit(packet);
            };
            let mut device =
                Device { mtu: self.mtu, incoming: None, space: &mut self.space, emit: &mut emit };
            self.interface.poll_egress(instant(self.now), &mut device, &mut self.sockets);
            if sent.packets == packets_before {
                break;
            }
        }
        if self.sent.segments != segments_before {
            self.watch.send(self.now);
        }
        self.is_at_rest = self.state == State::Reset;
    }
}

/// An interface with our address, whose packets have at most `mtu` bytes.
fn interface(now: Duration, ours: SocketAddr, mtu: usize, seed: u64) -> Interface {
    let mut config = Config::new(HardwareAddress::Ip);
    config.random_seed = seed;
    let mut device = Device { mtu, incoming: None, space: &mut Vec::new(), emit: &mut |_| {} };
    let mut interface = Interface::new(config, &mut device, instant(now));
    if is_unicast(ours.ip()) {
        let prefix_bits = if ours.is_ipv4() { 32 } else { 128 };
        let address = IpCidr::new(ours.ip().into(), prefix_bits);
        interface.update_ip_addrs(|addresses| addresses.extend([address]));
    }
    interface
}

/// A time for smoltcp, in microseconds. Far ones are the same, so that timers can be added.
fn instant(at: Duration) -> Instant {
    Instant::from_micros(i64::try_from(at.as_micros()).unwrap_or(i64::MAX).min(i64::MAX / 4))
}
