//! What the paper names and does not plot: reordering, corruption, duplication, bursts; and loss in both
//! directions.

use anyhow::Result;
use re::Policy;

use crate::cell::{Cell, File, Impairment};
use crate::estimate::Estimate;
use crate::figure::{Figure, Need, Results, Setting, bytes_down, seconds};
use crate::plan::Plan;
use crate::row::Row;
use crate::scheme::Scheme;

/// Other impairments.
pub const FIGURE: Figure = Figure {
    id: "impairments",
    title: "Reordering, corruption, duplication and bursts, file 1",
    x: "what the link does",
    remark: "The paper names these beside loss (sections I and IV) and measures none. \"bytes\" (from server to client) and \
             \"delay\" are relative to the same tunnel without redundancy elimination under the same impairment. A \
             corrupted packet fails its authentication and is lost; without a tunnel TCP's checksum finds it.",
    needs,
    rows,
};

const SCHEMES: [Scheme; 13] = {
    let mut schemes = [Scheme::NAIVE; 13];
    let mut index = 0;
    while index < Scheme::COMPARED.len() {
        schemes[index] = Scheme::COMPARED[index];
        index += 1;
    }
    schemes
};

fn impairments(plan: &Plan) -> &'static [Impairment] {
    plan.choose(
        &[
            Impairment::Reordering(5.0),
            Impairment::Corruption(1.0),
            Impairment::Duplication(5.0),
            Impairment::Bursts(2.0),
            Impairment::Bursts(5.0),
            Impairment::LossBothWays(5.0),
            Impairment::Everything,
        ],
        &[
            Impairment::Reordering(5.0),
            Impairment::Corruption(1.0),
            Impairment::Duplication(5.0),
            Impairment::Bursts(5.0),
            Impairment::Everything,
        ],
        &[Impairment::Reordering(5.0), Impairment::Corruption(1.0), Impairment::Duplication(5.0)],
    )
}

fn cell(scheme: Scheme, impairment: Impairment) -> Cell {
    Cell { impairment, ..Cell::download(File::One, scheme, 0.0) }
}

/// Many seeds for completion; a naive download that stalls needs few.
fn seeds(plan: &Plan, cell: &Cell) -> u32 {
    use Impairment::{Corruption, Duplication, Reordering};
    let proven = matches!(cell.impairment, Reordering(_) | Corruption(_) | Duplication(_));
    let compared = [Scheme::Bare, Scheme::NAIVE, Scheme::paper(Policy::Acked)].contains(&cell.scheme);
    plan.seeds(if proven && !compared { 20 } else { 5 }, 1, 1)
}

fn needs(setting: &Setting<'_>) -> Vec<Need> {
    let plan = &setting.plan;
    let of = |scheme| {
        let of = move |&impairment| {
            let cell = cell(scheme, impairment);
            Need::Cell(cell, seeds(plan, &cell))
        };
        impairments(plan).iter().map(of)
    };
    SCHEMES.into_iter().flat_map(of).collect()
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let plan = &results.setting.plan;
    let mut rows = Vec::new();
    for &impairment in impairments(plan) {
        for scheme in SCHEMES {
            let cell = cell(scheme, impairment);
            let seeds = seeds(plan, &cell);
            let off = cell.with(Scheme::OFF);
            let readings = results.readings(&cell, seeds)?;
            let complete = readings.iter().filter(|it| it.is_complete).count() as u64;
            let undecodable: Vec<f64> = readings.iter().map(|it| it.undecodable_packets as f64).collect();
            let x = impairment.to_string();
            let mut push = |series: String, unit, estimate, note: &str| {
                let row = Row::new(FIGURE.id, series, x.as_str(), unit).note(note);
                rows.push(results.row(row, &cell, estimate, seeds));
            };
            let all = readings.len() as u64;
            let count = format!("{complete} of {all}");
            push(format!("complete: {scheme}"), "share", Estimate::share(complete, all), &count);
            if scheme != Scheme::Bare {
                push(
                    format!("undecodable: {scheme}"),
                    "packets a download",
                    Estimate::mean(&undecodable),
                    "",
                );
            }
            if scheme != Scheme::OFF {
                let bytes = results.ratio(&cell, &off, seeds, bytes_down)?;
                push(format!("bytes: {scheme}"), "ratio", bytes, "");
                let delay = results.ratio(&cell, &off, seeds, seconds)?;
                push(format!("delay: {scheme}"), "ratio", delay, "");
            }
        }
    }
    Ok(rows)
}
