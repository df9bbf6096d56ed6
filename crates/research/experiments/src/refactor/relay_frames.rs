//! Figure 1d, counted: what a relay sends for each packet that it forwards, coded and not.

mod in_process;

use super::figure_1d::{RELAY, STATIONS, Traffic, name, scenario, seeds};
use crate::claim::Band;
use crate::estimate::Estimate;
use crate::figure::{Figure, Need, Results, Setting};
use crate::papers::{self, Stated};
use crate::report::Claim;
use crate::row::{Driver, Row, of, value};
use anyhow::{Context as _, Result};
use lab::Outcome;

/// Figure 1d's frames.
pub const FIGURE: Figure = Figure {
    id: "1d-frames",
    title: "Figure 1d counted: what a relay sends for each packet that it forwards",
    x: "traffic",
    remark: "Two stations send to each other by a relay. A packet is coded where the next packet for the other station waits at \
             that moment and can share the frame; the other packets are counted by the reason. Transmissions for an exchange are what \
             stations and relay send for two packets that are forwarded, in packets as long as stations send them: \
             {refactor/section-2.2.2/cope-regular} without coding, {refactor/section-2.2.2/cope} where all packets are coded. \
             Frames of an exchange are those that all three nodes hand to their radios for it. A node fills its frames, so that one packet can \
             begin in one frame and end in the next; receipts of the hop take frames of their own; and several acknowledgments of TCP share a \
             frame, coded or not. In `sim` the same nodes run in one process, at constant rates, with \
             acknowledgments, and by bursts in turn. In `virtual` real daemons carry UDP at a constant rate, and TCP.",
    needs,
    rows,
};

/// What one kind of node handed to its radio, and the packets in it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Sent {
    frames: f64,
    /// Of those, from the outer IP header on.
    bytes: f64,
    /// Packets sent, repeats apart.
    packets: f64,
}

impl Sent {
    fn frames_each(&self) -> f64 {
        self.frames / self.packets
    }

    fn bytes_each(&self) -> f64 {
        self.bytes / self.packets
    }

    fn since(self, before: Self) -> Self {
        Self {
            frames: self.frames - before.frames,
            bytes: self.bytes - before.bytes,
            packets: self.packets - before.packets,
        }
    }
}

/// One run: what the nodes counted.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Counted {
    relay: Sent,
    stations: Sent,
    /// Of the relay's frames, those with packets for both stations.
    coded_frames: f64,
    /// Of the relay's packets, those that shared a coded frame.
    coded: f64,
    /// Those that could have, and no packet for the other station waited.
    without_partner: f64,
    /// Those that could have, and the next packet for the other station could not.
    with_unfit_partner: f64,
}

impl Counted {
    fn add_station(&mut self, node: &node::Status) {
        self.stations.packets +=
            node.peers.iter().map(|it| it.counters.inner_sent_packets as f64).sum::<f64>();
    }

    fn add_relay(&mut self, node: &node::Status) {
        for peer in &node.peers {
            let it = &peer.counters;
            self.relay.packets += it.inner_sent_packets as f64;
            self.coded_frames += it.natives_datagrams as f64;
            self.coded += it.natives_sent as f64;
            self.without_partner += it.natives_without_partner as f64;
            self.with_unfit_partner += it.natives_with_unfit_partner as f64;
        }
    }

    fn since(self, before: Self) -> Self {
        Self {
            relay: self.relay.since(before.relay),
            stations: self.stations.since(before.stations),
            coded_frames: self.coded_frames - before.coded_frames,
            coded: self.coded - before.coded,
            without_partner: self.without_partner - before.without_partner,
            with_unfit_partner: self.with_unfit_partner - before.with_unfit_partner,
        }
    }

    /// Packets as long as those of stations that are sent for two packets that arrive.
    fn transmissions(&self) -> f64 {
        2.0 * (1.0 + self.relay.bytes_each() / self.stations.bytes_each())
    }

    fn exchange_frames(&self) -> f64 {
        2.0 * (self.stations.frames_each() + self.relay.frames_each())
    }

    fn others(&self) -> f64 {
        self.relay.packets - self.coded - self.without_partner - self.with_unfit_partner
    }
}

const FRAMES: &str = "frames of the relay by packets that it forwards";
const BYTES: &str = "bytes of the relay by packets that it forwards";
const TRANSMISSIONS: &str = "transmissions for an exchange";

/// A quantity of a run: its series, its unit, and its reading.
type Quantity = (&'static str, &'static str, fn(&Counted) -> f64);

const QUANTITIES: [Quantity; 5] = [
    (TRANSMISSIONS, "packets", Counted::transmissions),
    ("frames of an exchange", "frames", Counted::exchange_frames),
    (FRAMES, "frames", |it| it.relay.frames_each()),
    (BYTES, "bytes", |it| it.relay.bytes_each()),
    ("packets that the relay forwards", "packets", |it| it.relay.packets),
];

/// The quantities of which coded by not coded is told, too.
const COMPARED: usize = 4;

/// A share: its series, its part and its whole.
type Share = (&'static str, fn(&Counted) -> (f64, f64));

const SHARES: [Share; 5] = [
    ("forwarded packets: in coded frames", |it| (it.coded, it.relay.packets)),
    ("forwarded packets: alone, no packet for the other station waits", |it| {
        (it.without_partner, it.relay.packets)
    }),
    ("forwarded packets: alone, the next packet for the other station does not fit", |it| {
        (it.with_unfit_partner, it.relay.packets)
    }),
    ("forwarded packets: alone, short or repeated", |it| (it.others(), it.relay.packets)),
    ("the relay's frames: coded", |it| (it.coded_frames, it.relay.frames)),
];

const WAYS: [bool; 2] = [false, true];

fn way(codes: bool) -> &'static str {
    if codes { "coded" } else { "not coded" }
}

/// Section 2.2.2: transmissions for an exchange.
fn paper(codes: bool) -> Stated {
    papers::REFACTOR.value(if codes { "section-2.2.2/cope" } else { "section-2.2.2/cope-regular" }).number()
}

/// Traffic between real daemons, by its name on the axis.
const REAL: [(&str, Traffic); 2] = [("UDP, constant rate", Traffic::Udp), ("TCP", Traffic::Tcp)];

fn needs(setting: &Setting<'_>) -> Vec<Need> {
    if setting.driver == Driver::Sim {
        return Vec::new();
    }
    let scenarios = REAL.iter().flat_map(|(_, traffic)| WAYS.map(|codes| scenario(setting, *traffic, codes)));
    scenarios.map(|scenario| Need::Scenario(Box::new(scenario))).collect()
}

/// What a run of real daemons counted.
fn counted(outcome: &Outcome) -> Result<Counted> {
    let [first, relay, last] = outcome.channels.first().context("no channel was counted")?.stations[..]
    else {
        anyhow::bail!("the channel has three stations");
    };
    let status = |name: &str| -> Result<node::Status> {
        let status = outcome.statuses.get(name).with_context(|| format!("{name} told no status"))?;
        serde_json::from_value(status["node"].clone()).with_context(|| format!("the status of {name}"))
    };
    let sent = |frames: u64, bytes: u64| Sent { frames: frames as f64, bytes: bytes as f64, packets: 0.0 };
    let [first, last] = [first, last].map(|it| it.offered);
    let mut counted = Counted {
        relay: sent(relay.offered.packets, relay.offered.bytes),
        stations: sent(first.packets + last.packets, first.bytes + last.bytes),
        ..Counted::default()
    };
    counted.add_relay(&status(RELAY)?);
    for station in STATIONS {
        counted.add_station(&status(station)?);
    }
    Ok(counted)
}

/// Runs of one kind of traffic, not coded and coded, by seed.
type Runs = [Vec<Counted>; 2];

fn of_traffic(rows: &mut Vec<Row>, traffic: &str, runs: &Runs, (driver, seeds): (Driver, u32)) {
    let mean = |runs: &[Counted], measure: fn(&Counted) -> f64| {
        Estimate::mean(&runs.iter().map(measure).collect::<Vec<_>>())
    };
    let row = |series: String, unit: &str| Row::new(FIGURE.id, series, traffic, unit);
    for (codes, runs) in WAYS.into_iter().zip(runs) {
        for (series, unit, measure) in QUANTITIES {
            let row = row(format!("{series}: {}", way(codes)), unit);
            let row = row.measured(mean(runs, measure), driver, seeds);
            rows.push(if series == TRANSMISSIONS { row.paper(paper(codes)) } else { row });
        }
    }
    let [plain, coded] = runs;
    for (series, _, measure) in &QUANTITIES[..COMPARED] {
        let pairs: Vec<(f64, f64)> =
            coded.iter().zip(plain).map(|(coded, plain)| (measure(coded), measure(plain))).collect();
        let row = row(format!("{series}: coded by not coded"), "ratio");
        rows.push(row.measured(Estimate::paired_ratio(&pairs), driver, seeds));
    }
    for (series, parts) in SHARES {
        let pairs: Vec<(f64, f64)> = coded.iter().map(parts).collect();
        let row = row(series.to_owned(), "share");
        rows.push(row.measured(Estimate::paired_ratio(&pairs), driver, seeds));
    }
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let driver = results.setting.driver;
    let mut rows = Vec::new();
    if driver == Driver::Sim {
        let seeds = results.setting.plan.seeds(10, 2, 1);
        for traffic in in_process::Traffic::ALL {
            let runs = WAYS.map(|codes| {
                (1..=u64::from(seeds))
                    .map(|seed| in_process::run(traffic, codes, seed))
                    .collect::<Result<_>>()
            });
            let [plain, coded] = runs;
            of_traffic(&mut rows, traffic.name(), &[plain?, coded?], (driver, seeds));
        }
        return Ok(rows);
    }
    let seeds = seeds(&results.setting);
    for (traffic, real) in REAL {
        let runs = WAYS.map(|codes| -> Result<Vec<Counted>> {
            results.outcomes(&name(real, codes))?.iter().map(counted).collect()
        });
        let [plain, coded] = runs;
        of_traffic(&mut rows, traffic, &[plain?, coded?], (driver, seeds));
    }
    Ok(rows)
}

/// Holds rows against every claim.
pub fn claims(rows: &[Row]) -> Vec<Claim> {
    let fewer = |what: &str, claim: &str| {
        let series = format!("{what}: coded by not coded");
        let (mut found, mut holds) = (Vec::new(), true);
        for row in of(rows, FIGURE.id).filter(|row| row.series == series) {
            let Some(ratio) = row.value else { continue };
            holds &= ratio < 1.0;
            found.push(format!("{}: {ratio:.3}", row.x));
        }
        Claim::judged(claim, found, holds)
    };
    vec![
        fewer(BYTES, "figure 1d: coded, a relay sends fewer bytes for each packet"),
        fewer(FRAMES, "figure 1d: coded, a relay sends fewer frames for each packet"),
    ]
}

/// Holds rows of one process against the claims that only they can meet.
pub fn claims_in_process(rows: &[Row]) -> Vec<Claim> {
    let constant = in_process::Traffic::Constant.name();
    let exchange = value(rows, FIGURE.id, &format!("{TRANSMISSIONS}: coded"), constant);
    let holds = exchange.is_some_and(|exchange| Band::around_by(paper(true), 0.05).has(exchange));
    let found = exchange.iter().map(|exchange| format!("{exchange:.2}")).collect();
    let claim = format!(
        "figure 1d: full packets that all meet take {} transmissions for an exchange, within 5%",
        paper(true)
    );
    vec![Claim::judged(claim, found, holds)]
}
