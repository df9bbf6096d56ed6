//! A UDP stream at a fixed rate beside the downloads: application losses per packet lost on the link.

use anyhow::Result;

use crate::cell::{Cell, File};
use crate::estimate::Estimate;
use crate::figure::{Figure, Need, Results, Setting, bytes_down};
use crate::plan::Plan;
use crate::row::Row;
use crate::scheme::Scheme;

/// The UDP stream.
pub const FIGURE: Figure = Figure {
    id: "udp",
    title: "A UDP stream of file 1: lost to the application per packet lost on the link",
    x: "packets lost, %",
    remark: "1000 datagrams of 1200 bytes at 300 kByte/s carry file 1, twice. The paper names UDP as what TCP's repair \
             cannot help (sections I and V-C) and plots nothing. cache-flush and tcp-seq know retransmissions by \
             TCP's numbers alone: on UDP they refer to nothing and save nothing. naive never recovers from \
             its first loss for as long as content refers to the lost. acked loses what the link loses, and saves.",
    needs,
    rows,
};

const SCHEMES: [Scheme; 12] = {
    let mut schemes = Scheme::COMPARED;
    // In the place of the bare path, which loses what the link loses.
    schemes[1] = Scheme::NAIVE;
    schemes
};

fn losses(plan: &Plan) -> &'static [f64] {
    plan.choose(&[0.0, 1.0, 5.0, 10.0, 20.0], &[0.0, 5.0], &[5.0])
}

fn seeds(plan: &Plan) -> u32 {
    plan.seeds(4, 2, 1)
}

fn needs(setting: &Setting<'_>) -> Vec<Need> {
    let plan = &setting.plan;
    let of = |scheme| {
        let of = move |&loss| Need::Cell(Cell::stream(File::One, scheme, loss), seeds(plan));
        losses(plan).iter().map(of)
    };
    SCHEMES.into_iter().flat_map(of).collect()
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let plan = &results.setting.plan;
    let seeds = seeds(plan);
    let mut rows = Vec::new();
    for &loss in losses(plan) {
        for scheme in SCHEMES {
            let cell = Cell::stream(File::One, scheme, loss);
            let readings = results.readings(&cell, seeds)?;
            let losses: Vec<(f64, f64)> =
                readings.iter().map(|it| (it.perceived_loss, it.actual_loss)).collect();
            let of_losses = |quantity: fn(&(f64, f64)) -> f64| {
                Estimate::mean(&losses.iter().map(quantity).collect::<Vec<_>>()).map(|it| it.times(100.0))
            };
            let perceived = of_losses(|(perceived, _)| *perceived);
            let excess = of_losses(|(perceived, actual)| perceived - actual);
            for (series, unit, estimate) in [
                (
                    format!("lost per packet lost: {scheme}"),
                    "datagrams a packet",
                    Estimate::paired_ratio(&losses),
                ),
                (format!("perceived: {scheme}"), "%", perceived),
                (format!("perceived beyond actual: {scheme}"), "points", excess),
                (
                    format!("bytes: {scheme}"),
                    "ratio",
                    results.ratio(&cell, &cell.with(Scheme::OFF), seeds, bytes_down)?,
                ),
            ] {
                rows.push(results.row(Row::new(FIGURE.id, series, loss, unit), &cell, estimate, seeds));
            }
        }
    }
    Ok(rows)
}
