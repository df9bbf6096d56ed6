//! The plan of a schedule: two engines, the hop between them, and programs of hosts.

use crate::dice::Dice;
use re::{Parameters, Policy};
use std::ops::Range;
use std::time::Duration;
use streams::{Reduction, Settings};

/// A hop, in both directions, and what its receipts say.
#[derive(Debug, Clone)]
pub struct HopPlan {
    /// Datagrams that are lost, of 1000.
    pub lost: u64,
    /// Datagrams that come twice, of 1000.
    pub repeated: u64,
    /// Datagrams that come and are taken for lost, of 1000.
    pub misjudged: u64,
    /// Receipts that come late, of 1000.
    pub late: u64,
    pub delay: Duration,
    /// The most by which a datagram takes longer than others, in milliseconds.
    pub jitter: u64,
    /// The time between two datagrams.
    pub gap: Duration,
    /// Datagrams whose fate is not known, at most, before more bytes leave.
    pub most_in_flight: usize,
    pub datagram_bytes: usize,
    /// Nothing passes during this time.
    pub outage: Range<Duration>,
    /// Nothing is lost, repeated, late or misjudged from then on.
    pub repaired_at: Duration,
}

/// How the packets of hosts reach an engine, and back.
#[derive(Debug, Clone)]
pub struct HostsPlan {
    pub delay: Duration,
    /// Packets that are lost, of 1000. Packets are out of order too, if any is lost.
    pub lost: u64,
}

/// When a host begins to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begins {
    AtOnce,
    AfterFirstByte,
    AfterEnd,
}

/// The program of a host.
#[derive(Debug, Clone)]
pub struct Program {
    pub bytes: u64,
    pub begins: Begins,
    /// It writes so many bytes ...
    pub burst: u64,
    /// ... and waits for so long.
    pub pause: Duration,
    /// It does not finish before this time.
    pub idle_until: Duration,
    /// It resets after so many bytes, read and written.
    pub resets_after: Option<u64>,
    /// It resets at this time.
    pub resets_at: Option<Duration>,
    /// It stops reading after so many bytes, for so long.
    pub stops_reading: Option<(u64, Duration)>,
}

/// How a server meets a SYN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    Accepts,
    Refuses,
    Silent,
}

/// One connection of two hosts.
#[derive(Debug, Clone)]
pub struct ConversationPlan {
    /// The side of the client.
    pub opener: usize,
    pub is_v6: bool,
    pub begins_at: Duration,
    pub answer: Answer,
    pub client: Program,
    pub server: Program,
}

#[derive(Debug, Clone)]
pub struct Plan {
    pub seed: u64,
    pub engines: [Settings; 2],
    pub reductions: [Reduction; 2],
    /// The most bytes of a record.
    pub record_bytes: usize,
    pub hop: HopPlan,
    pub hosts: HostsPlan,
    pub conversations: Vec<ConversationPlan>,
}

impl Plan {
    /// A short schedule of a few connections.
    pub fn short(seed: u64) -> Self {
        let dice = &mut Dice::new(seed);
        let repaired_at = dice.milliseconds(1000..20_000);
        let engine = |dice: &mut Dice| Settings {
            mtu: dice.pick(&[576, 1280, 1350, 1500]),
            memory_bytes: dice.pick(&[64 << 10, 256 << 10, 1 << 20, 16 << 20]),
            most_streams: dice.pick(&[2, 8, 64]),
            answers_early: dice.happens(400),
            sequence_key: std::array::from_fn(|_| dice.number()),
        };
        let engines = [engine(dice), engine(dice)];
        let hop = HopPlan::random(dice, repaired_at);
        let lost = if dice.happens(250) { dice.within(1..30) } else { 0 };
        let hosts = HostsPlan { delay: Duration::from_micros(dice.within(50..3000)), lost };
        let count = dice.within(1..7);
        let conversations =
            (0..count).map(|_| ConversationPlan::random(dice, repaired_at, repaired_at)).collect();
        let reductions = reductions(dice);
        let record_bytes = dice.pick(&[1 << 10, 4 << 10, 16 << 10]);
        Plan { seed, engines, reductions, record_bytes, hop, hosts, conversations }
    }

    /// Whether a full far end may cost a connection: a host was answered before, or nobody answers it. A SYN
    /// that comes again may take one stream more.
    pub fn may_fill(&self, opener: usize) -> bool {
        self.engines[1 - opener].most_streams < 2 * self.conversations.len()
    }

    /// Many connections at once, all of which idle until the last is open.
    pub fn crowd(seed: u64, connections: usize) -> Self {
        let dice = &mut Dice::new(seed);
        let (all_open_at, repaired_at) = (Duration::from_secs(60), Duration::from_secs(90));
        let engine = |dice: &mut Dice| Settings {
            mtu: 1350,
            memory_bytes: 512 << 20,
            most_streams: connections + 16,
            answers_early: false,
            sequence_key: std::array::from_fn(|_| dice.number()),
        };
        let engines = [engine(dice), engine(dice)];
        let hop = HopPlan {
            lost: 50,
            repeated: 20,
            misjudged: 10,
            late: 20,
            delay: Duration::from_millis(20),
            jitter: 15,
            gap: Duration::from_micros(50),
            most_in_flight: 2000,
            datagram_bytes: 1350,
            outage: Duration::from_secs(30)..Duration::from_secs(33),
            repaired_at,
        };
        let hosts = HostsPlan { delay: Duration::from_micros(100), lost: 0 };
        let conversation = |_| {
            let begins_at = dice.milliseconds(0..50_000);
            let mut plan = ConversationPlan::random(dice, all_open_at, repaired_at);
            plan.begins_at = begins_at;
            plan.answer = Answer::Accepts;
            for program in [&mut plan.client, &mut plan.server] {
                program.bytes %= 20_000;
                program.idle_until = dice.milliseconds(60_000..90_000);
                program.resets_at = program.resets_at.map(|_| dice.milliseconds(60_000..90_000));
                program.resets_after = None;
            }
            plan
        };
        let conversations = (0..connections).map(conversation).collect();
        let reductions = reductions(dice);
        Plan { seed, engines, reductions, record_bytes: 16 << 10, hop, hosts, conversations }
    }
}

/// What two engines agree on. In one of four schedules nothing is stored.
fn reductions(dice: &mut Dice) -> [Reduction; 2] {
    let store_bytes = dice.pick(&[0, 32 << 10, 256 << 10, 2 << 20]);
    let policy = if store_bytes == 0 { Policy::Off } else { Policy::Acked };
    let (window_bytes, sample_bits) = (16, 4);
    let reduction = Reduction {
        parameters: Parameters { policy, store_bytes, window_bytes, sample_bits, ..Parameters::default() },
        peer_window_bytes: window_bytes,
        peer_sample_bits: sample_bits,
        compresses: dice.happens(500),
        key: [7; 32],
        secret: dice.number(),
    };
    [reduction, Reduction { secret: dice.number(), ..reduction }]
}

impl HopPlan {
    fn random(dice: &mut Dice, repaired_at: Duration) -> Self {
        let outage_at = dice.milliseconds(0..10_000);
        let outage = if dice.happens(300) { dice.milliseconds(100..6000) } else { Duration::ZERO };
        HopPlan {
            lost: dice.pick(&[0, 10, 50, 200, 400]),
            repeated: dice.pick(&[0, 0, 20, 200]),
            misjudged: dice.pick(&[0, 0, 20, 200]),
            late: dice.pick(&[0, 0, 50, 300]),
            delay: dice.milliseconds(1..400),
            jitter: dice.pick(&[1, 5, 100, 600]),
            gap: Duration::from_micros(dice.within(100..10_000)),
            most_in_flight: dice.within(2..200) as usize,
            datagram_bytes: dice.pick(&[500, 1200, 1400, 9000]),
            outage: outage_at..outage_at + outage,
            repaired_at,
        }
    }
}

impl ConversationPlan {
    fn random(dice: &mut Dice, begins_before: Duration, idles_until: Duration) -> Self {
        let milliseconds = |time: Duration| time.as_millis() as u64;
        let begins_at = if dice.happens(600) {
            dice.milliseconds(0..50)
        } else {
            dice.milliseconds(0..milliseconds(begins_before))
        };
        let answer = match dice.within(0..100) {
            0..4 => Answer::Refuses,
            4..6 => Answer::Silent,
            _ => Answer::Accepts,
        };
        let mut client = Program::random(dice, begins_at, idles_until);
        let mut server = Program::random(dice, begins_at, idles_until);
        match dice.within(0..4) {
            0 => client.begins = Begins::AfterFirstByte,
            1 => server.begins = Begins::AfterFirstByte,
            2 => server.begins = Begins::AfterEnd,
            _ => {}
        }
        let (opener, is_v6) = (dice.within(0..2) as usize, dice.happens(300));
        ConversationPlan { opener, is_v6, begins_at, answer, client, server }
    }
}

impl Program {
    fn random(dice: &mut Dice, begins_at: Duration, idles_until: Duration) -> Self {
        let bytes = match dice.within(0..100) {
            0..10 => 0,
            10..45 => dice.within(1..2000),
            45..85 => dice.within(2000..30_000),
            85..98 => dice.within(30_000..200_000),
            _ => dice.within(200_000..700_000),
        };
        let at = begins_at + dice.milliseconds(0..8000);
        Program {
            bytes,
            begins: Begins::AtOnce,
            burst: dice.pick(&[100, 3000, 50_000, u64::MAX]).max(bytes / 100),
            pause: dice.milliseconds(0..200),
            idle_until: if dice.happens(150) { idles_until } else { Duration::ZERO },
            resets_after: dice.happens(60).then(|| dice.within(0..2 * bytes + 1)),
            resets_at: dice.happens(60).then_some(at),
            stops_reading: dice
                .happens(150)
                .then(|| (dice.within(0..bytes + 1), dice.milliseconds(10..30_000))),
        }
    }
}
