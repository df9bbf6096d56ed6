//! COPE: natives for several next hops leave as one frame (S. Katti and others, "XORs in the Air", SIGCOMM
//! 2006), also after content was removed from them (REfactor, sections 2.2.2 and 5.5.2).
//!
//! ```text
//! send ──▶ OutputQueue ──▶ opportunity ──▶ poll_transmit ──▶ air ──▶ handle_frame ──▶ poll_event
//!               ▲               │ Neighbours ◀── reports ◀──────────────┤  │
//!               └── Hops ◀── acknowledgments ◀──────────────────────────┘  └▶ Pool
//! ```
//!
//! Every node keeps its sent, received and overheard natives in its [`pool`](mesh::cope::pool) and reports
//! them in its frames. A relay combines natives if each next hop has the others, by its reports or by its
//! probability of overhearing ([`opportunity`]). No native waits for that. Unacknowledged natives are
//! retransmitted ([`hop`]), in any combination possible then.
//!
//! Content is removed from a native at its departure, because caches depend on the order on the air and not
//! on that of a queue. Other nodes hold such a native as a whole. The removed ranges are therefore beside the
//! XOR, in the clear, and the nodes use the rest of it; see [`frame`].

pub mod frame;
pub mod hop;
pub mod opportunity;
pub mod queue;
mod settings;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

pub use queue::Form;
use re::mac::PacketMac;
use recovery::xor;
pub use settings::Settings;
use wire::Malformed;

use frame::{Beside, Component, Frame, MAX_COMPONENTS, MAX_REPORTS, Part};
use hop::Hops;
use mesh::cope::PacketId;
use mesh::cope::neighbours::Neighbours;
use mesh::cope::pool::Pool;
use mesh::cope::window::Window;
use queue::{OutputQueue, Place, Waiting};

/// The most events that wait; further ones are dropped.
const MOST_EVENTS: usize = 4096;
/// The most arrived natives that are remembered: more than are in flight.
const MOST_TAKEN: usize = 256;
/// The most sources that are reported.
const MOST_SOURCES: usize = 64;
const NUMBER_BITS: u32 = 32;

/// An event for the driver of the node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A whole native for this node arrived.
    Arrived {
        /// Its name.
        id: PacketId,
        /// The previous hop.
        from: u16,
        /// The native.
        native: Vec<u8>,
    },
    /// A native with removed content arrived for this node. The driver restores it and calls
    /// [`Cope::keep_restored`].
    ArrivedReduced {
        /// Its name.
        id: PacketId,
        /// The previous hop.
        from: u16,
        /// The encoder's number.
        number: u32,
        /// Its unencoded beginning.
        head: Vec<u8>,
        /// The rest: shim and literals ([`wire::shim::slots`]).
        encoded: Vec<u8>,
    },
    /// A whole native for another node was overheard.
    Overheard {
        /// Its name.
        id: PacketId,
        /// The sender.
        from: u16,
        /// The native.
        native: Vec<u8>,
    },
    /// A native with removed content for another node was overheard.
    OverheardReduced {
        /// The sender.
        from: u16,
        /// The encoder's number.
        number: u32,
        /// Shim and literals.
        encoded: Vec<u8>,
    },
    /// A neighbour reported natives of a source.
    Reported {
        /// The neighbour.
        by: u16,
        /// The source.
        source: u16,
        /// The natives' numbers.
        window: Window,
    },
    /// A next hop has received a native.
    Acknowledged {
        /// The next hop.
        by: u16,
        /// The native.
        id: PacketId,
    },
    /// A native without acknowledgment was given up.
    GaveUp {
        /// The native.
        id: PacketId,
        /// For whom.
        next_hop: u16,
    },
}

/// Counts since the node was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Statistics {
    /// Frames with natives.
    pub frames: u64,
    /// Those with more than one.
    pub coded_frames: u64,
    /// Natives sent, with retransmissions.
    pub natives: u64,
    /// Retransmissions among them.
    pub repeated: u64,
    /// Bytes saved because natives shared a frame.
    pub shared_bytes: u64,
    /// Natives for this node that were extracted from coded frames.
    pub decoded: u64,
    /// Natives that were not extracted: another native was missing in the pool or differed.
    pub undecodable: u64,
    /// Natives that did not fit into the queue.
    pub dropped: u64,
}

/// A coding node.
#[derive(Debug)]
pub struct Cope {
    settings: Settings,
    me: u16,
    boot: u16,
    keys: BTreeMap<u16, PacketMac>,
    pool: Pool,
    neighbours: Neighbours,
    queue: OutputQueue,
    hops: Hops,
    /// Natives in the pool, by source, and since when a report is due.
    held: BTreeMap<u16, (Window, Option<Duration>)>,
    turn: usize,
    /// Natives that recently arrived here, to detect duplicates.
    taken: VecDeque<PacketId>,
    events: VecDeque<Event>,
    chosen: Vec<Place>,
    statistics: Statistics,
}

/// The queue is full, and the native was not added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the queue is full")]
pub struct Full;

impl Cope {
    /// A node with this name. `boot` must differ at each start.
    #[must_use]
    pub fn new(settings: Settings, me: u16, boot: u16) -> Self {
        Cope {
            me,
            boot,
            keys: BTreeMap::new(),
            pool: Pool::new(settings.pool_bytes, settings.pool_for),
            neighbours: Neighbours::default(),
            queue: OutputQueue::new(settings.small_bytes),
            hops: Hops::default(),
            held: BTreeMap::new(),
            turn: 0,
            taken: VecDeque::new(),
            events: VecDeque::new(),
            chosen: Vec::new(),
            statistics: Statistics::default(),
            settings,
        }
    }

    /// Counts since the node was made.
    #[must_use]
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// Number of waiting natives.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// Sets the key shared with a neighbour. Without it, coded frames are neither made for the neighbour nor
    /// accepted from it.
    pub fn set_key(&mut self, with: u16, key: &[u8; 32]) {
        self.keys.insert(with, PacketMac::new(key));
    }

    /// Sets the probability that one node receives from another, as routing measures it.
    pub fn set_delivery(&mut self, from: u16, to: u16, probability: f64) {
        self.neighbours.set_delivery(from, to, probability);
    }

    /// Notes a neighbour's natives of a source from another origin than its reports.
    pub fn learn_held(&mut self, neighbour: u16, source: u16, window: Window) {
        self.neighbours.record_report(neighbour, source, window);
    }

    /// Keeps a restored native, so that combinations with it can be decoded.
    pub fn keep_restored(&mut self, id: PacketId, native: &[u8], now: Duration) {
        self.hold(id, native, now);
    }

    fn hold(&mut self, id: PacketId, native: &[u8], now: Duration) {
        if !self.pool.keep(id, native, now) {
            return;
        }
        if self.held.len() >= MOST_SOURCES && !self.held.contains_key(&id.source) {
            self.held.pop_first();
        }
        let (window, unsaid_since) =
            self.held.entry(id.source).or_insert_with(|| (Window::new(id.number), None));
        window.note(id.number, NUMBER_BITS);
        unsaid_since.get_or_insert(now);
    }

    /// Queues a native from `previous` (this node, if it begins here) for a next hop. `expected_bytes` is the
    /// expected length in the XOR: natives of similar length share frames. The sent form is made at the
    /// departure.
    ///
    /// # Errors
    ///
    /// If there is no room.
    pub fn send(
        &mut self,
        id: PacketId,
        native: &[u8],
        expected_bytes: usize,
        previous: u16,
        next_hop: u16,
        now: Duration,
    ) -> Result<(), Full> {
        if self.queue.len() >= self.settings.queue_packets {
            self.statistics.dropped += 1;
            return Err(Full);
        }
        self.hold(id, native, now);
        self.queue.push(Waiting::new(id, (previous, next_hop), native.to_vec(), expected_bytes));
        Ok(())
    }

    /// Appends the next frame, if one is due, and returns whether it did. `reduce` returns the form of a
    /// native for a next hop, once for each departure; without a form, the whole native is sent.
    pub fn poll_transmit(
        &mut self,
        now: Duration,
        reduce: impl FnMut(PacketId, &[u8], u16) -> Option<Form>,
        out: &mut Vec<u8>,
    ) -> bool {
        while let Some(waiting) = self.hops.take_due(now) {
            if waiting.tries >= self.settings.tries {
                self.push_event(Event::GaveUp { id: waiting.id, next_hop: waiting.next_hop });
            } else {
                self.queue.push_front(waiting);
            }
        }
        let mut chosen = std::mem::take(&mut self.chosen);
        let most = self.settings.most_components.clamp(1, MAX_COMPONENTS);
        opportunity::choose(
            &self.queue,
            &self.neighbours,
            self.settings.guess_at_least,
            most,
            self.turn,
            &mut chosen,
        );
        self.turn = self.turn.wrapping_add(1);
        if chosen.len() > 1 {
            // Without a key, the receiver could not verify the frame.
            let keyed =
                |place: &Place| self.queue.get(*place).is_some_and(|it| self.keys.contains_key(&it.next_hop));
            let head = chosen[0];
            if keyed(&head) {
                chosen.retain(keyed);
            } else {
                chosen.truncate(1);
            }
        }
        let sends = !chosen.is_empty() || self.is_to_speak(now);
        if sends {
            let members: Vec<Waiting> = chosen.iter().filter_map(|place| self.queue.take(*place)).collect();
            self.emit(members, reduce, now, out);
        }
        self.chosen = chosen;
        sends
    }

    fn is_to_speak(&self, now: Duration) -> bool {
        self.unsaid_since().is_some_and(|since| since + self.settings.say_after <= now)
    }

    /// Since when a report or acknowledgment is due.
    fn unsaid_since(&self) -> Option<Duration> {
        if !self.settings.acknowledges {
            return None;
        }
        let of_pool = self.held.values().filter_map(|(_, unsaid_since)| *unsaid_since);
        of_pool.chain(self.hops.unsaid_since()).min()
    }

    fn emit(
        &mut self,
        mut members: Vec<Waiting>,
        mut reduce: impl FnMut(PacketId, &[u8], u16) -> Option<Form>,
        now: Duration,
        out: &mut Vec<u8>,
    ) {
        for waiting in &mut members {
            if waiting.form.is_none() {
                let reduced = reduce(waiting.id, &waiting.native, waiting.next_hop);
                let native = std::mem::take(&mut waiting.native);
                waiting.form = Some(reduced.unwrap_or_else(|| Form { literals: native, beside: Vec::new() }));
            }
            waiting.sequence = Some(self.hops.take_sequence(waiting.next_hop));
            self.statistics.natives += 1;
            self.statistics.repeated += u64::from(waiting.tries > 0);
            waiting.tries += 1;
        }
        let is_coded = members.len() > 1;
        let formed = members.iter().filter_map(|waiting| Some((waiting, waiting.form.as_ref()?)));
        let parts: Vec<Part<'_>> = formed
            .map(|(waiting, form)| Part {
                id: waiting.id,
                next_hop: waiting.next_hop,
                sequence: waiting.sequence.unwrap_or_default(),
                literals: &form.literals,
                beside: &form.beside,
                proof: match self.keys.get(&waiting.next_hop) {
                    Some(key) if is_coded => key.of(proven(waiting.id), &form.literals),
                    _ => Default::default(),
                },
            })
            .collect();
        let (mut reports, mut acknowledgments) = (Vec::new(), Vec::new());
        if self.settings.acknowledges {
            acknowledgments = self.hops.take_unsaid(MAX_REPORTS);
            let unsaid = self.held.iter_mut().filter(|(_, (_, unsaid_since))| unsaid_since.is_some());
            reports.extend(unsaid.take(MAX_REPORTS).map(|(of, (window, unsaid_since))| {
                *unsaid_since = None;
                frame::Window { of: *of, last: window.last, before: window.before }
            }));
        }
        Frame::emit(self.me, self.boot, &parts, &reports, &acknowledgments, out);
        let all: usize = parts.iter().map(|part| part.literals.len()).sum();
        let longest = parts.iter().map(|part| part.literals.len()).max().unwrap_or(0);
        self.statistics.frames += u64::from(!members.is_empty());
        self.statistics.coded_frames += u64::from(is_coded);
        self.statistics.shared_bytes += (all - longest) as u64;
        if self.settings.acknowledges {
            members
                .into_iter()
                .for_each(|waiting| self.hops.record_sent(waiting, now + self.settings.again_after));
        }
    }

    /// Handles a frame that was heard, for any addressee. The caller has authenticated it as the sender's.
    ///
    /// # Errors
    ///
    /// If it is malformed; nothing changes then.
    pub fn handle_frame(&mut self, frame: &[u8], now: Duration) -> Result<(), Malformed> {
        let frame = Frame::parse(frame)?;
        let from = frame.sender;
        if from == self.me {
            return Ok(());
        }
        if self.hops.is_another_boot(from, frame.boot) {
            self.neighbours.forget(from);
        }
        for report in frame.reports() {
            let window = Window { last: report.last, before: report.before };
            self.neighbours.record_report(from, report.of, window);
            self.push_event(Event::Reported { by: from, source: report.of, window });
        }
        let me = self.me;
        for said in frame.acknowledgments().filter(|said| said.of == me) {
            let window = Window { last: said.last.into(), before: said.before };
            let mut arrived = Vec::new();
            self.hops.record_acknowledgment(from, window, |waiting| arrived.push(waiting.id));
            arrived.into_iter().for_each(|id| self.push_event(Event::Acknowledged { by: from, id }));
        }
        for component in frame.components() {
            if component.next_hop == self.me {
                self.receive(&frame, &component, now);
            } else if frame.component_count == 1 {
                self.overhear(&frame, &component, now);
            }
        }
        Ok(())
    }

    /// Extracts the component for this node.
    fn receive(&mut self, frame: &Frame<'_>, component: &Component<'_>, now: Duration) {
        let Some(literals) = self.uncode(frame, component) else {
            self.statistics.undecodable += 1;
            return;
        };
        self.statistics.decoded += u64::from(frame.component_count > 1);
        self.hops.record_arrival(frame.sender, frame.boot, component.sequence, now);
        if self.taken.contains(&component.id) {
            return;
        }
        if self.taken.len() >= MOST_TAKEN {
            self.taken.pop_front();
        }
        self.taken.push_back(component.id);
        let (id, from) = (component.id, frame.sender);
        match component.beside {
            None => {
                self.hold(id, &literals, now);
                self.push_event(Event::Arrived { id, from, native: literals });
            }
            Some(beside) => {
                let Some((head, encoded)) = encoded(&beside, &literals) else { return };
                self.push_event(Event::ArrivedReduced { id, from, number: beside.number, head, encoded });
            }
        }
    }

    /// A component's part of the frame; `None` if it cannot be determined with certainty.
    fn uncode(&self, frame: &Frame<'_>, component: &Component<'_>) -> Option<Vec<u8>> {
        let mut sum = frame.xor.to_vec();
        for other in frame.components().filter(|other| other.next_hop != component.next_hop) {
            let native = self.pool.get(other.id)?;
            let mut at = 0;
            let mut take_out = |stretch: &[u8]| {
                xor::over(sum.get_mut(at..).unwrap_or_default(), stretch);
                at += stretch.len();
            };
            match other.beside {
                None => take_out(native),
                Some(beside) => beside.literals(native, take_out)?,
            }
        }
        sum.truncate(component.bytes);
        match component.proof {
            None => Some(sum),
            Some(proof) => {
                let key = self.keys.get(&frame.sender)?;
                key.verifies(proven(component.id), &sum, proof).then_some(sum)
            }
        }
    }

    /// Keeps a single native to another node.
    fn overhear(&mut self, frame: &Frame<'_>, component: &Component<'_>, now: Duration) {
        let from = frame.sender;
        match component.beside {
            None => {
                self.hold(component.id, frame.xor, now);
                let (id, native) = (component.id, frame.xor.to_vec());
                self.push_event(Event::Overheard { id, from, native });
            }
            Some(beside) => {
                let Some((_, encoded)) = encoded(&beside, frame.xor) else { return };
                self.push_event(Event::OverheardReduced { from, number: beside.number, encoded });
            }
        }
    }

    fn push_event(&mut self, event: Event) {
        if self.events.len() < MOST_EVENTS {
            self.events.push_back(event);
        }
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Time of the next call of [`poll_transmit`](Cope::poll_transmit) without new input.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Duration> {
        let speak_at = self.unsaid_since().map(|since| since + self.settings.say_after);
        speak_at.into_iter().chain(self.hops.next_timeout()).min()
    }
}

/// Data that a proof covers beside the bytes.
fn proven(id: PacketId) -> u64 {
    u64::from(id.source) << 32 | u64::from(id.number)
}

/// Head, and shim with literals, of a reduced native.
fn encoded(beside: &Beside<'_>, literals: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let (head, rest) = literals.split_at_checked(beside.head_bytes)?;
    Some((head.to_vec(), [beside.removed.shim, rest].concat()))
}
