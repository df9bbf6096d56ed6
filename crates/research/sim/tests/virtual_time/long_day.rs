//! A long day: packets by the hundred thousand under all faults, with no wrong bytes, no duplicates, no stall
//! and no growth at its end.

use crate::scenes::{MS, SECOND, link};
use air::{LinkConfig, LossConfig, ReorderConfig};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use re::{Form, Parameters, Policy};
use sim::traffic::{ConstantRate, Content, Ends, Family, Ping, Segments};
use sim::{Fault, GATEWAY, Observation, Observer, Report, Setup, Simulation, down_link, up_link};
use std::collections::BTreeMap;
use std::time::Duration;
use wire::unit::{self, Kind};

/// Packets a second, of all sources together.
const PACKETS_PER_SECOND: u64 = 116;
/// Bytes of a node's store, small enough to be replaced every few seconds.
const STORE_BYTES: usize = 256 << 10;
/// Time without faults before the end.
const CALM: Duration = Duration::from_secs(60);
/// Time without a delivery at a host from which the tunnel counts as stuck, under any faults.
const LONGEST_SILENCE: Duration = Duration::from_secs(90);

/// More than the lifetime of any key (a session lasts at most three minutes). Ids have 24 bits, so over days
/// one repeats with another key.
const KEY_FORGOTTEN: Duration = Duration::from_secs(600);

/// Checks every frame and delivery.
#[derive(Default)]
pub struct Watch {
    /// The newest counter under each key and when it was seen, by sender and key id.
    counters: BTreeMap<(usize, u32), (u32, Duration)>,
    sealed: u64,
    /// Latest delivery at each host.
    last_delivery: [Duration; 2],
    longest_silence: Duration,
    /// ICMP messages by the nodes themselves.
    told: u64,
}

/// Whether this is an ICMP message about an unreachable peer, or about a packet too large for the current
/// path (RFC 792 and 1191, RFC 4443).
fn tells_of_a_failure(packet: &[u8]) -> bool {
    match packet[0] >> 4 {
        4 => packet[9] == 1 && matches!(packet[20..22], [3, 1 | 4]),
        _ => packet[6] == 58 && matches!(packet[40], 1 | 2),
    }
}

impl Observer for Watch {
    fn see(&mut self, now: Duration, sight: &Observation<'_>) {
        match *sight {
            Observation::Sent { link, frame } => {
                let unit = unit::parse(&mut &frame[28..]).unwrap();
                if let Kind::Sealed { counter, .. } = unit.kind {
                    self.sealed += 1;
                    let before = self.counters.insert((link, unit.key_id), (counter, now));
                    let is_new = |(before, at)| before < counter || now > at + KEY_FORGOTTEN;
                    assert!(before.is_none_or(is_new), "the nonce {counter} of {link} repeats");
                    if self.sealed.is_multiple_of(1 << 16) {
                        self.counters.retain(|_, (_, at)| now <= *at + KEY_FORGOTTEN);
                    }
                }
            }
            Observation::Delivered { host, .. } => {
                self.longest_silence = self.longest_silence.max(now - self.last_delivery[host]);
                self.last_delivery[host] = now;
            }
            // A node may report to a host why its packets are not forwarded.
            Observation::Unrecognised { packet, .. } if tells_of_a_failure(packet) => self.told += 1,
            Observation::Unrecognised { host, packet } => {
                panic!("{now:?}: host {host} delivers wrong bytes {packet:02x?}")
            }
            Observation::Duplicate { host, packet, .. } => {
                panic!("{now:?}: host {host} delivers again {packet:02x?}")
            }
            _ => {}
        }
    }
}

fn any_conditions(rng: &mut ChaCha8Rng) -> LinkConfig {
    let mut config = link();
    config.delay = rng.random_range(1..120) * MS;
    config.loss = match rng.random_range(0..4) {
        0 => LossConfig::None,
        1 => LossConfig::Bernoulli { probability: rng.random_range(0.0..0.3) },
        2 => LossConfig::SimpleGilbert {
            good_to_bad: rng.random_range(0.0..0.05),
            bad_to_good: rng.random_range(0.1..0.9),
        },
        _ => LossConfig::BitErrors { rate: rng.random_range(0.0..2e-5) },
    };
    if rng.random_bool(0.4) {
        let extra_delay = rng.random_range(1..200) * MS;
        config.reorder = Some(ReorderConfig { probability: rng.random_range(0.0..0.3), extra_delay });
    }
    if rng.random_bool(0.4) {
        config.duplicate = rng.random_range(0.0..0.2);
    }
    if rng.random_bool(0.4) {
        config.corrupt = rng.random_range(0.0..0.1);
    }
    config
}

/// Schedules a fault every few seconds until `until`. Returns how often a node lost its received packets.
fn schedule_mishaps(simulation: &mut Simulation, seed: u64, until: Duration) -> u64 {
    let rng = &mut ChaCha8Rng::seed_from_u64(seed);
    let (mut at, mut forgotten) = (5 * SECOND, 0);
    loop {
        at += Duration::from_millis(rng.random_range(500..25_000));
        if at >= until {
            break;
        }
        let host = rng.random_range(GATEWAY..=1);
        let link = rng.random_range(down_link(1)..=up_link(1));
        let mishap = match rng.random_range(0..10) {
            0 => Fault::Reboot { host },
            1 | 2 => {
                let (sent, received) = (rng.random(), rng.random());
                forgotten += u64::from(received);
                Fault::Forget { host, peer: 1 - host, sent, received }
            }
            3 => {
                let to = std::net::SocketAddrV4::new(
                    [203, 0, 113, rng.random()].into(),
                    rng.random_range(1024..65_535),
                );
                Fault::Move { host: 1, to }
            }
            4 => {
                let up_again = at + Duration::from_millis(rng.random_range(100..8_000));
                simulation.schedule(up_again, Fault::LinkUp { link }).unwrap();
                Fault::LinkDown { link }
            }
            _ => Fault::Conditions { link, config: Box::new(any_conditions(rng)) },
        };
        simulation.schedule(at, mishap).unwrap();
    }
    for number in [down_link(1), up_link(1)] {
        simulation.schedule(until, Fault::Conditions { link: number, config: Box::new(link()) }).unwrap();
        simulation.schedule(until, Fault::LinkUp { link: number }).unwrap();
    }
    forgotten
}

/// Half of the packets down, the rest up, in segments and as echoes; IPv4 and IPv6.
fn add_sources(simulation: &mut Simulation, length: Duration) {
    let seconds = length.as_secs();
    let content = || Content::repeating(11, 0.6, 100_000, 900_000);
    let down = ConstantRate::new(Ends::between(GATEWAY, 1).with_port(1), content(), 1100, SECOND / 60);
    let ends = Ends::between(1, GATEWAY).with_family(Family::V6).with_port(2);
    let up = ConstantRate::new(ends, content(), 600, SECOND / 20);
    let mut file = vec![0; 900_000];
    content().take(&mut file);
    let segments = Segments::new(Ends::between(GATEWAY, 1).with_port(3), file, 1300, SECOND / 20);
    // Retransmissions and acknowledgements are the rest of its share.
    let passes = u32::try_from(seconds * 15 / (900_000 / 1300)).unwrap().max(1);
    let segments = segments.retransmitting_after(700 * MS).acknowledging_every(2).passing(passes);
    let ping = Ping::new(Ends::between(1, GATEWAY).with_port(4), Content::random(4), 200, SECOND / 3);
    simulation.add_source("down", Box::new(down.ending_after(60 * seconds)));
    simulation.add_source("up", Box::new(up.ending_after(20 * seconds)));
    simulation.add_source("segments", Box::new(segments));
    simulation.add_source("ping", Box::new(ping.ending_after(3 * seconds)));
}

pub fn offered(report: &Report) -> u64 {
    let flows = report.sources.iter().flat_map(|source| [source.forwards, source.backwards]);
    flows.map(|flow| flow.offered.packets).sum()
}

pub fn delivered(report: &Report) -> u64 {
    let flows = report.sources.iter().flat_map(|source| [source.forwards, source.backwards]);
    flows.map(|flow| flow.delivered.packets).sum()
}

pub fn setup(seed: u64, policy: Policy, form: Form) -> Setup {
    let reduce = Parameters { policy, form, store_bytes: STORE_BYTES, ..Parameters::default() };
    Setup { tunnel: Some(reduce.into()), ..Setup::pair(seed, link(), link()) }
}

/// Runs a day of about this many packets; calls `look` at every tenth of it.
fn day(packets: u64, seed: u64, look: impl FnMut(u32, &Report)) -> Report {
    let run = |simulation: &mut Simulation, until, watch: &mut Watch| {
        simulation.run_until(until, watch).unwrap();
    };
    day_of(packets, seed, run, look)
}

/// The same, with `run_until` to advance time.
pub fn day_of(
    packets: u64,
    seed: u64,
    mut run_until: impl FnMut(&mut Simulation, Duration, &mut Watch),
    mut look: impl FnMut(u32, &Report),
) -> Report {
    let mut simulation = Simulation::new(&setup(seed, Policy::Acked, Form::Compact)).unwrap();
    let length = Duration::from_secs(packets / PACKETS_PER_SECOND).max(5 * CALM);
    add_sources(&mut simulation, length);
    let forgotten = schedule_mishaps(&mut simulation, seed, length - CALM);
    let mut watch = Watch::default();
    for tenth in 1..=9 {
        run_until(&mut simulation, (length - CALM) * tenth / 9, &mut watch);
        look(tenth, &simulation.report());
    }
    // All faults are over within half of the calm.
    run_until(&mut simulation, length - CALM / 2, &mut watch);
    let before = simulation.report();
    run_until(&mut simulation, length + 10 * SECOND, &mut watch);
    let after = simulation.report();
    look(10, &after);
    let undecodable: u64 = after.hosts.iter().map(|host| host.outcomes.never_delivered()).sum();
    println!(
        "seed {seed}: {} packets offered, {} delivered, {undecodable} undecodable, {} datagrams, silent for {:?} once, {} \
         told why packets did not go on",
        offered(&after),
        delivered(&after),
        watch.sealed,
        watch.longest_silence,
        watch.told
    );
    assert!(watch.told * 100 < offered(&after), "mishaps are seldom");

    // Nothing is stuck: nothing is lost in the rest of the day, and no silence was long.
    let (late_offered, late_delivered) =
        (offered(&after) - offered(&before), delivered(&after) - delivered(&before));
    assert!(late_offered > 1000 && late_delivered >= late_offered, "{late_delivered} of {late_offered}");
    assert!(watch.longest_silence < LONGEST_SILENCE, "silent for {:?}", watch.longest_silence);
    assert_eq!(after.sources[2].in_order_share, Some(1.0), "every segment arrives in the end");
    // Only a lost store makes packets undecodable: those in flight.
    assert!(undecodable <= 60 * forgotten, "{undecodable} undecodable, {forgotten} stores lost");
    // Redundancy was removed nevertheless.
    let removed: u64 = after.hosts.iter().map(|host| host.total(|counters| counters.removed_bytes)).sum();
    let sent: u64 = after.hosts.iter().map(|host| host.total(|counters| counters.inner_sent_bytes)).sum();
    assert!(removed * 5 > sent, "{removed} of {sent}");
    after
}

fn wanted(variable: &str, otherwise: u64) -> u64 {
    let text = std::env::var(variable).ok();
    text.map_or(otherwise, |text| text.parse().unwrap_or_else(|_| panic!("{variable} is not a number")))
}

pub fn packets_wanted(otherwise: u64) -> u64 {
    wanted("OVERHEARD_LONG_DAY_PACKETS", otherwise)
}

pub fn seed_wanted(otherwise: u64) -> u64 {
    wanted("OVERHEARD_LONG_DAY_SEED", otherwise)
}

#[test]
fn after_a_long_day_of_mishaps_every_packet_was_exact_and_nothing_is_stuck() {
    let report = day(packets_wanted(200_000), seed_wanted(1), |_, report| {
        // Five minutes of packets, under any faults.
        assert!(
            report.remembered_packets < 400 * PACKETS_PER_SECOND as usize,
            "{}",
            report.remembered_packets
        );
        for host in &report.hosts {
            assert!(host.most_queue_bytes <= 1 << 20);
        }
        for link in &report.links {
            assert!(link.most_held_bytes < 400_000, "{}", link.most_held_bytes);
        }
    });
    let boots: usize = report.hosts.iter().map(|host| host.boots.len()).sum();
    assert!(boots > 2, "{boots} boots");
}

#[test]
fn under_every_policy_and_form_what_is_delivered_is_exact_and_delivered_once() {
    for policy in published::policy::ALL {
        for form in published::form::ALL {
            let mut simulation = Simulation::new(&setup(3, policy, form)).unwrap();
            let length = 40 * SECOND;
            add_sources(&mut simulation, length);
            schedule_mishaps(&mut simulation, 3, length);
            // The watch fails at the first wrong byte.
            simulation
                .run_until(length, &mut Watch::default())
                .unwrap_or_else(|stuck| panic!("{policy} {form}: {stuck}"));
            assert!(delivered(&simulation.report()) > 1000, "{policy} {form}");
        }
    }
}

/// A day and a night of virtual time: `cargo test --release -p overheard-sim --test virtual_time -- --ignored
/// --nocapture day` with `OVERHEARD_LONG_DAY_PACKETS=10000000`.
#[test]
#[ignore = "ten million packets take minutes, even with --release"]
fn over_a_whole_day_memory_stays_flat() {
    let mut resident_kib = Vec::new();
    day(packets_wanted(10_000_000), seed_wanted(2), |tenth, report| {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap().to_owned();
        let kib = |name| line(name).trim().trim_end_matches(" kB").parse::<u64>().unwrap();
        // the simulation keeps the last status of every boot, and this report is a copy
        let boots: usize = report.hosts.iter().map(|host| host.boots.len()).sum();
        let kept_kib =
            2 * (boots * (size_of::<node::Status>() + size_of::<node::PeerStatus>())) as u64 / 1024;
        println!(
            "{tenth}/10 at {:.0} s: {} KiB, at most {} KiB, {kept_kib} of it for {boots} boots",
            report.seconds,
            kib("VmRSS:"),
            kib("VmHWM:")
        );
        resident_kib.push(kib("VmRSS:").saturating_sub(kept_kib));
    });
    let (early, late) = (resident_kib[1], resident_kib[9]);
    assert!(late < early + early / 5 + 4096, "{resident_kib:?}");
}
