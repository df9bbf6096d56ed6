//! Figure 1 (e) and (f): how often clients ask for what another of them has asked for, by how many they are.

use anyhow::Result;
use rand::SeedableRng as _;
use rand::seq::SliceRandom as _;
use rand_chacha::ChaCha8Rng;

use super::log::{LOGS, Log};
use crate::estimate::Estimate;
use crate::figure::{Figure, Results};
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
/// The paper's least and largest populations, with its hit rates and working sets (in MB) there.
pub(super) const POPULATIONS: [usize; 2] = [50, 500];
const PAPER: [(f64, f64); 2] = [(0.35, 500.0), (0.45, 5200.0)];
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
            let paper = POPULATIONS.iter().position(|it| *it == population).map(|at| PAPER[at]);
            let mut row = |series: &str, unit: &str, paper: Option<f64>, measure: fn(&(f64, f64)) -> f64| {
                let mean = Estimate::mean(&drawn.iter().map(measure).collect::<Vec<_>>());
                let row = Row::new(FIGURE.id, format!("{series}: {name}"), population as f64, unit);
                rows.push(row.measured(mean, Driver::Offline, DRAWS as u32).paper(paper));
            };
            row(HITS, "share", paper.map(|paper| paper.0), |it| it.0);
            row(WORKING_SET, "MB", paper.map(|paper| paper.1), |it| it.1);
        }
    }
    Ok(rows)
}

/// Hit rate and working set in MB of so many clients.
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
