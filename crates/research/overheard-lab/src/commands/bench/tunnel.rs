//! Whole tunnels: two daemons between two namespaces, real devices, real traffic; beside implementations of
//! WireGuard in user space and the bare cable.
//!
//! All set-ups exist at once and are measured in turn, in another order each round, so that other load
//! affects all alike. Comparisons are within a round. Both ends of the traffic run on the same processors as
//! both ends of the tunnel.

mod bulk;
mod datagrams;
mod echo;
mod ground;
mod quic;
mod relay;
mod wireguard;

use super::figure::{self, Figure};
use super::{Progress, kept};
use datagrams::Leave;
pub(super) use echo::answers;
use experiments::row::Row;
pub(super) use ground::Way;
use ground::{Ground, Tunnel, WIREGUARDS};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};
pub(super) use wireguard::{Implementation, hexadecimal, set};

/// Duration of a transfer's measurement.
const TRANSFER: Duration = Duration::from_millis(1500);
/// Echo requests each way in a round.
const ECHOES: usize = 100;

/// The traffic of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Load {
    /// Incompressible data by a TCP connection.
    One,
    /// By four.
    Four,
    /// Half-repeating data by a TCP connection.
    HalfRepeating,
    /// UDP datagrams.
    Datagrams,
    /// UDP datagrams in rows.
    Rows,
    /// Incompressible data by a QUIC connection.
    Quic,
}

impl Load {
    const ALL: [Load; 6] =
        [Load::One, Load::Four, Load::HalfRepeating, Load::Datagrams, Load::Rows, Load::Quic];

    fn name(self) -> &'static str {
        match self {
            Load::One => "TCP",
            Load::Four => "four TCP flows",
            Load::HalfRepeating => "TCP, half repeats",
            Load::Datagrams => "UDP",
            Load::Rows => "UDP in rows",
            Load::Quic => "QUIC",
        }
    }

    /// Whether it is worth measuring: contents matter only to redundancy elimination.
    fn is_for(self, way: Way) -> bool {
        way != Way::Empty && (self != Load::HalfRepeating || way == Way::Overheard)
    }
}

/// What one round gave.
#[derive(Default)]
struct Round {
    /// Gbit/s.
    rates: BTreeMap<(Way, Load), f64>,
    /// Nanoseconds of processor time that both ends' programs take for a byte.
    costs: BTreeMap<(Way, Load), f64>,
    /// Microseconds, medians of the round.
    echoes: BTreeMap<Way, f64>,
}

/// Shows the figures and returns them as rows.
pub fn run(rounds: u32, json: bool) -> anyhow::Result<Vec<Row>> {
    let progress = Progress::new(json, u64::from(rounds), "building what is compared with (minutes, once)");
    let wireguards: Vec<_> = WIREGUARDS.into_iter().map(|way| (way, Implementation::of(way))).collect();
    progress.say("standing up two namespaces".to_owned());
    let ground = Ground::lay(&wireguards)?;
    let contents = [bulk::incompressible(), bulk::half_repeating()];
    let mut all = Vec::new();
    for number in 0..rounds {
        let mut round = Round::default();
        for load in Load::ALL {
            let mut tunnels: Vec<&Tunnel> = ground.tunnels.iter().filter(|it| load.is_for(it.way)).collect();
            let count = tunnels.len();
            tunnels.rotate_left(number as usize % count);
            for tunnel in tunnels {
                progress.say(format!("round {} of {rounds}: {} by {}", number + 1, load.name(), tunnel.way));
                measure(&ground, tunnel, load, &contents, &mut round)?;
            }
        }
        progress.say(format!("round {} of {rounds}: echoes", number + 1));
        let ways: Vec<Way> = ground.tunnels.iter().map(|tunnel| tunnel.way).collect();
        let addresses: Vec<IpAddr> = ways.iter().map(|way| way.gateway()).collect();
        let medians = echo::medians(&ground.station, &addresses, ECHOES)?;
        round.echoes = ways.into_iter().zip(medians).collect();
        all.push(round);
        progress.step();
    }
    progress.finish();
    let versions: BTreeMap<Way, &str> =
        ground.tunnels.iter().filter_map(|it| Some((it.way, it.version.as_deref()?))).collect();
    let figures = figures(&all, &versions);
    figure::show(&figures, &ground.absent, json)?;
    Ok(figures.iter().flat_map(|figure| kept::rows("tunnel", figure)).collect())
}

/// Adds one transfer to the round.
fn measure(
    ground: &Ground,
    tunnel: &Tunnel,
    load: Load,
    [incompressible, half_repeating]: &[Vec<u8>; 2],
    round: &mut Round,
) -> anyhow::Result<()> {
    let way = tunnel.way;
    let (before, start) = (tunnel.processor_seconds()?, Instant::now());
    let rate = match load {
        Load::One => bulk::rate(ground, way, incompressible, 1, TRANSFER),
        Load::Four => bulk::rate(ground, way, incompressible, 4, TRANSFER),
        Load::HalfRepeating => bulk::rate(ground, way, half_repeating, 1, TRANSFER),
        Load::Datagrams => datagrams::rate(ground, way, incompressible, Leave::Singly, TRANSFER),
        Load::Rows => datagrams::rate(ground, way, incompressible, Leave::InRows, TRANSFER),
        Load::Quic => quic::rate(ground, way, incompressible, TRANSFER),
    }?;
    // The warm-up also costs; the rate is taken for the whole time.
    let bytes = rate * 1e9 / 8.0 * start.elapsed().as_secs_f64();
    let cost = (tunnel.processor_seconds()? - before) * 1e9 / bytes.max(1.0);
    round.rates.insert((way, load), rate);
    if cost > 0.0 {
        round.costs.insert((way, load), cost);
    }
    Ok(())
}

/// The name of a way in figures, with its version.
fn named(way: Way, versions: &BTreeMap<Way, &str>) -> String {
    match versions.get(&way) {
        Some(version) => format!("{way} {version}"),
        None => way.to_string(),
    }
}

/// The figures of all rounds, without those that have none.
fn figures(all: &[Round], versions: &BTreeMap<Way, &str>) -> Vec<Figure> {
    let sample = |of: &dyn Fn(&Round) -> Option<f64>| all.iter().filter_map(of).collect::<Vec<f64>>();
    let ways = [Way::Overheard, Way::Unreduced].into_iter().chain(WIREGUARDS).chain([Way::Empty, Way::Bare]);
    let ways: Vec<Way> = ways.collect();
    let mut figures = Vec::new();
    for load in Load::ALL {
        for &way in &ways {
            let name = format!("{}: {}", load.name(), named(way, versions));
            let rates = sample(&|round| round.rates.get(&(way, load)).copied());
            figures.push(Figure::of(&name, rates, "Gbit/s"));
        }
        let is_tcp = matches!(load, Load::One | Load::Four);
        let wanted = [Some("1.2 or more"), is_tcp.then_some("2 or more"), None];
        let unreduced = [is_tcp.then_some("1.5 or more"), None, None];
        for (own, wanted) in [(Way::Overheard, wanted), (Way::Unreduced, unreduced)] {
            for (other, wanted) in WIREGUARDS.into_iter().zip(wanted) {
                let ratio =
                    |round: &Round| Some(round.rates.get(&(own, load))? / round.rates.get(&(other, load))?);
                let name = format!("{}: {own} / {other}", load.name());
                figures.push(Figure::of(&name, sample(&ratio), "ratio").wanted(wanted));
            }
        }
    }
    let repeating = |round: &Round| {
        let rate = |load| round.rates.get(&(Way::Overheard, load)).copied();
        Some(rate(Load::HalfRepeating)? / rate(Load::One)?)
    };
    figures
        .push(Figure::of("half repeats / incompressible", sample(&repeating), "ratio").wanted("1 or more"));
    for load in Load::ALL {
        for &way in &ways {
            let name = format!("processor time, {}: {}", load.name(), named(way, versions));
            let costs = sample(&|round| round.costs.get(&(way, load)).copied());
            figures.push(Figure::of(&name, costs, "ns a byte"));
        }
    }
    let echo = |way: Way| move |round: &Round| round.echoes.get(&way).copied();
    let difference =
        |way: Way, from: Way| move |round: &Round| Some(round.echoes.get(&way)? - round.echoes.get(&from)?);
    figures.push(Figure::of("echo, bare cable", sample(&echo(Way::Bare)), "µs"));
    for &way in ways.iter().filter(|way| **way != Way::Bare) {
        let name = format!("echo, added by {}", named(way, versions));
        figures.push(Figure::of(&name, sample(&difference(way, Way::Bare)), "µs"));
    }
    let own = sample(&difference(Way::Overheard, Way::Empty));
    figures.push(Figure::of("echo, the node's own share", own, "µs").wanted("below 100"));
    figures.retain(|figure| !figure.median.is_nan());
    figures
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_taken_within_rounds_and_what_was_not_measured_is_left_out() {
        let round = |own: f64, other: Option<f64>| {
            let others = other.map(|rate| ((Way::NewestWireguardGo, Load::One), rate));
            let rates = [((Way::Overheard, Load::One), own)].into_iter().chain(others).collect();
            Round { rates, ..Round::default() }
        };
        // a slow round is slow for both: the ratios differ less than the rates
        let rounds = [round(1.0, Some(0.5)), round(4.0, Some(2.0)), round(2.0, Some(1.0))];
        let versions = BTreeMap::from([(Way::NewestWireguardGo, "v7")]);
        let all = figures(&rounds, &versions);
        let median = |name: &str| all.iter().find(|figure| figure.name == name).map(|figure| figure.median);
        assert_eq!(median("TCP: overheard / newest wireguard-go"), Some(2.0));
        assert_eq!(median("TCP: overheard"), Some(2.0));
        assert_eq!(median("TCP: newest wireguard-go v7"), Some(1.0));
        let alone = figures(&[round(1.0, None)], &versions);
        assert!(alone.iter().all(|figure| !figure.name.contains("wireguard")));
    }
}
