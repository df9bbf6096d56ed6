//! Two gateways that exchange messages about their stations over a lossy channel. Either may restart.

use std::time::Duration;

use crate::content::{Content, association, settings};
use overhear::neighbourhood::{Neighbourhood, Settings};
use overhear::{Answer, Gateway, PacketNumber, Received, Station, StationId};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A gateway with one station that hears both gateways.
struct Cell {
    gateway: Gateway,
    neighbourhood: Neighbourhood,
    station: Station,
    boot: u32,
    /// Packets of the other gateway that the station heard and has not reported.
    heard: Vec<PacketNumber>,
}

fn id(cell: usize) -> StationId {
    StationId(cell as u8 + 1)
}

fn name(cell: usize) -> u64 {
    cell as u64 + 1000
}

fn cell(which: usize, boot: u32) -> Cell {
    let mut gateway = Gateway::new(settings()).unwrap();
    let of_station = association(id(which));
    gateway.join(id(which), of_station.clone(), Duration::ZERO).unwrap();
    let mut neighbourhood = Neighbourhood::new(Settings::default(), boot, 18);
    neighbourhood.add_station(&mut gateway, name(which), id(which), 54_000_000);
    let station = Station::new(settings(), id(which), of_station.mac_key).unwrap();
    Cell { gateway, neighbourhood, station, boot, heard: Vec::new() }
}

struct Net {
    cells: [Cell; 2],
    now: Duration,
}

impl Net {
    fn new() -> Self {
        Net { cells: [cell(0, 1), cell(1, 2)], now: Duration::from_secs(1) }
    }

    /// Sends a packet to a gateway's station, which must restore it exactly or not at all. Returns the number
    /// of removed bytes.
    fn send(&mut self, from: usize, packet: &[u8], is_overheard: bool) -> usize {
        let now = self.now;
        let [one, other] = &mut self.cells;
        let (cell, other) = if from == 0 { (one, other) } else { (other, one) };
        let mut sent = Vec::new();
        let report = cell.gateway.encode(id(from), packet, now, &mut sent);
        match cell.station.receive(report.number, report.number.0, &sent, now) {
            Received::Restored(restored) => assert_eq!(restored, packet),
            Received::Held => {
                for _ in 0..3 {
                    let (mut request, mut reply) = (Vec::new(), Vec::new());
                    let Some(_) = cell.station.poll_request(now, &mut request) else { break };
                    let answer = cell.gateway.answer_request(id(from), &request, &mut reply);
                    let Answer::Supplied { number, .. } = answer else { break };
                    let _ = cell.station.receive_reply(&reply, now);
                    cell.gateway.record_acknowledgment(id(from), number, now);
                }
                if let Some(delivered) = cell.station.poll_deliver(now) {
                    assert_eq!(delivered.packet, packet);
                }
            }
            refused => panic!("{refused:?}"),
        }
        cell.gateway.record_acknowledgment(id(from), report.number, now);
        if is_overheard {
            other.station.overhear(&sent).unwrap();
            other.heard.push(report.number);
        }
        report.removed_bytes
    }

    /// Both stations report, and gateways send the due messages, which arrive with this probability.
    fn tell(&mut self, rng: &mut ChaCha8Rng, arrives: f64) {
        self.now += Duration::from_millis(250);
        for at in 0..2 {
            let boot_of_other = self.cells[1 - at].boot;
            let cell = &mut self.cells[at];
            for number in std::mem::take(&mut cell.heard) {
                cell.neighbourhood.record_report(
                    name(at),
                    1 - at as u16,
                    boot_of_other,
                    number.0,
                    &[1],
                    self.now,
                );
            }
        }
        for _ in 0..3 {
            for at in 0..2 {
                let cell = &mut self.cells[at];
                cell.neighbourhood.handle_timeout(&mut cell.gateway, self.now);
                while let Some((to, message)) = self.cells[at].neighbourhood.poll_message() {
                    if rng.random_bool(arrives) {
                        let other = &mut self.cells[usize::from(to)];
                        other
                            .neighbourhood
                            .handle_message(&mut other.gateway, at as u16, &message, self.now)
                            .unwrap();
                    }
                }
            }
        }
    }

    fn restart(&mut self, which: usize) {
        let boot = self.cells[which].boot + 2;
        self.cells[which] = cell(which, boot);
    }
}

#[test]
fn what_a_station_heard_of_a_neighbour_its_own_gateway_does_not_send() {
    let (mut net, mut rng) = (Net::new(), ChaCha8Rng::seed_from_u64(1));
    let mut content = Content::new(1);
    let packet = content.random(1400);
    net.send(1, &packet, true); // it is what makes the station known there, and counts already
    net.tell(&mut rng, 1.0);
    net.tell(&mut rng, 1.0);
    assert!(net.send(0, &packet, false) > 1000);
}

#[test]
fn a_station_that_is_not_spoken_of_any_more_is_forgotten_and_one_that_comes_over_is_ones_own() {
    let (mut net, mut rng) = (Net::new(), ChaCha8Rng::seed_from_u64(2));
    net.send(1, &Content::new(2).random(1400), true);
    net.tell(&mut rng, 1.0);
    assert_eq!(net.cells[1].neighbourhood.foreign_stations(), 1);
    // The station roams.
    let cell = &mut net.cells[1];
    cell.gateway.join(StationId(9), association(StationId(9)), net.now).unwrap();
    cell.neighbourhood.add_station(&mut cell.gateway, name(0), StationId(9), 54_000_000);
    assert_eq!(cell.neighbourhood.foreign_stations(), 0);
    net.tell(&mut rng, 1.0);
    assert_eq!(net.cells[1].neighbourhood.foreign_stations(), 0, "what the old gateway says is late");

    let mut net = Net::new();
    net.send(1, &Content::new(2).random(1400), true);
    net.tell(&mut rng, 1.0);
    net.now += Duration::from_secs(20);
    net.tell(&mut rng, 1.0);
    assert_eq!(net.cells[1].neighbourhood.foreign_stations(), 0);
}

#[test]
fn a_neighbour_can_speak_of_no_more_stations_than_there_is_room_for() {
    let mut here = cell(0, 1);
    let mut there = Neighbourhood::new(Settings::default(), 5, 18);
    let mut unused = Gateway::new(settings()).unwrap();
    for station in 0..500 {
        there.add_station(&mut unused, station, StationId(0), 1_000_000);
        there.record_report(station, 0, 1, 7, &[0xff; 600], Duration::ZERO);
        while let Some((_, message)) = there.poll_message() {
            here.neighbourhood.handle_message(&mut here.gateway, 3, &message, Duration::ZERO).unwrap();
        }
    }
    assert_eq!(here.neighbourhood.foreign_stations(), Settings::default().foreign_stations);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// After any losses and restarts, packets are exact or missing, and both gateways save again after a few
    /// seconds.
    #[test]
    fn two_gateways_that_start_again_at_any_moment_converge(
        seed: u64,
        steps in proptest::collection::vec((0..2usize, 0..24u8, 0.3..1.0), 1..50),
    ) {
        let (mut net, mut rng) = (Net::new(), ChaCha8Rng::seed_from_u64(seed));
        let mut content = Content::new(seed);
        for (which, kind, arrives) in steps {
            match kind {
                0 => net.restart(which),
                1..8 => net.tell(&mut rng, arrives),
                _ => {
                    let packet = content.packet(&mut rng);
                    let is_overheard = rng.random_bool(0.7);
                    net.send(which, &packet, is_overheard);
                }
            }
        }
        // A lost announcement of overhearing is repeated by then.
        net.now += Settings::default().say_every;
        // Two rounds of messages, and then a new packet.
        for _ in 0..2 {
            for which in 0..2 {
                net.send(which, &content.random(200), true);
            }
            net.tell(&mut rng, 1.0);
        }
        let mut removed = 0;
        for _ in 0..4 {
            let packet = content.random(1400);
            net.send(1, &packet, true);
            net.tell(&mut rng, 1.0);
            removed += net.send(0, &packet, false);
        }
        prop_assert!(removed > 2500, "{removed} of 5600");
    }
}
