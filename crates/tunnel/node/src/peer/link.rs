//! A link: all that two nodes share from one boot of either to the next. It outlives sessions; when one of
//! the two starts anew, it begins again from nothing.

mod assembly;
mod bounds;
mod coalescer;
mod fragments;
mod no_streams;
mod outbox;
mod overflow;

pub(super) use assembly::Assembly;
pub(super) use bounds::{Agreement, Allotment};
pub(super) use coalescer::{Coalescer, Partial};
pub(super) use fragments::{Fragment, Fragments};
pub(super) use no_streams::NoStreams;
pub(super) use outbox::Outbox;
pub(super) use overflow::Overflow;

use crate::arq::{Abilities, Arq};
use crate::config::Config;
use crate::elimination::compress::Shortening;
use crate::elimination::reduce::Reduce;
use crate::elimination::restore::Restore;
use crate::features;
use crate::fec::{Fec, Outgoing};
use crate::group::Roles;
use crate::hop::Controller;
use crate::memory::start_bytes;
use crate::path::delay::PathDelay;
use crate::path::mtu::Measured;
use crate::session::transport::Ends;
use crate::snoop::TcpRepair;
use re::{Form, Parameters, Policy};
use recovery::Settings;
use std::time::Duration;
use wire::hello::{
    ANSWERS_REQUESTS, BOUNDS_STORES, CODES, COMBINES, COMPUTES_AES, HEARS_LANES, HEEDS, Hello, JOINS, LASTS,
    LENGTHENS, LISTENS, NOTIFIES, PASSES, RECOVERS, RESTORES, SEPARATES, STREAMS, UNCODES, UNCODES_ROWS,
};
use wire::repair::AROUND_SOURCE;

/// The share of the whole path's round trip within which end hosts take what comes late for reordered and not
/// for lost (RACK, RFC 8985, section 6.2).
const REORDERING_SHARE: u32 = 4;
/// The share of lost datagrams from which on no packet is cut: what sharing saves (a datagram's 50 bytes for
/// every two or three packets) is lost again with the packets of which one half was lost.
const MOST_LOSS_TO_CUT: f64 = 0.005;
/// The longest that a packet waits behind a gap.
const MAX_PATIENCE: Duration = Duration::from_millis(300);
/// Where repairs restore what the air loses, a packet waits behind a gap for at least this time, and at most.
const LEAST_CORRECTION: Duration = Duration::from_millis(12);
const MOST_CORRECTION: Duration = Duration::from_millis(40);
/// The share of the whole path's round trip for which a datagram waits to be filled at most: with eight or
/// more of them under way, the next bunch comes within it.
const FILLING_SHARE: u32 = 8;
/// The longest that one waits.
const MAX_PATIENCE_TO_FILL: Duration = Duration::from_millis(25);

/// One link with one peer. Its components belong to the peer, whose stages use them side by side.
pub struct Link {
    /// The ends that share it. In a plain tunnel packets go as they are, and nothing is told of them.
    ends: Ends,
    /// Bytes of the store with which both ends began in each direction; 0 in a plain tunnel.
    store_bytes: usize,
    /// Changes of that bound. `None`: it stays.
    pub(super) bounds: Option<Agreement>,
    /// Receipts, retransmission, requests, and order.
    pub(super) arq: Arq,
    /// Units that are restored before they would be sent again.
    pub(super) fec: Fec,
    /// How much may be under way; not where a group hears packets, and in no plain tunnel.
    pub(super) hop: Option<Controller>,
    /// Leaves out what the peer has.
    pub(super) reduce: Reduce,
    /// Puts back what we have.
    pub(super) restore: Restore,
    /// The round trip from here over the hop to the end hosts behind it.
    pub(super) path_delay: PathDelay,
    /// The repair of TCP segments.
    pub(super) tcp: TcpRepair,
    /// Datagrams that are not finished, and packets that are not whole.
    pub(super) assembly: Assembly,
    /// The parts in each other's groups.
    pub(super) roles: Roles,
    /// Why no TCP connection may cross it as a stream. None: they may.
    no_streams: Option<NoStreams>,
    /// Control messages that wait.
    pub(super) outbox: Outbox,
}

/// This node's capabilities, as its hello has them.
#[must_use]
pub fn capabilities(config: &Config) -> u32 {
    let (parameters, snoop) = (&config.reduce, config.snoop.as_ref());
    let codes = snoop.is_some_and(Settings::codes);
    LENGTHENS
        | if features::REPAIRS { UNCODES | UNCODES_ROWS | HEEDS } else { 0 }
        | RESTORES
        | PASSES
        | if config.computes_aes { COMPUTES_AES } else { 0 }
        | if snoop.is_some() { NOTIFIES } else { 0 }
        | if codes { CODES } else { 0 }
        | if config.group.is_some() { LISTENS } else { 0 }
        | if config.codes() { SEPARATES } else { 0 }
        | if config.codes() && config.mesh.forwards { COMBINES } else { 0 }
        | HEARS_LANES
        | JOINS
        | if config.streams.is_some() { STREAMS } else { 0 }
        | if config.memory.is_some() { BOUNDS_STORES } else { 0 }
        | if parameters.policy.answers_requests() { ANSWERS_REQUESTS } else { 0 }
        | if sends_again(parameters) { RECOVERS } else { 0 }
        | if lasts(parameters) { LASTS } else { 0 }
}

/// Whether this node's stores are lasting ones. Those of published systems are as published.
fn lasts(parameters: &Parameters) -> bool {
    !matches!(parameters.policy, Policy::Injected(_)) && parameters.form == Form::Compact
}

/// Whether this node retransmits lost packets. Packets in another form than the compact one may refer to
/// packets without a name, so that the sender does not know their references.
fn sends_again(parameters: &Parameters) -> bool {
    parameters.policy.repairs_losses() && parameters.form == Form::Compact
}

/// KiB that this node stores for a direction at first, as it says in its hello.
#[must_use]
pub fn store_kib(config: &Config) -> u32 {
    u32::try_from(start_bytes(config) / 1024).unwrap_or(u32::MAX)
}

impl Link {
    /// A new link of these ends with the peer that said `hello`. `shares`: this node has a group.
    /// `bytes_a_second`: its rate, if the user told it.
    #[must_use]
    pub fn new(
        config: &Config,
        ends: Ends,
        hello: &Hello,
        shares: bool,
        bytes_a_second: Option<f64>,
    ) -> Self {
        let off = (
            Parameters { policy: Policy::Off, ..config.reduce },
            Hello { store_kib: 0, capabilities: 0, ..*hello },
        );
        let (parameters, hello) = if ends.is_plain { (&off.0, &off.1) } else { (&config.reduce, hello) };
        let can = |capability: u32| hello.capabilities & capability != 0;
        let store_kib = if ends.is_plain { 0 } else { store_kib(config) };
        let store_bytes = store_kib.min(hello.store_kib) as usize * 1024;
        let no_streams = NoStreams::of(config, ends.is_plain, can(STREAMS), shares && can(LISTENS));
        let agrees = config.memory.is_some() && can(BOUNDS_STORES) && store_bytes > 0;
        let bounds = agrees.then(|| Agreement::new(store_bytes, no_streams.is_none()));
        let lasts = can(LASTS) && lasts(parameters);
        let shortening = if can(LENGTHENS) { config.shorten } else { Shortening::NONE };
        // compressed content repeats nothing that others could have heard; shared packets are compressed when
        // they are cut
        let is_heard = shares && can(LISTENS);
        let literals = shortening.literals && !is_heard;
        let shortening = Shortening { literals, ..shortening };
        let sends_again = sends_again(parameters);
        // units for a group are no sources: members have them under other sequences. What others overhear has
        // to be stored.
        let is_private = !is_heard && !config.codes();
        let corrects = config.fec && sends_again && can(RESTORES) && is_private;
        // the peer is likely configured as this node is
        let expects = config.fec && can(RESTORES) && can(RECOVERS) && config.group.is_none();
        let reduce = Reduce::new(parameters, store_bytes, lasts, shortening);
        let abilities = Abilities { answers: can(ANSWERS_REQUESTS), recovers: can(RECOVERS), sends_again };
        Link {
            ends,
            store_bytes,
            bounds,
            arq: Arq::new(abilities),
            fec: Fec::new(corrects, expects),
            hop: (config.controls_queue && !ends.is_plain && is_private)
                .then(|| Controller::new(bytes_a_second, sends_again)),
            reduce: if can(PASSES) && is_private { reduce.with_passing() } else { reduce },
            restore: Restore::new(
                hello.window_bytes.into(),
                hello.sample_bits.into(),
                store_bytes,
                lasts,
                parameters.form,
            ),
            path_delay: PathDelay::default(),
            tcp: TcpRepair::new(config.snoop.as_ref(), hello.capabilities, sends_again, can(RECOVERS)),
            assembly: Assembly::new(can(JOINS), config.boost && config.shorten.packing),
            roles: Roles::new(hello.capabilities, config.codes()),
            no_streams,
            outbox: Outbox::default(),
        }
    }

    /// The ends that share it.
    #[must_use]
    pub fn ends(&self) -> Ends {
        self.ends
    }

    /// Whether TCP connections may cross it as streams.
    #[must_use]
    pub fn carries_streams(&self) -> bool {
        self.no_streams.is_none()
    }

    /// Why they may not. None: they may.
    #[must_use]
    pub fn no_streams(&self) -> Option<NoStreams> {
        self.no_streams
    }

    /// The peer's boot.
    #[must_use]
    pub fn peer_boot(&self) -> u64 {
        self.ends.peer_boot
    }

    /// Whether nothing is in common but the plain tunnel.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.ends.is_plain
    }

    /// Bytes of the store with which both ends began in each direction.
    #[must_use]
    pub fn store_bytes(&self) -> usize {
        self.store_bytes
    }

    /// A datagram begins, with this left over from the one before: the link sequence under which it travels.
    pub fn begin_datagram(
        &mut self,
        now: Duration,
        left_over: Option<&Overflow>,
        processor_is_short: bool,
    ) -> u64 {
        self.reduce.set_losses_repaired(self.arq.repairs_losses());
        self.reduce.set_processor_short(processor_is_short);
        left_over.and_then(Overflow::own_sequence).unwrap_or_else(|| self.arq.next_sequence(now))
    }

    /// Time for which a packet waits behind a gap: until it would be too late for the end hosts, if the gap
    /// is likely to close by then, and otherwise zero. Where the hop is most of the path, waiting would only
    /// delay acknowledgments. The senders would have repaired the loss as soon. The late packet in the gap
    /// then undoes their change of the window. On a young link it waits for the repair, because a window that
    /// shrinks in slow start costs seconds.
    #[must_use]
    pub fn patience(&self) -> Duration {
        let (Some(repair), Some(path)) = (self.arq.repair_time(), self.path_delay.shortest()) else {
            return Duration::ZERO;
        };
        if self.fec.incoming.is_young() {
            return (path * 5 / 4 + LEAST_CORRECTION).min(MAX_PATIENCE);
        }
        let in_time = (path / REORDERING_SHARE).min(MAX_PATIENCE);
        if self.fec.incoming.restores() {
            return in_time.clamp(LEAST_CORRECTION, MOST_CORRECTION);
        }
        if repair <= in_time { in_time } else { Duration::ZERO }
    }

    /// Whether packets that wait are not to leave yet, because as much is under way as may be.
    pub fn holds_packets(&mut self, now: Duration) -> bool {
        self.hop.as_mut().is_some_and(|hop| !hop.admits(now))
    }

    /// For how long a datagram waits to be filled.
    #[must_use]
    pub fn patience_to_fill(&self) -> Duration {
        let path = self.path_delay.shortest().or(self.arq.srtt());
        path.map_or(Duration::ZERO, |path| (path / FILLING_SHARE).min(MAX_PATIENCE_TO_FILL))
    }

    /// Whether TCP segments that the hop loses are left to the hop's own repair: it does so, and nearly all
    /// of the way from here to the receiver is the hop. An acknowledgment that shows a loss then comes no
    /// sooner than the hop's own word of it; to hide it from the sender while the hop repairs it only stops
    /// the sender's clock.
    #[must_use]
    pub fn leaves_segments_to_hop(&self) -> bool {
        self.arq.repairs_losses() && self.patience().is_zero()
    }

    /// Whether packets are cut where a datagram ends: all datagrams of a row are then of one length, which
    /// the kernel sends with one call. Not where the air loses much, because what travels in two datagrams is
    /// lost with either; but a boosted sender loses more by datagrams that are not full.
    #[must_use]
    pub fn cuts(&self) -> bool {
        let loses_little = || self.arq.loss().is_none_or(|loss| loss < MOST_LOSS_TO_CUT);
        self.assembly.peer_joins() && (self.assembly.coalesces() || loses_little())
    }

    /// Bytes that a datagram leaves free, so that a repair of it is no longer than the path carries.
    #[must_use]
    pub fn repair_bytes(&self) -> usize {
        let is_repaired = self.fec.outgoing.as_ref().is_some_and(Outgoing::is_on);
        if is_repaired { AROUND_SOURCE } else { 0 }
    }

    /// Bytes of memory beside stores.
    #[must_use]
    pub fn other_memory_bytes(&self) -> usize {
        let cache = self.roles.listener().map_or(0, |listener| listener.memory_bytes());
        let stages = self.reduce.other_memory_bytes() + self.restore.other_memory_bytes();
        stages + self.arq.memory_bytes() + self.fec.memory_bytes() + self.tcp.memory_bytes() + cache
    }

    /// Loses what is stored of packets from the peer, and tells it so.
    pub fn forget_received(&mut self) {
        self.restore.forget();
        self.arq.forget_received();
        self.outbox.note_flush();
    }

    /// When a receipt goes out on its own.
    #[must_use]
    pub fn receipt_at(&self) -> Option<Duration> {
        if self.ends.is_plain { None } else { self.arq.receipt_at() }
    }

    /// Whether something waits to be said beside packets.
    #[must_use]
    pub fn has_to_say(&self) -> bool {
        !self.outbox.is_empty() || self.tcp.waiting() > 0 || self.arq.has_repair()
    }

    /// When the peer is told what came, or something of groups, though no packet leaves.
    #[must_use]
    pub fn tells_at(&self) -> Option<Duration> {
        let bounds = self.bounds.as_ref().and_then(Agreement::tells_at);
        self.receipt_at().into_iter().chain(self.roles.tell_at()).chain(bounds).min()
    }

    /// When the peer is asked for what is missing, or told to send it again.
    #[must_use]
    pub fn asks_at(&self) -> Option<Duration> {
        [self.arq.ask_at(), self.tcp.notice_at()].into_iter().flatten().min()
    }

    /// Measurements of the path.
    #[must_use]
    pub fn measured(&self) -> Measured {
        Measured { srtt: self.arq.srtt(), loss: self.arq.loss() }
    }
}
