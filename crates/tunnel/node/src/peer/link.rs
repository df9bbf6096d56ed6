//! A link: all that two nodes share from one boot of either to the next. It outlives sessions; when one of
//! the two starts anew, it begins again from nothing.

mod assembly;
mod coalescer;
mod fragments;
mod outbox;
mod overflow;
mod store_sizes;

pub(super) use assembly::Assembly;
pub(super) use coalescer::{Coalescer, Partial};
pub(super) use fragments::{Fragment, Fragments};
pub(super) use outbox::Outbox;
pub(super) use overflow::Overflow;
pub use store_sizes::Sizes;
use store_sizes::StoreSizes;

use crate::arq::{Abilities, Arq};
use crate::config::Config;
use crate::elimination::compress::Shortening;
use crate::elimination::reduce::{Reduce, Restore};
use crate::group::Roles;
use crate::path::delay::PathDelay;
use crate::path::mtu::Measured;
use crate::session::transport::Ends;
use crate::snoop::TcpRepair;
use re::{Form, Keeping, Parameters, Policy};
use recovery::Settings;
use std::time::Duration;
use wire::hello::{
    ANSWERS_REQUESTS, CODES, COMBINES, COMPUTES_AES, HEARS_LANES, HEEDS, Hello, JOINS, KEEPS_APART,
    LENGTHENS, LISTENS, NOTIFIES, RECOVERS, SEPARATES, UNCODES, UNCODES_ROWS,
};
use wire::stores::Stores;

/// The share of the whole path's round trip within which end hosts take what comes late for reordered and not
/// for lost (RACK, RFC 8985, section 6.2).
const REORDERING_SHARE: u32 = 4;
/// The share of lost datagrams from which on no packet is cut: what sharing saves (a datagram's 50 bytes for
/// every two or three packets) is lost again with the packets of which one half was lost.
const MOST_LOSS_TO_CUT: f64 = 0.005;
/// The longest that a packet waits behind a gap.
const MAX_PATIENCE: Duration = Duration::from_millis(300);
/// The share of the whole path's round trip for which a datagram waits to be filled at most: with eight or
/// more of them under way, the next bunch comes within it.
const FILLING_SHARE: u32 = 8;
/// The longest that one waits.
const MAX_PATIENCE_TO_FILL: Duration = Duration::from_millis(25);

/// One link with one peer. Its components belong to the peer, whose stages use them side by side.
pub struct Link {
    /// The ends that share it. In a plain tunnel packets go as they are, and nothing is told of them.
    ends: Ends,
    /// Sizes of the stores of both directions; 0 in a plain tunnel.
    sizes: StoreSizes,
    /// Receipts, retransmission, requests, and order.
    pub(super) arq: Arq,
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
    /// Control messages that wait.
    pub(super) outbox: Outbox,
}

/// This node's capabilities, as its hello has them.
#[must_use]
pub fn capabilities(config: &Config) -> u32 {
    let (parameters, snoop) = (&config.reduce, config.snoop.as_ref());
    let codes = snoop.is_some_and(Settings::codes);
    LENGTHENS
        | UNCODES
        | UNCODES_ROWS
        | HEEDS
        | if parameters.keeping() == Keeping::Apart { KEEPS_APART } else { 0 }
        | if config.computes_aes { COMPUTES_AES } else { 0 }
        | if snoop.is_some() { NOTIFIES } else { 0 }
        | if codes { CODES } else { 0 }
        | if config.group.is_some() { LISTENS } else { 0 }
        | if config.codes() { SEPARATES } else { 0 }
        | if config.codes() && config.mesh.forwards { COMBINES } else { 0 }
        | HEARS_LANES
        | JOINS
        | if parameters.policy.answers_requests() { ANSWERS_REQUESTS } else { 0 }
        | if sends_again(parameters) { RECOVERS } else { 0 }
}

/// Whether this node retransmits lost packets. Packets in another form than the compact one may refer to
/// packets without a name, so that the sender does not know their references.
fn sends_again(parameters: &Parameters) -> bool {
    parameters.policy.repairs_losses() && parameters.form == Form::Compact
}

impl Link {
    /// A new link of these ends with the peer that said `hello`, with the smaller `store_kib` of both hellos.
    /// `shares`: this node has a group.
    #[must_use]
    pub fn new(config: &Config, ends: Ends, hello: &Hello, shares: bool) -> Self {
        let off = (
            Parameters { policy: Policy::Off, ..config.reduce },
            Hello { store_kib: 0, capabilities: 0, ..*hello },
        );
        let (parameters, hello) = if ends.is_plain { (&off.0, &off.1) } else { (&config.reduce, hello) };
        let can = |capability: u32| hello.capabilities & capability != 0;
        let keeping = if can(KEEPS_APART) { parameters.keeping() } else { Keeping::Together };
        let parameters = &Parameters { keeping, ..*parameters };
        let store_bytes = hello.store_kib as usize * 1024;
        let shortening = if can(LENGTHENS) { config.shorten } else { Shortening::NONE };
        // compressed content repeats nothing that others could have heard; shared packets are compressed when
        // they are cut
        let literals = shortening.literals && !(shares && can(LISTENS));
        let shortening = Shortening { literals, ..shortening };
        let sends_again = sends_again(parameters);
        let abilities = Abilities { answers: can(ANSWERS_REQUESTS), recovers: can(RECOVERS), sends_again };
        Link {
            ends,
            sizes: StoreSizes::new(hello.store_kib, keeping == Keeping::Apart),
            arq: Arq::new(abilities),
            reduce: Reduce::new(parameters, store_bytes, shortening),
            restore: Restore::new(
                hello.window_bytes.into(),
                hello.sample_bits.into(),
                store_bytes,
                parameters,
            ),
            path_delay: PathDelay::default(),
            tcp: TcpRepair::new(config.snoop.as_ref(), hello.capabilities, sends_again, can(RECOVERS)),
            assembly: Assembly::new(can(JOINS), config.boost && config.shorten.packing),
            roles: Roles::new(hello.capabilities, config.codes()),
            outbox: Outbox::default(),
        }
    }

    /// The ends that share it.
    #[must_use]
    pub fn ends(&self) -> Ends {
        self.ends
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

    /// Sizes of the stores of both directions.
    #[must_use]
    pub fn store_sizes(&self) -> Sizes {
        self.sizes.now()
    }

    /// Whether the stores may have other sizes than those of the hellos.
    #[must_use]
    pub fn resizes(&self) -> bool {
        self.sizes.is_live()
    }

    /// The sizes of them that this node's memory has room for.
    #[must_use]
    pub fn wanted_stores(&self) -> Sizes {
        self.sizes.wanted()
    }

    /// Bytes of memory of the sender's and the receiver's store.
    #[must_use]
    pub fn memory_bytes(&self) -> [usize; 2] {
        [self.reduce.memory_bytes(), self.restore.memory_bytes()]
    }

    /// This node's memory has room for stores of these sizes.
    pub fn want_stores(&mut self, now: Duration, wanted: Sizes) {
        let before = self.sizes.now();
        let sizes = self.sizes.want(now, wanted);
        self.resize(before, sizes);
    }

    /// Takes what the peer says of the sizes.
    pub fn take_stores(&mut self, frame: &Stores) {
        let before = self.sizes.now();
        let sizes = self.sizes.take(frame);
        self.resize(before, sizes);
    }

    /// Does what is due for the sizes.
    pub fn expire_stores(&mut self, now: Duration) {
        let before = self.sizes.now();
        let sizes = self.sizes.handle_timeout(now);
        self.resize(before, sizes);
    }

    /// What is to be said of the sizes.
    pub fn next_stores(&mut self) -> Option<Stores> {
        self.sizes.take_frame()
    }

    fn resize(&mut self, before: Sizes, now: Sizes) {
        if now.kept_kib != before.kept_kib {
            self.restore.set_store_bytes(now.kept_kib as usize * 1024);
        }
        if now.used_kib != before.used_kib {
            self.reduce.set_store_bytes(now.used_kib as usize * 1024);
        }
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
    /// then undoes their change of the window.
    #[must_use]
    pub fn patience(&self) -> Duration {
        let (Some(repair), Some(path)) = (self.arq.repair_time(), self.path_delay.shortest()) else {
            return Duration::ZERO;
        };
        let in_time = (path / REORDERING_SHARE).min(MAX_PATIENCE);
        if repair <= in_time { in_time } else { Duration::ZERO }
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
        !self.outbox.is_empty() || self.sizes.has_to_say() || self.tcp.waiting() > 0 || self.arq.has_repair()
    }

    /// When the peer is told what came, or something of groups, though no packet leaves.
    #[must_use]
    pub fn tells_at(&self) -> Option<Duration> {
        self.receipt_at().into_iter().chain(self.roles.tell_at()).min()
    }

    /// When the peer is asked for what is missing, or told to send it again.
    #[must_use]
    pub fn asks_at(&self) -> Option<Duration> {
        [self.arq.ask_at(), self.tcp.notice_at()].into_iter().flatten().min()
    }

    /// When [`Link::expire_stores`] has something to do.
    #[must_use]
    pub fn stores_expire_at(&self) -> Option<Duration> {
        self.sizes.timeout()
    }

    /// Measurements of the path.
    #[must_use]
    pub fn measured(&self) -> Measured {
        Measured { srtt: self.arq.srtt(), loss: self.arq.loss() }
    }
}
