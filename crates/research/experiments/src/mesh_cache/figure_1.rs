//! Figure 1 (e) and (f): how often clients ask for what another of them has asked for, by how many they are.

use anyhow::Result;
use rand::SeedableRng as _;
use rand::seq::SliceRandom as _;
use rand_chacha::ChaCha8Rng;

use super::log::{LOGS, Log};
use crate::estimate::Estimate;
use crate::figure::{Figure, Results};
use crate::papers::{self, Stated};
use crate::plan::Plan;
use crate::row::{Driver, Row};

/// Figure 1 (e) and (f).
pub const FIGURE: Figure = Figure {
    id: "1",
    title: "Locality of small populations",
    x: "clients",
    remark: "Requests of so many clients of a log, drawn 25 times, through a cache without bound. The paper's logs are of ten \
             proxies; these are of two sites, whose visitors all want the same thousand or two of files, so that they hit \
             more often and need far less room. That both grow with the population is what can be compared.",
    needs: |_| Vec::new(),
    rows,
};

pub(super) const HITS: &str = "hit rate";
pub(super) const WORKING_SET: &str = "working set";
/// The paper's least and largest populations.
pub(super) const POPULATIONS: [usize; 2] = [50, 500];
const DRAWS: u64 = 25;

fn populations(plan: &Plan) -> Vec<usize> {
    plan.choose((1..=10).map(|it| it * 50).collect(), POPULATIONS.to_vec(), POPULATIONS.to_vec())
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (file, name) in LOGS {
        let Some(log) = Log::take(results.setting.contents, file)? else { continue };
        for population in populations(&results.setting.plan) {
            let drawn: Vec<(f64, f64)> = (1..=DRAWS).map(|seed| locality(&log, population, seed)).collect();
            let [paper_hits, paper_working_set] = paper(population);
            let mut row =
                |series: &str, unit: &str, paper: Option<Stated>, measure: fn(&(f64, f64)) -> f64| {
                    let mean = Estimate::mean(&drawn.iter().map(measure).collect::<Vec<_>>());
                    let row = Row::new(FIGURE.id, format!("{series}: {name}"), population as f64, unit);
                    rows.push(row.measured(mean, Driver::Offline, DRAWS as u32).paper(paper));
                };
            row(HITS, "share", paper_hits, |it| it.0);
            row(WORKING_SET, "MB", paper_working_set, |it| it.1);
        }
    }
    Ok(rows)
}

/// The paper's hit rate and working set in MB.
fn paper(population: usize) -> [Option<Stated>; 2] {
    let stated = |id| papers::MESHCACHE.value(id).number();
    match population {
        50 => [
            Some(stated("section-2/hit-rate/clients-50").share()),
            Some(stated("section-2/working-set-population-50")),
        ],
        500 => [
            Some(stated("section-2/hit-rate/clients-500").share()),
            Some(stated("section-2/working-set-population-500").thousands()),
        ],
        _ => [None; 2],
    }
}

/// Hit rate and working set in MB of a population of clients.
fn locality(log: &Log, population: usize, seed: u64) -> (f64, f64) {
    let mut clients: Vec<usize> = (0..log.clients).collect();
    clients.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
    clients.truncate(population);
    let mut chosen = vec![false; log.clients];
    clients.iter().for_each(|client| chosen[*client] = true);
    let mut lengths: Vec<Option<u64>> = Vec::new();
    let (mut asked, mut hits) = (0u32, 0u32);
    for request in log.requests.iter().filter(|request| chosen[request.client]) {
        asked += 1;
        let Some(object) = request.object else { continue };
        if object >= lengths.len() {
            lengths.resize(object + 1, None);
        }
        hits += u32::from(lengths[object].is_some());
        lengths[object] = lengths[object].max(Some(request.bytes));
    }
    let kept: u64 = lengths.iter().flatten().sum();
    (f64::from(hits) / f64::from(asked.max(1)), kept as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::super::log::Request;
    use super::*;

    #[test]
    fn the_papers_ends_are_those_of_its_curves() {
        let at = |population| paper(population).map(|it| it.map(Stated::get));
        assert_eq!(POPULATIONS.map(at), [[Some(0.35), Some(500.0)], [Some(0.45), Some(5200.0)]]);
        assert_eq!(at(100), [None; 2]);
    }

    #[test]
    fn what_somebody_of_them_has_asked_for_is_a_hit() {
        let request = |client, object| Request { client, object, bytes: 1_000_000 };
        let requests = vec![
            request(0, Some(0)),
            request(1, Some(0)),
            request(1, None),
            request(0, Some(1)),
            request(1, Some(1)),
        ];
        let log = Log { requests, clients: 2 };
        assert_eq!(locality(&log, 2, 1), (0.4, 2.0));
        let alone = locality(&log, 1, 1);
        assert_eq!(alone.0, 0.0);
    }
}
