//! Faults of a first hour, for two nodes of Overheard and for two of the newest wireguard-go.
//!
//! Each fault has fresh namespaces for each program: a gateway, a station, and a second machine of the
//! station, on one switch. Datagrams with numbers go from the station to the gateway and back, or one TCP
//! connection carries new bytes. An *outage* is the longest time without any of them after the fault.

mod field;
mod flows;
mod probe;
mod system;
mod transfer;

use super::figure::{self, Figure};
use super::tunnel::{Implementation, Way};
use super::{Progress, kept};
use anyhow::ensure;
use experiments::row::Row;
use field::{Field, GATEWAY, STATION, TWIN};
use probe::Observed;
use std::time::{Duration, Instant};
use system::System;

/// The longest outage that is waited for.
const PATIENCE: Duration = Duration::from_secs(40);
/// What a narrowed interface or path carries.
const NARROW_BYTES: u16 = 1300;
/// The second machine's run.
const TWIN_RUNS: Duration = Duration::from_secs(5);

/// The name of the part that counts losses of flows.
const FLOWS: &str = "20 flows";

/// A fault, or a change that should be none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    Reload,
    PeerAdd,
    Restart,
    Kill,
    SameKey,
    OtherPort,
    NarrowInterface,
    BlackHole,
    Outage(u64),
}

impl Fault {
    const ALL: [Fault; 10] = [
        Fault::Reload,
        Fault::PeerAdd,
        Fault::Restart,
        Fault::Kill,
        Fault::SameKey,
        Fault::OtherPort,
        Fault::NarrowInterface,
        Fault::BlackHole,
        Fault::Outage(3),
        Fault::Outage(25),
    ];

    fn name(self) -> String {
        match self {
            Fault::Reload => "a station is added, and the gateway reloads".to_owned(),
            Fault::PeerAdd => "a station is added by a command".to_owned(),
            Fault::Restart => "the gateway restarts".to_owned(),
            Fault::Kill => "the gateway is killed and starts again".to_owned(),
            Fault::SameKey => "another machine had the station's key".to_owned(),
            Fault::OtherPort => "the gateway gets another port".to_owned(),
            Fault::NarrowInterface => "both interfaces get an MTU of 1300".to_owned(),
            Fault::BlackHole => "the path drops datagrams above 1300 bytes".to_owned(),
            Fault::Outage(seconds) => format!("after {seconds} s without a link"),
        }
    }

    /// Makes the fault. Returns its time.
    fn make(self, field: &Field, system: &mut System) -> anyhow::Result<Instant> {
        let began = Instant::now();
        match self {
            Fault::Reload => system.add_station(field, true)?,
            Fault::PeerAdd => system.add_station(field, false)?,
            Fault::Restart => {
                system.stop(GATEWAY);
                system.start(field, GATEWAY)?;
            }
            Fault::Kill => {
                system.kill(GATEWAY);
                system.start(field, GATEWAY)?;
            }
            Fault::SameKey => {
                system.start(field, TWIN)?;
                std::thread::sleep(TWIN_RUNS);
                system.kill(TWIN);
                return Ok(Instant::now());
            }
            Fault::OtherPort => system.move_gateway(field)?,
            Fault::NarrowInterface => field.set_mtu(NARROW_BYTES)?,
            Fault::BlackHole => field.drop_above(NARROW_BYTES)?,
            Fault::Outage(seconds) => {
                field.cut()?;
                std::thread::sleep(Duration::from_secs(seconds));
                field.mend()?;
                return Ok(Instant::now());
            }
        }
        Ok(began)
    }
}

/// The programs to compare, and what each run gives.
struct Comparison {
    wireguard: Implementation,
    samples: Vec<(String, &'static str, Option<&'static str>, Vec<f64>)>,
}

impl Comparison {
    fn note(&mut self, name: String, unit: &'static str, wanted: Option<&'static str>, value: f64) {
        match self.samples.iter_mut().find(|(other, ..)| *other == name) {
            Some((.., sample)) => sample.push(value),
            None => self.samples.push((name, unit, wanted, vec![value])),
        }
    }

    fn systems(&self) -> anyhow::Result<[System; 2]> {
        Ok([System::overheard()?, System::wireguard(self.wireguard.clone())])
    }
}

/// Shows the figures and returns them as rows. `only`: what the names of faults contain.
pub fn run(rounds: u32, only: Option<&str>, json: bool) -> anyhow::Result<Vec<Row>> {
    let is_wanted = |name: &str| only.is_none_or(|only| name.contains(only));
    let faults: Vec<Fault> = Fault::ALL.into_iter().filter(|fault| is_wanted(&fault.name())).collect();
    let with_flows = is_wanted(FLOWS);
    ensure!(
        with_flows || !faults.is_empty(),
        "--only {}: no fault has that in its name; there are:\n{}\n{FLOWS}",
        only.unwrap_or_default(),
        Fault::ALL.map(Fault::name).join("\n")
    );
    let steps = u64::from(rounds) * (faults.len() as u64 + u64::from(with_flows)) * 2;
    let progress = Progress::new(json, steps, "building wireguard-go (minutes, once)");
    let wireguard = Implementation::of(Way::NewestWireguardGo)?;
    let mut comparison = Comparison { wireguard, samples: Vec::new() };
    for _ in 0..rounds {
        for &fault in &faults {
            for system in comparison.systems()? {
                let label = system.label();
                progress.say(format!("{}: {label}", fault.name()));
                measure(fault, system, &mut comparison)?;
                progress.step();
            }
        }
        if !with_flows {
            continue;
        }
        for system in comparison.systems()? {
            progress.say(format!("{FLOWS}: {}", system.label()));
            flows(system, &mut comparison)?;
            progress.step();
        }
    }
    progress.finish();
    let figures: Vec<Figure> = comparison
        .samples
        .into_iter()
        .map(|(name, unit, wanted, sample)| Figure::of(&name, sample, unit).wanted(wanted))
        .collect();
    figure::show(&figures, &[], json)?;
    Ok(figures.iter().flat_map(|figure| kept::rows("faults", figure)).collect())
}

fn measure(fault: Fault, mut system: System, comparison: &mut Comparison) -> anyhow::Result<()> {
    let field = Field::lay()?;
    let label = system.label();
    system.start(&field, GATEWAY)?;
    system.start(&field, STATION)?;
    field.await_answer(&system)?;
    let name = format!("{}: {label}", fault.name());
    let wanted = (label == system::OVERHEARD).then_some("wireguard-go's or less");
    if matches!(fault, Fault::NarrowInterface | Fault::BlackHole) {
        let stall =
            transfer::longest_stall(&field, &system.gateway(), PATIENCE, || fault.make(&field, &mut system))?;
        comparison.note(name, "ms without bytes", wanted, milliseconds(stall));
        if fault == Fault::NarrowInterface && label == system::OVERHEARD {
            // a node looks for a wider path only while it has large datagrams to send
            let mut raised = PATIENCE;
            transfer::longest_stall(&field, &system.gateway(), PATIENCE, || {
                field.set_mtu(1500)?;
                raised = system.until_path_mtu(&field, 1480, PATIENCE)?;
                Ok(Instant::now())
            })?;
            comparison.note(
                "the MTU is 1500 again: found after".to_owned(),
                "ms",
                Some("10000 or less"),
                milliseconds(raised),
            );
        }
        return Ok(());
    }
    let gateway = system.gateway();
    let observed: Observed = probe::watch(&field, &gateway, PATIENCE, || fault.make(&field, &mut system))?;
    comparison.note(name, "ms without answers", wanted, milliseconds(observed.outage()));
    if let Fault::Outage(seconds) = fault {
        let name = format!("oldest datagram after {seconds} s without a link: {label}");
        let wanted = (label == system::OVERHEARD).then_some("about 1000 or less");
        comparison.note(name, "ms old", wanted, milliseconds(observed.oldest()));
    }
    Ok(())
}

/// Losses of 20 flows, with changes of the peers and without.
fn flows(system: System, comparison: &mut Comparison) -> anyhow::Result<()> {
    let (field, mut system) = (Field::lay()?, system);
    let label = system.label();
    system.start(&field, GATEWAY)?;
    system.start(&field, STATION)?;
    field.await_answer(&system)?;
    let gateway = system.gateway();
    for (rate, megabits) in [("100 Mbit/s", 100), ("1 Gbit/s", 1000)] {
        let wanted = |text| (label == system::OVERHEARD).then_some(text);
        let wanted = wanted(if megabits == 100 { "0" } else { "no more than without" });
        let alone = flows::lost(&field, &gateway, megabits, || Ok(()))?;
        comparison.note(format!("20 flows, {rate}, nothing changes: {label}"), "datagrams lost", None, alone);
        for (what, reloads) in [("reload", true), ("peer add", false)] {
            let lost = flows::lost(&field, &gateway, megabits, || system.add_station(&field, reloads))?;
            comparison.note(format!("20 flows, {rate}, {what}: {label}"), "datagrams lost", wanted, lost);
        }
    }
    Ok(())
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
