//! A schedule in virtual time: two engines, the hop between them, and the hosts behind them.

use crate::conversation::{Conversation, FIRST_PORT, SERVER_PORT};
use crate::dice::Dice;
use crate::hop::{Direction, Fates};
use crate::plan::Plan;
use crate::tally::Tally;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;
use streams::Streams;
use wire::frame::Frames;
use wire::inner::Inner;

/// Everything is at rest so long after the hop is repaired.
const REST: Duration = Duration::from_secs(600);
/// The room that a stream has whatever is left of the memory.
const LEAST_WINDOW: u64 = 16 << 10;
/// Open streams are counted at one of so many checks.
const CHECKS_A_COUNT: u64 = 1000;

enum Event {
    /// A packet reaches the hosts of a side.
    ToHost(usize, Vec<u8>),
    /// A packet of a host reaches the engine of its side.
    FromHost(usize, Vec<u8>),
    /// A datagram reaches the engine of a side.
    Datagram(usize, Vec<u8>),
    /// The engine of a side hears of a datagram that it sent.
    Receipt(usize, u64, bool),
    /// A host has something to do: the client of a conversation or its server.
    Wake(usize, usize),
}

struct At(Duration, u64, Event);

impl PartialEq for At {
    fn eq(&self, other: &Self) -> bool {
        (self.0, self.1) == (other.0, other.1)
    }
}

impl Eq for At {}

impl PartialOrd for At {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for At {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.0, self.1).cmp(&(other.0, other.1))
    }
}

pub struct World<'a> {
    plan: &'a Plan,
    now: Duration,
    events: BinaryHeap<Reverse<At>>,
    order: u64,
    dice: Dice,
    engines: [Streams; 2],
    directions: [Direction; 2],
    conversations: Vec<Conversation>,
    tally: Tally,
    checks: u64,
}

impl<'a> World<'a> {
    pub fn new(plan: &'a Plan) -> Self {
        let conversations: Vec<_> = (0u16..)
            .zip(&plan.conversations)
            .map(|(number, it)| Conversation::new(it.clone(), plan.seed, number))
            .collect();
        let mut world = World {
            plan,
            now: Duration::ZERO,
            events: BinaryHeap::new(),
            order: 0,
            dice: Dice::new(!plan.seed),
            engines: std::array::from_fn(|side| {
                let mut engine = Streams::new(plan.engines[side]);
                engine.reduce(&plan.reductions[side]);
                engine.set_record_bytes(plan.record_bytes);
                engine
            }),
            directions: Default::default(),
            conversations,
            tally: Tally { schedules: 1, ..Tally::default() },
            checks: 0,
        };
        for (number, conversation) in plan.conversations.iter().enumerate() {
            world.add(conversation.begins_at, Event::Wake(number, 0));
        }
        world
    }

    fn add(&mut self, at: Duration, event: Event) {
        self.order += 1;
        self.events.push(Reverse(At(at, self.order, event)));
    }

    /// Runs until everything is at rest. An error: the model is contradicted.
    pub fn run(mut self) -> Result<Tally, String> {
        while let Some(next) = self.next_at() {
            if next > self.plan.hop.repaired_at + REST {
                return Err(format!("no rest: {}", self.unfinished()));
            }
            self.now = self.now.max(next);
            while let Some(Reverse(At(at, ..))) = self.events.peek()
                && *at <= self.now
                && let Some(Reverse(At(.., event))) = self.events.pop()
            {
                self.handle(event)?;
            }
            for side in 0..2 {
                self.handle_timeouts(side);
                self.send(side);
                self.check_memory(side)?;
            }
        }
        self.check_end()?;
        Ok(self.tally)
    }

    fn next_at(&self) -> Option<Duration> {
        let engines =
            self.engines.iter().zip(&self.directions).flat_map(|(engine, direction)| {
                [engine.timeout(), direction.sends_at(engine, &self.plan.hop)]
            });
        let event = self.events.peek().map(|Reverse(At(at, ..))| *at);
        engines.chain([event]).flatten().min()
    }

    fn handle(&mut self, event: Event) -> Result<(), String> {
        let now = self.now;
        match event {
            Event::ToHost(side, packet) => self.deliver(side, &packet)?,
            Event::FromHost(side, packet) => self.take_packet(side, packet)?,
            Event::Datagram(side, datagram) => {
                let mut emitted = Vec::new();
                for frame in Frames::new(&datagram) {
                    let frame = frame.map_err(|error| format!("an unreadable datagram: {error}"))?;
                    let frame_type = frame.frame_type.ok_or("an unknown frame")?;
                    let emit = &mut |packet: &[u8]| emitted.push(packet.to_vec());
                    if !self.engines[side].take_frame(now, frame_type, frame.body, true, emit) {
                        return Err(format!("a frame without sense: {frame_type:?}"));
                    }
                }
                self.hand_to_hosts(side, emitted);
            }
            Event::Receipt(side, sequence, came) => {
                let mut emitted = Vec::new();
                self.directions[side].in_flight -= 1;
                self.engines[side].settle(now, sequence, came, &mut |packet| emitted.push(packet.to_vec()));
                self.hand_to_hosts(side, emitted);
            }
            Event::Wake(number, end) => {
                let host = &mut self.conversations[number].hosts[end];
                host.wakes_at = host.wakes_at.filter(|at| *at > now);
                self.go_on(number, end)?;
            }
        }
        Ok(())
    }

    fn handle_timeouts(&mut self, side: usize) {
        let (now, engine, mut emitted) = (self.now, &mut self.engines[side], Vec::new());
        engine.handle_timeout(now, &mut |packet| emitted.push(packet.to_vec()));
        while let Some(sequence) = engine.next_given_up(now) {
            engine.settle(now, sequence, false, &mut |packet| emitted.push(packet.to_vec()));
        }
        self.hand_to_hosts(side, emitted);
    }

    /// Sends a datagram, if one is to leave.
    fn send(&mut self, side: usize) {
        let (now, hop) = (self.now, &self.plan.hop);
        let (engine, direction) = (&mut self.engines[side], &mut self.directions[side]);
        if direction.sends_at(engine, hop).is_none_or(|at| at > now) {
            return;
        }
        let with_data = direction.admits(engine, hop);
        let (sequence, mut datagram) = (direction.next_sequence, Vec::new());
        engine.write(sequence, with_data, hop.datagram_bytes, &mut datagram);
        direction.note_sent(now, hop);
        let Fates { comes_at, judged_at, is_held } = Fates::draw(&mut self.dice, hop, now);
        for at in comes_at.into_iter().flatten() {
            self.add(at, Event::Datagram(1 - side, datagram.clone()));
        }
        self.add(judged_at, Event::Receipt(side, sequence, is_held));
    }

    fn hand_to_hosts(&mut self, side: usize, packets: Vec<Vec<u8>>) {
        for packet in packets {
            if let Some(at) = self.plan.hosts.draw(&mut self.dice, self.now) {
                self.add(at, Event::ToHost(side, packet));
            }
        }
    }

    /// The engine takes a packet of a host, or it crosses the hop as it is.
    fn take_packet(&mut self, side: usize, packet: Vec<u8>) -> Result<(), String> {
        let inner = Inner::parse(&packet).map_err(|error| format!("an unreadable packet: {error}"))?;
        let mut emitted = Vec::new();
        let emit = &mut |packet: &[u8]| emitted.push(packet.to_vec());
        if !self.engines[side].take_packet(self.now, &packet, &inner, emit) {
            let (number, _) = place(&inner);
            self.conversations[number].has_passed = true;
            let Fates { comes_at: [first, _], .. } = Fates::draw(&mut self.dice, &self.plan.hop, self.now);
            if let Some(at) = first {
                self.add(at, Event::ToHost(1 - side, packet));
            }
        }
        self.hand_to_hosts(side, emitted);
        Ok(())
    }

    fn deliver(&mut self, side: usize, packet: &[u8]) -> Result<(), String> {
        let inner = Inner::parse(packet).map_err(|error| format!("an unreadable packet: {error}"))?;
        let (number, end) = place(&inner);
        let conversation = &mut self.conversations[number];
        if conversation.side(end) != side {
            return Err("a packet for a host of the other side".to_owned());
        }
        if let Some(reset) = conversation.take_packet(self.now, end, packet) {
            self.take_from_hosts(side, vec![reset]);
        }
        self.go_on(number, end)
    }

    fn take_from_hosts(&mut self, side: usize, packets: Vec<Vec<u8>>) {
        for packet in packets {
            if let Some(at) = self.plan.hosts.draw(&mut self.dice, self.now) {
                self.add(at, Event::FromHost(side, packet));
            }
        }
    }

    /// Lets a host do what its program says.
    fn go_on(&mut self, number: usize, end: usize) -> Result<(), String> {
        let (now, conversation, mut emitted) = (self.now, &mut self.conversations[number], Vec::new());
        if end == 0 {
            conversation.connect(now);
        }
        let side = conversation.side(end);
        let host = &mut conversation.hosts[end];
        host.go_on(now, &mut |packet| emitted.push(packet.to_vec()))
            .map_err(|wrong| format!("conversation {number}, end {end}: {wrong}"))?;
        conversation.check(end).map_err(|wrong| format!("conversation {number}, end {end}: {wrong}"))?;
        let host = &mut conversation.hosts[end];
        let timeout = host.timeout(now);
        if let Some(at) = timeout.filter(|at| host.wakes_at.is_none_or(|known| *at < known)) {
            host.wakes_at = Some(at);
            self.add(at, Event::Wake(number, end));
        }
        self.take_from_hosts(side, emitted);
        Ok(())
    }

    fn check_memory(&mut self, side: usize) -> Result<(), String> {
        let engine = &self.engines[side];
        let (kept, (most_streams, bound)) = (engine.memory_bytes(), engine.bounds());
        self.checks += 1;
        if self.checks.is_multiple_of(CHECKS_A_COUNT) {
            self.tally.most_open = self.tally.most_open.max(engine.open_streams() as u64);
        }
        self.tally.most_memory_bytes = self.tally.most_memory_bytes.max(kept);
        if kept > bound {
            let least = LEAST_WINDOW * engine.open_streams().min(most_streams) as u64;
            if kept > bound + least {
                return Err(format!("{kept} bytes kept, of {bound} and {least}"));
            }
        }
        Ok(())
    }

    fn unfinished(&self) -> String {
        let all = self.conversations.iter().enumerate();
        let open = all.filter(|(_, conversation)| !conversation.is_over());
        open.take(3)
            .map(|(number, conversation)| format!("{number}: {}; ", conversation.describe()))
            .collect()
    }

    /// Everything is at rest: every connection ended, and nothing is kept.
    fn check_end(&mut self) -> Result<(), String> {
        let is_lossy = self.plan.hosts.lost > 0;
        for (number, conversation) in self.conversations.iter().enumerate() {
            let may_fill = self.plan.may_fill(conversation.side(0));
            let wrong = conversation.check_end(is_lossy, may_fill);
            wrong.map_err(|wrong| format!("conversation {number}: {wrong}; {}", conversation.describe()))?;
            conversation.count(&mut self.tally);
        }
        for (side, engine) in self.engines.iter().enumerate() {
            let other = self.engines[1 - side].counters();
            let its = engine.counters();
            if !is_lossy && (engine.memory_bytes() > 0 || engine.open_streams() > 0) {
                let (bytes, streams) = (engine.memory_bytes(), engine.open_streams());
                return Err(format!("{bytes} bytes and {streams} streams are left at {side}"));
            }
            if its.unrestored > 0 {
                return Err(format!("records were not restored at {side}: {its:?}"));
            }
            if its.received_bytes > other.taken_bytes || its.accepted > other.opened {
                return Err(format!("counters: {its:?} of {other:?}"));
            }
            self.tally.streams += its.opened;
            self.tally.taken_bytes += its.taken_bytes;
            self.tally.sent_bytes += its.sent_bytes;
            self.tally.resent_bytes += its.resent_bytes;
        }
        let all = &self.conversations;
        if !is_lossy && all.iter().all(Conversation::is_clean_stream) {
            let [one, other] = [self.engines[0].counters(), self.engines[1].counters()];
            let (sent, received) =
                (one.taken_bytes + other.taken_bytes, one.received_bytes + other.received_bytes);
            let read: u64 = all.iter().flat_map(|it| it.hosts.iter().map(|host| host.read)).sum();
            let opened = one.opened + other.opened;
            if sent != read || received != read || opened != all.len() as u64 {
                return Err(format!("{read} bytes read: {one:?}, {other:?}"));
            }
        }
        Ok(())
    }
}

/// The conversation and the end that a packet is for.
fn place(inner: &Inner) -> (usize, usize) {
    let flow = inner.flow;
    let is_for_server = flow.destination_port == SERVER_PORT;
    let port = if is_for_server { flow.source_port } else { flow.destination_port };
    (usize::from(port - FIRST_PORT), usize::from(is_for_server))
}
