//! The repair of TCP segments on one link, for both ends of the hop ([`recovery`]).

use crate::features::Repairing;
use crate::status::RecoverStatus;
use recovery::{
    History, NotRestored, Repair, Segment, Settings, Snoop, Statistics, Undoes, Upstream, Verdict,
};
use std::collections::VecDeque;
use std::time::Duration;
use wire::coded::Coded;
use wire::hello::{CODES, HEEDS, NOTIFIES, UNCODES, UNCODES_ROWS};
use wire::inner::{Flow, Inner};
use wire::notice::Notice;

/// The repair of TCP segments.
pub struct TcpRepair {
    /// Repairs TCP segments that the hop lost; only if the configuration enables it, or the peer reports such
    /// segments.
    snoop: Option<Repairing<Snoop>>,
    /// Watches TCP flows from the peer, to tell it what the hop lost; only if the configuration wants it, and
    /// the peer does not know by receipts.
    upstream: Option<Repairing<Upstream>>,
    /// Coded repairs that wait to be sent, with their traffic classes.
    coded: VecDeque<(u8, Vec<u8>)>,
    /// Recently delivered packets; only if the peer may send coded repairs.
    history: Option<Repairing<History>>,
}

/// Codings that a peer with these capabilities undoes.
fn undoes(capabilities: u32) -> Undoes {
    match [UNCODES_ROWS, UNCODES].map(|it| capabilities & it != 0) {
        [true, true] => Undoes::Rows,
        [false, true] => Undoes::Sums,
        _ => Undoes::Nothing,
    }
}

impl TcpRepair {
    /// For a peer with these capabilities. `sends_again`: this node retransmits any lost packet. `recovers`:
    /// the peer does.
    #[must_use]
    pub fn new(settings: Option<&Settings>, capabilities: u32, sends_again: bool, recovers: bool) -> Self {
        let snoop = match settings {
            Some(settings) => Repairing::of(|| Snoop::new(settings, undoes(capabilities))),
            None if capabilities & NOTIFIES != 0 && !sends_again => Repairing::of(Snoop::heeding_notices),
            None => None,
        };
        let tells = settings.is_some() && capabilities & HEEDS != 0 && !recovers;
        TcpRepair {
            snoop,
            upstream: if tells { Repairing::of(Upstream::default) } else { None },
            coded: VecDeque::new(),
            history: if capabilities & CODES != 0 { Repairing::of(History::default) } else { None },
        }
    }

    /// Bytes of memory now, of segments and repairs.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let stored = self.status().map_or(0, |status| status.bytes);
        stored + self.coded.iter().map(|(_, repair)| repair.capacity()).sum::<usize>()
    }

    /// A packet leaves for the peer, perhaps as a repair. `left_to_hop`: see [`TcpRepair::inspect`].
    pub fn note_departure(
        &mut self,
        now: Duration,
        packet: &[u8],
        inner: &Inner,
        (is_repair, left_to_hop): (bool, bool),
    ) {
        let keeps = self.repairs(left_to_hop) && !is_repair;
        if !keeps && self.upstream.is_none() {
            return;
        }
        let Some(segment) = Segment::parse(packet, inner) else { return };
        if let Some(snoop) = self.snoop.as_mut().filter(|_| keeps) {
            snoop.handle_departure(now, packet, &segment);
        }
        if let Some(upstream) = &mut self.upstream {
            upstream.handle_departure(&segment);
        }
    }

    /// Whether TCP segments are repaired from here. Where they are left to the hop, their stored segments are
    /// forgotten.
    fn repairs(&mut self, left_to_hop: bool) -> bool {
        let Some(snoop) = self.snoop.as_deref_mut() else { return false };
        if left_to_hop && snoop.flows() > 0 {
            snoop.stand_back();
        }
        !left_to_hop
    }

    /// A packet is about to be handed on: remembers it for coded repairs, and reads its acknowledgment.
    /// `left_to_hop`: the hop repairs its losses before the end hosts notice. `held_off`: the time in which
    /// it would. `None`: no repair depends on it.
    pub fn inspect(
        &mut self,
        now: Duration,
        packet: &mut [u8],
        inner: &Inner,
        (left_to_hop, held_off): (bool, Duration),
    ) -> Option<Verdict> {
        if let Some(history) = &mut self.history {
            history.record_delivery(packet, inner);
        }
        let repairs = self.repairs(left_to_hop);
        if !repairs && self.upstream.is_none() {
            return None;
        }
        let segment = Segment::parse(packet, inner)?;
        if let Some(upstream) = &mut self.upstream {
            upstream.handle_arrival(now, &segment);
        }
        let snoop = self.snoop.as_mut().filter(|_| repairs)?;
        snoop.hold_off(held_off);
        Some(snoop.handle_arrival(now, packet, &segment))
    }

    /// The next repair to be sent; a packet is written into `buffer`.
    pub fn poll_repair(&mut self, now: Duration, buffer: &mut Vec<u8>) -> Option<Repair> {
        self.snoop.as_mut()?.poll_repair(now, buffer)
    }

    /// Figures since the last call.
    pub fn take_statistics(&mut self) -> Option<Statistics> {
        self.snoop.as_mut().map(|snoop| std::mem::take(&mut snoop.statistics))
    }

    /// Lets a coded repair of this traffic class wait.
    pub fn push_coded(&mut self, class: u8, body: Vec<u8>) {
        self.coded.push_back((class, body));
    }

    /// The next coded repair, and its traffic class.
    #[must_use]
    pub fn next_coded(&self) -> Option<(u8, &[u8])> {
        self.coded.front().map(|(class, body)| (*class, body.as_slice()))
    }

    /// Takes it.
    pub fn pop_coded(&mut self) -> Option<(u8, Vec<u8>)> {
        self.coded.pop_front()
    }

    /// How many coded repairs wait.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.coded.len()
    }

    /// Whether the peer is to be told of lost segments now.
    pub fn has_notice(&mut self, now: Duration) -> bool {
        self.upstream.as_mut().is_some_and(|upstream| upstream.is_due(now))
    }

    /// When the peer is to be told of lost segments next.
    #[must_use]
    pub fn notice_at(&self) -> Option<Duration> {
        self.upstream.as_deref().and_then(Upstream::timeout)
    }

    /// The next flow to tell of, and the lost stretches of it.
    pub fn poll_notice(&mut self, now: Duration, retry: Duration) -> Option<(Flow, Vec<(u32, u32)>)> {
        self.upstream.as_mut()?.poll_notice(now, retry)
    }

    /// Takes the peer's report of segments that were lost on their way to it. `false`: none was expected.
    pub fn take_notice(&mut self, now: Duration, notice: &Notice<'_>) -> bool {
        let Some(snoop) = &mut self.snoop else { return false };
        for (start, length) in notice.stretches() {
            snoop.handle_notice(now, &notice.flow, start, length);
        }
        true
    }

    /// Restores a packet of a coded repair into `out`. `None`: none was expected.
    pub fn restore(&mut self, coded: &Coded<'_>, out: &mut Vec<u8>) -> Option<Result<(), NotRestored>> {
        Some(self.history.as_mut()?.restore(coded, out))
    }

    /// The next packet that other packets completed.
    pub fn poll_restored(&mut self) -> Option<Vec<u8>> {
        self.history.as_mut()?.poll_restored()
    }

    /// Does what is due.
    pub fn handle_timeout(&mut self, now: Duration) {
        if let Some(snoop) = &mut self.snoop {
            snoop.handle_timeout(now);
        }
    }

    /// When [`TcpRepair::handle_timeout`] has something to do.
    #[must_use]
    pub fn timeout(&self) -> Option<Duration> {
        self.snoop.as_deref().and_then(Snoop::timeout)
    }

    /// Status of the repair; `None` where there is none.
    #[must_use]
    pub fn status(&self) -> Option<RecoverStatus> {
        let snoop = self.snoop.as_ref()?;
        let (packets, slots) = snoop.packets();
        Some(RecoverStatus { flows: snoop.flows(), bytes: snoop.bytes(), packets, slots, loss: snoop.loss() })
    }
}
