//! A link: all that two nodes share from one boot of either to the next. It outlives sessions; when one of
//! the two starts anew, it begins again from nothing.

use crate::config::Config;
use crate::group::coding::{Named, Reports};
use crate::group::{Listener, Member};
use crate::path::delay::PathDelay;
use crate::path::mtu::Measured;
mod coalescer;
mod fragments;
mod overflow;

pub use coalescer::{Coalescer, Partial};
pub use fragments::{Fragment, Fragments};
pub use overflow::Overflow;

use crate::arq::nack::Nack;
use crate::arq::receipts::{GAP_TOLD_AFTER, Outstanding, Received};
use crate::arq::reorder::Reorder;
use crate::arq::sender::Sender;
use crate::elimination::compress::Shortening;
use crate::elimination::reduce::{Reduce, Restore};
use re::{Form, Parameters, Policy};
use recovery::{History, Settings, Snoop, Undoes, Upstream};
use std::collections::VecDeque;
use std::time::Duration;
use wire::hello::{
    ANSWERS_REQUESTS, CODES, COMBINES, COMPUTES_AES, HEARS_LANES, HEEDS, Hello, JOINS, LENGTHENS, LISTENS,
    NOTIFIES, RECOVERS, SEPARATES, UNCODES, UNCODES_ROWS,
};
use wire::unit::PLAIN;

/// Replies that wait to be sent at once.
const MAX_REPLIES: usize = 256;
/// Answers to pings that wait to be sent at once.
const MAX_PONGS: usize = 8;
/// The share of the whole path's round trip within which end hosts take what comes late for reordered and not
/// for lost (RACK, RFC 8985, section 6.2).
const REORDERING_SHARE: u32 = 4;
/// The share of lost datagrams from which on no packet is cut: what sharing saves (a datagram's 50 bytes for
/// every two or three packets) is lost again with the packets of which one half was lost.
const MOST_LOSS_TO_CUT: f64 = 0.005;
/// The longest that a packet waits behind a gap.
const MAX_PATIENCE: Duration = Duration::from_millis(300);
/// Letters to another gateway that wait at once.
const MAX_LETTERS: usize = 512;
/// A first guess of the round trip, until it is measured.
const UNKNOWN_ROUND_TRIP: Duration = Duration::from_millis(200);

/// One link with one peer.
pub struct Link {
    /// The peer's boot.
    pub peer_boot: u64,
    /// Nothing is in common but the plain tunnel: packets go as they are, and nothing is told of them.
    pub is_plain: bool,
    /// Bytes of the store that both ends use for each direction; 0 in a plain tunnel.
    pub store_bytes: usize,
    /// Sequences that were sent.
    pub outstanding: Outstanding,
    /// Sequences that arrived.
    pub received: Received,
    /// Leaves out what the peer has.
    pub reduce: Reduce,
    /// Puts back what we have.
    pub restore: Restore,
    /// Parks packets that cannot be restored yet, and requests their references; only if the peer answers
    /// requests or retransmits by itself.
    pub nack: Option<Nack>,
    /// Keeps what is not confirmed, to send it again; only under a policy that wants it.
    pub sender: Option<Sender>,
    /// Hands packets on in order; only if the peer sends again what is lost.
    pub reorder: Option<Reorder>,
    /// Repairs TCP segments that the hop lost; only if the configuration enables it, or the peer reports such
    /// segments.
    pub snoop: Option<Snoop>,
    /// Watches TCP flows from the peer, to tell it what the hop lost; only if the configuration wants it, and
    /// the peer does not know by receipts.
    pub upstream: Option<Upstream>,
    /// Coded repairs that wait to be sent, with their traffic classes.
    pub coded: VecDeque<(u8, Vec<u8>)>,
    /// Recently delivered packets; only if the peer may send coded repairs.
    pub history: Option<History>,
    /// The round trip from here over the hop to the end hosts behind it.
    pub path_delay: PathDelay,
    /// A packet's frame that waits for the next datagram.
    pub overflow: Option<Overflow>,
    /// Whether a datagram waits to be filled; only where senders are boosted.
    pub coalescer: Option<Coalescer>,
    /// The datagram that waits to be filled.
    pub partial: Option<Partial>,
    /// Whether the peer joins packets that were cut.
    pub peer_joins: bool,
    /// Packets that were cut, and of which the rest is to come.
    pub fragments: Fragments,
    /// The peer is a station of this node's group.
    pub member: Option<Member>,
    /// This node is a station of the peer's group.
    pub listener: Option<Listener>,
    /// Bytes of the last packet's frame: the next one's are likely about as many.
    pub usual_frame_bytes: usize,
    /// A receipt is due and did not fit into the datagram before.
    pub receipt_had_no_room: bool,
    /// The peer becomes a member of groups.
    pub listens: bool,
    /// The peer takes apart natives that share a frame.
    pub separates: bool,
    /// It sends such.
    pub combines: bool,
    /// So this node keeps its packets to it, and reports overheard packets.
    pub tells_of_natives: bool,
    /// Unreported packets.
    pub reports: Reports,
    /// Names of its packets for overhearers.
    pub named: Named,
    /// Control frames for it that wait: what gateways say to each other.
    pub letters: VecDeque<Vec<u8>>,
    /// Sequences that the peer asked for.
    pub replies: VecDeque<u64>,
    /// Pings to be answered.
    pub pongs: VecDeque<[u8; 8]>,
    /// Our store was lost and the peer is to be told.
    pub flushed: bool,
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

/// Codings that a peer with these capabilities undoes.
fn undoes(capabilities: u32) -> Undoes {
    match [UNCODES_ROWS, UNCODES].map(|it| capabilities & it != 0) {
        [true, true] => Undoes::Rows,
        [false, true] => Undoes::Sums,
        _ => Undoes::Nothing,
    }
}

/// Whether this node retransmits lost packets. Packets in another form than the compact one may refer to
/// packets without a name, so that the sender does not know their references.
pub(crate) fn sends_again(parameters: &Parameters) -> bool {
    parameters.policy.repairs_losses() && parameters.form == Form::Compact
}

/// Bytes that this node stores for a direction, as it says in its hello.
#[must_use]
pub fn store_kib(parameters: &Parameters) -> u32 {
    u32::try_from(parameters.store_bytes / 1024).unwrap_or(u32::MAX)
}

impl Link {
    /// A new link with the peer that said `hello`, in a session of this version, of a node that shares or
    /// does not, and repairs TCP segments or does not.
    #[must_use]
    pub fn new(
        parameters: &Parameters,
        shortening: Shortening,
        hello: &Hello,
        version: u8,
        shares: bool,
        snoop_settings: Option<&Settings>,
    ) -> Self {
        let is_plain = version == PLAIN;
        let off = (
            Parameters { policy: Policy::Off, ..*parameters },
            Hello { store_kib: 0, capabilities: 0, ..*hello },
        );
        let (parameters, hello) = if is_plain { (&off.0, &off.1) } else { (parameters, hello) };
        let store_bytes = store_kib(parameters).min(hello.store_kib) as usize * 1024;
        let (answers, recovers) =
            (hello.capabilities & ANSWERS_REQUESTS != 0, hello.capabilities & RECOVERS != 0);
        let shortening = if hello.capabilities & LENGTHENS != 0 { shortening } else { Shortening::NONE };
        // compressed content repeats nothing that others could have heard; shared packets are compressed when
        // they are cut
        let literals = shortening.literals && !(shares && hello.capabilities & LISTENS != 0);
        let shortening = Shortening { literals, ..shortening };
        let snoop = match snoop_settings {
            Some(settings) => Some(Snoop::new(settings, undoes(hello.capabilities))),
            None => {
                let is_told = hello.capabilities & NOTIFIES != 0 && !sends_again(parameters);
                is_told.then(Snoop::heeding_notices)
            }
        };
        let tells = snoop_settings.is_some() && hello.capabilities & HEEDS != 0 && !recovers;
        Link {
            peer_boot: hello.boot,
            is_plain,
            store_bytes,
            outstanding: Outstanding::default(),
            received: Received::new(recovers),
            reduce: Reduce::new(parameters, store_bytes, shortening),
            restore: Restore::new(
                hello.window_bytes.into(),
                hello.sample_bits.into(),
                store_bytes,
                parameters.form,
            ),
            nack: (answers || recovers).then(|| Nack::new(answers)),
            sender: sends_again(parameters).then(Sender::default),
            reorder: recovers.then(Reorder::default),
            snoop,
            upstream: tells.then(Upstream::default),
            coded: VecDeque::new(),
            history: (hello.capabilities & CODES != 0).then(History::default),
            path_delay: PathDelay::default(),
            overflow: None,
            coalescer: None,
            partial: None,
            peer_joins: hello.capabilities & JOINS != 0,
            fragments: Fragments::default(),
            member: None,
            listener: None,
            usual_frame_bytes: usize::MAX,
            receipt_had_no_room: false,
            listens: !is_plain && hello.capabilities & LISTENS != 0,
            separates: !is_plain && hello.capabilities & SEPARATES != 0,
            combines: !is_plain && hello.capabilities & COMBINES != 0,
            tells_of_natives: false,
            reports: Reports::default(),
            named: Named::default(),
            letters: VecDeque::new(),
            replies: VecDeque::new(),
            pongs: VecDeque::new(),
            flushed: false,
        }
    }

    /// A datagram begins, with this left over from the one before: the link sequence under which it travels.
    pub fn begin_datagram(
        &mut self,
        now: Duration,
        left_over: Option<&Overflow>,
        processor_is_short: bool,
    ) -> u64 {
        self.reduce.set_losses_repaired(self.repairs_losses());
        self.reduce.set_processor_short(processor_is_short);
        left_over.and_then(Overflow::own_sequence).unwrap_or_else(|| self.outstanding.send(now))
    }

    /// Whether what is lost now is sent again from here: as soon as it is known how long that takes.
    #[must_use]
    pub fn repairs_losses(&self) -> bool {
        self.sender.is_some() && self.outstanding.srtt().is_some()
    }

    /// Time for which a packet waits behind a gap: until it would be too late for the end hosts, if the gap
    /// is likely to close by then, and otherwise zero. Where the hop is most of the path, waiting would only
    /// delay acknowledgments. The senders would have repaired the loss as soon. The late packet in the gap
    /// then undoes their change of the window.
    #[must_use]
    pub fn patience(&self) -> Duration {
        let (Some(srtt), Some(path)) = (self.outstanding.srtt(), self.path_delay.shortest()) else {
            return Duration::ZERO;
        };
        let in_time = (path / REORDERING_SHARE).min(MAX_PATIENCE);
        let repair = srtt * 3 / 2 + GAP_TOLD_AFTER;
        if repair <= in_time { in_time } else { Duration::ZERO }
    }

    /// Whether TCP segments that the hop loses are left to the hop's own repair: it does so, and nearly all
    /// of the way from here to the receiver is the hop. An acknowledgment that shows a loss then comes no
    /// sooner than the hop's own word of it; to hide it from the sender while the hop repairs it only stops
    /// the sender's clock.
    #[must_use]
    pub fn leaves_segments_to_hop(&self) -> bool {
        self.repairs_losses() && self.patience().is_zero()
    }

    /// Whether packets are cut where a datagram ends: all datagrams of a row are then of one length, which
    /// the kernel sends with one call. Not where the air loses much, because what travels in two datagrams is
    /// lost with either; but a boosted sender loses more by datagrams that are not full.
    #[must_use]
    pub fn cuts(&self) -> bool {
        let loses_little = || self.outstanding.loss().is_none_or(|loss| loss < MOST_LOSS_TO_CUT);
        self.peer_joins && (self.coalescer.is_some() || loses_little())
    }

    /// Queues what a gateway says to this one. Where there is no room, the oldest is lost, as it might have
    /// been on the way.
    pub fn write_to(&mut self, letter: Vec<u8>) {
        if self.letters.len() >= MAX_LETTERS {
            self.letters.pop_front();
        }
        self.letters.push_back(letter);
    }

    /// Queues an answer to a request, within the bound.
    pub fn reply(&mut self, sequence: u64) {
        if self.replies.len() < MAX_REPLIES && !self.replies.contains(&sequence) {
            self.replies.push_back(sequence);
        }
    }

    /// Queues an answer to a ping, within the bound.
    pub fn pong(&mut self, token: [u8; 8]) {
        if self.pongs.len() < MAX_PONGS {
            self.pongs.push_back(token);
        }
    }

    /// When a receipt goes out on its own.
    #[must_use]
    pub fn receipt_at(&self) -> Option<Duration> {
        if self.is_plain { None } else { self.received.alone_at() }
    }

    /// Whether something waits to be said beside packets.
    #[must_use]
    pub fn has_to_say(&self) -> bool {
        !self.replies.is_empty()
            || !self.pongs.is_empty()
            || !self.coded.is_empty()
            || !self.letters.is_empty()
            || self.flushed
            || self.sender.as_ref().is_some_and(Sender::has_retransmission)
    }

    /// When the peer is told what came, or something of groups, though no packet leaves.
    #[must_use]
    pub fn tells_at(&self) -> Option<Duration> {
        self.receipt_at().into_iter().chain(self.tells_of_groups_at()).min()
    }

    /// When the peer is told something of groups, under keys that are the two nodes' own.
    #[must_use]
    pub fn tells_of_groups_at(&self) -> Option<Duration> {
        let times = [
            self.member.as_ref().and_then(Member::tell_at),
            self.listener.as_ref().and_then(Listener::speaks_at),
            self.reports.tell_at(),
        ];
        times.into_iter().flatten().min()
    }

    /// When the peer is asked for what is missing, or told to send it again.
    #[must_use]
    pub fn asks_at(&self) -> Option<Duration> {
        let (nack, upstream) = (self.nack.as_ref(), self.upstream.as_ref());
        [nack.and_then(Nack::timeout), upstream.and_then(Upstream::timeout)].into_iter().flatten().min()
    }

    /// Measurements of the path.
    #[must_use]
    pub fn measured(&self) -> Measured {
        Measured { srtt: self.outstanding.srtt(), loss: self.outstanding.loss() }
    }

    /// How long to wait before something is asked for again.
    #[must_use]
    pub fn retry_after(&self) -> Duration {
        self.outstanding.srtt().map_or(UNKNOWN_ROUND_TRIP, |srtt| srtt * 3 / 2 + Duration::from_millis(10))
    }
}
