//! Section 2.2.2's opportunistic routing, over measured receptions.

use std::sync::Arc;

use air::receptions::read_paths;
use anyhow::{Context as _, Result};
use indicatif::ProgressBar;

use super::opportunistic::{Mesh, Opportunistic, Scheme, Taken};
use super::trial::fresh;
use crate::estimate::Estimate;
use crate::figure::{Figure, Results};
use crate::parallel;
use crate::report::Claim;
use crate::row::{Driver, Row, X, of};
use crate::trace::{Composer, Fresh, Kind, Meter, Mix, TracePacket, unrepeated};

/// ExOR.
pub const FIGURE: Figure = Figure {
    id: "exor",
    title: "Opportunistic routing over measured receptions, with and without RE",
    x: "recording",
    remark: "Air time relative to ExOR alone, the mean of all runs, with 802.11g's times at 6 Mbit/s, over pairs of a testbed's radios that reach each \
             other over others only; batches of about 64 fragments. Which radio hears which frame is as it was recorded, at three \
             powers of noise. To one destination half of the bytes were sent there before; to two, the same share to the other one, \
             so that it is forwarders, and destinations that overhear, who hold it: they are told by name what they hold, and \
             reordered, who holds much of a batch comes earlier. As printed: the paper's codec removes what the destination has, and \
             knows it exactly; it has no series that tells forwarders. Without repetition nothing is to be saved. Batches are filled in \
             either case: what is reduced shares fragments. Left out where the evaluation data is not there.",
    needs: |_| Vec::new(),
    rows,
};

const RECORDINGS: [&str; 3] = ["rutgers_dbm-20", "rutgers_dbm-10", "rutgers_dbm0"];
const ALL: &str = "all";
const SHARE: &str = "share that repeats, one destination";
const REORDERED: &str = "batches with a forwarder in an earlier turn, two destinations";

/// The traffic.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Carried {
    OneDestination(Kind),
    TwoDestinations,
    Unrepeated,
}

impl Carried {
    const ALL: [Self; 4] = [
        Self::OneDestination(Kind::Whole),
        Self::OneDestination(Kind::Fine),
        Self::TwoDestinations,
        Self::Unrepeated,
    ];

    fn name(self) -> String {
        match self {
            Self::OneDestination(kind) => format!("one destination, {kind}"),
            Self::TwoDestinations => "two destinations, whole".to_owned(),
            Self::Unrepeated => "nothing repeats".to_owned(),
        }
    }

    fn schemes(self) -> &'static [Scheme] {
        match self {
            Self::TwoDestinations => {
                const ALL: [Scheme; 5] = [
                    Scheme::Exor,
                    Scheme::ReducedAsPrinted,
                    Scheme::Reduced,
                    Scheme::ReducedForForwarders,
                    Scheme::Reordered,
                ];
                &ALL
            }
            _ => &[Scheme::Exor, Scheme::ReducedAsPrinted, Scheme::Reduced],
        }
    }

    fn trace(self, fresh: &Arc<Fresh>, bytes: u64, seed: u64) -> Box<dyn Iterator<Item = TracePacket>> {
        let fresh = Arc::clone(fresh);
        match self {
            Self::OneDestination(kind) => Box::new(Composer::new(fresh, Mix::Low, kind, bytes, seed)),
            Self::TwoDestinations => Box::new(Composer::new(fresh, Mix::High, Kind::Whole, bytes, seed)),
            Self::Unrepeated => Box::new(unrepeated(fresh, bytes, seed)),
        }
    }
}

fn scheme_name(scheme: Scheme) -> &'static str {
    match scheme {
        Scheme::Exor => "ExOR",
        Scheme::ReducedAsPrinted => "ExOR and RE, as printed",
        Scheme::Reduced => "ExOR and RE, ours",
        Scheme::ReducedForForwarders => "ExOR and RE, ours, forwarders too",
        Scheme::Reordered => "ExOR and RE, ours, forwarders reordered",
    }
}

fn series(carried: Carried, scheme: Scheme) -> String {
    format!("air time, {}: {}", carried.name(), scheme_name(scheme))
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let setting = &results.setting;
    let fresh = fresh(setting)?;
    let bytes: u64 = setting.plan.choose(8 << 20, 1 << 20, 1 << 20);
    // where in the recordings a run begins decides much
    let seeds = u64::from(setting.plan.seeds(3, 2, 1));
    let slot_bits = setting.plan.choose(18, 16, 16);
    let most_pairs = setting.plan.choose(6, 2, 1);
    let mut meshes = Vec::new();
    for recording in RECORDINGS {
        let Some(table) = setting.contents.receptions(recording)? else { return Ok(Vec::new()) };
        meshes.push((recording, Mesh::new(&read_paths(&table)?)));
    }
    let mut cells = Vec::new();
    for (recording, mesh) in &meshes {
        for (source, destination) in mesh.far_pairs(most_pairs) {
            for carried in Carried::ALL {
                let destinations = match carried {
                    Carried::TwoDestinations => {
                        let Some(second) = mesh.second_destination(source, destination) else { continue };
                        vec![destination, second]
                    }
                    _ => vec![destination],
                };
                for seed in 1..=seeds {
                    cells.extend(carried.schemes().iter().map(|scheme| {
                        let destinations = destinations.clone();
                        (*recording, mesh, source, destinations, carried, *scheme, seed)
                    }));
                }
            }
        }
    }
    let taken = parallel::map(
        &cells,
        &ProgressBar::hidden(),
        |(recording, mesh, source, destinations, carried, scheme, seed)| {
            let run = Opportunistic {
                mesh,
                source: *source,
                destinations: destinations.clone(),
                scheme: *scheme,
                slot_bits,
                seed: *seed,
            };
            run.of(carried.trace(&fresh, bytes, *seed)).with_context(|| {
                let names: Vec<&str> = destinations.iter().map(|node| mesh.name(*node)).collect();
                format!(
                    "{recording}, {} to {}, {}",
                    mesh.name(*source),
                    names.join(" and "),
                    scheme_name(*scheme)
                )
            })
        },
    )?;
    let mut rows = Vec::new();
    for carried in Carried::ALL {
        for scheme in carried.schemes().iter().copied() {
            for recording in RECORDINGS.into_iter().chain([ALL]) {
                let of_scheme = |scheme: Scheme| -> Vec<&Taken> {
                    let wanted = cells.iter().zip(&taken).filter(|((at, .., of, with, _), _)| {
                        (recording == ALL || *at == recording) && *of == carried && *with == scheme
                    });
                    wanted.map(|(_, taken)| taken).collect()
                };
                let (ours, plain) = (of_scheme(scheme), of_scheme(Scheme::Exor));
                // each run counts as much, however far it went
                let pairs: Vec<(f64, f64)> = ours
                    .iter()
                    .zip(&plain)
                    .map(|(ours, plain)| (ours.air_seconds / plain.air_seconds, 1.0))
                    .collect();
                let fragments: u64 = ours.iter().map(|taken| taken.fragments).sum();
                rows.push(
                    Row::new(FIGURE.id, series(carried, scheme), recording, "ratio")
                        .measured(Estimate::paired_ratio(&pairs), Driver::Sim, seeds as u32)
                        .note(format!(
                            "{} pairs, {} MiB each, {fragments} fragments",
                            ours.len(),
                            bytes >> 20
                        )),
                );
            }
        }
    }
    let reordered = cells.iter().zip(&taken).filter(|((.., with, _), _)| *with == Scheme::Reordered);
    let counted = reordered
        .fold((0, 0), |(all, changed), (_, taken)| (all + taken.batches, changed + taken.reordered_batches));
    rows.push(
        Row::new(FIGURE.id, REORDERED, ALL, "share")
            .exactly(counted.1 as f64 / counted.0.max(1) as f64)
            .note(format!("{} of {} batches", counted.1, counted.0)),
    );
    for kind in Kind::ALL {
        let mut meter = Meter::default();
        Carried::OneDestination(kind).trace(&fresh, bytes, 1).for_each(|packet| meter.observe(&packet));
        let (inter, intra) = meter.shares().max_match;
        rows.push(Row::new(FIGURE.id, format!("{SHARE}: {kind}"), ALL, "ratio").exactly(inter + intra));
    }
    Ok(rows)
}

/// Air time below ExOR's by at least .8 of the share that repeats; what each design of section 2.2.2 adds, by
/// itself; and at most 1% more on traffic without redundancy.
#[must_use]
pub fn claims(rows: &[Row]) -> Vec<Claim> {
    let at = |series: &str, place: &str| {
        let place = X::from(place);
        of(rows, FIGURE.id).find(|row| row.series == series && row.x == place)?.value
    };
    let saved = |carried: Carried, scheme: Scheme| Some(1.0 - at(&series(carried, scheme), ALL)?);
    let mut claims = Vec::new();
    // packets are not divided among fragments, which costs where all of them are about half as long
    for (kind, least) in [(Kind::Whole, 0.8), (Kind::Fine, 0.7)] {
        let share = at(&format!("{SHARE}: {kind}"), ALL);
        let saved = saved(Carried::OneDestination(kind), Scheme::Reduced);
        let both = saved.zip(share);
        let found = both.map(|(saved, share)| {
            format!("{:.1}% saved of {:.1}%: {:.2}", 100.0 * saved, 100.0 * share, saved / share)
        });
        claims.push(Claim::judged(
            format!(
                "ours, ExOR and RE, {kind}: air time lower by at least {least} of the share that repeats"
            ),
            found.into_iter().collect(),
            both.is_some_and(|(saved, share)| saved >= least * share),
        ));
    }
    let two = |scheme| saved(Carried::TwoDestinations, scheme);
    for (scheme, than, what) in [
        (Scheme::ReducedForForwarders, Scheme::Reduced, "naming what forwarders overheard"),
        (Scheme::Reordered, Scheme::ReducedForForwarders, "an earlier turn of the forwarder that holds most"),
    ] {
        let both = two(scheme).zip(two(than));
        let found = both.map(|(ours, theirs)| format!("{:.2}% and {:.2}%", 100.0 * ours, 100.0 * theirs));
        claims.push(Claim::judged(
            format!("ours, ExOR and RE to two destinations: {what} saves more air time than without"),
            found.into_iter().collect(),
            both.is_some_and(|(ours, theirs)| ours > theirs),
        ));
    }
    let changed = at(REORDERED, ALL);
    claims.push(Claim::judged(
        "ours, ExOR to two destinations: what is held changes the order of forwarders in some batches",
        changed.iter().map(|share| format!("in {:.1}%", 100.0 * share)).collect(),
        changed > Some(0.0),
    ));
    let printed = Kind::ALL.map(|kind| saved(Carried::OneDestination(kind), Scheme::ReducedAsPrinted));
    let printed: Vec<f64> = printed.into_iter().flatten().collect();
    claims.push(Claim::judged(
        "as printed, ExOR and RE to one destination: air time lower than ExOR's",
        printed.iter().map(|saved| format!("{:.1}% saved", 100.0 * saved)).collect(),
        printed.iter().all(|saved| *saved > 0.0),
    ));
    let unrepeated: Vec<f64> = of(rows, FIGURE.id)
        .filter(|row| row.series == series(Carried::Unrepeated, Scheme::Reduced))
        .filter_map(|row| row.value)
        .collect();
    let worst = unrepeated.into_iter().reduce(f64::max);
    claims.push(Claim::judged(
        "ours, ExOR and RE where nothing repeats: never more than 1% more air time",
        worst.iter().map(|worst| format!("{:+.2}% at worst", 100.0 * (worst - 1.0))).collect(),
        worst.is_some_and(|worst| worst <= 1.01),
    ));
    claims
}
