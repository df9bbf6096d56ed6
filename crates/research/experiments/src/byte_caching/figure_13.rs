//! Figure 13: the loss that TCP perceives, over the loss of the link.

use anyhow::Result;

use super::grid;
use crate::cell::{Cell, File};
use crate::estimate::Estimate;
use crate::figure::{Figure, Results};
use crate::row::Row;
use crate::scheme::Scheme;

/// Figure 13.
pub const FIGURE: Figure = Figure {
    id: "13",
    title: "Perceived packet loss rate, file 1",
    x: "packets lost, %",
    remark: "Perceived: packets towards the client that the link lost (on the air, or to its full queue) and those that \
             arrived and could not be restored, by all that were offered to the link. The link's own loss as it came out \
             is beside it. The paper finds that tcp-seq perceives more than cache-flush, and k-distance about what cache-flush \
             does; two claims hold ours against that.",
    needs: grid::needs,
    rows,
};

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let plan = &results.setting.plan;
    let mut rows = Vec::new();
    for &loss in grid::losses(plan) {
        for scheme in Scheme::COMPARED.into_iter().filter(|&scheme| scheme != Scheme::Bare) {
            let cell = Cell::download(File::One, scheme, loss);
            let seeds = grid::seeds(plan, &cell);
            let readings = results.readings(&cell, seeds)?;
            let percent = |quantity: fn(&crate::reading::Reading) -> f64| {
                Estimate::mean(&readings.iter().map(quantity).collect::<Vec<_>>()).map(|it| it.times(100.0))
            };
            for (series, unit, estimate) in [
                (format!("perceived: {scheme}"), "%", percent(|it| it.perceived_loss)),
                (format!("actual: {scheme}"), "%", percent(|it| it.actual_loss)),
                (
                    format!("undecodable: {scheme}"),
                    "packets a download",
                    percent(|it| it.undecodable_packets as f64 / 100.0),
                ),
            ] {
                rows.push(results.row(Row::new(FIGURE.id, series, loss, unit), &cell, estimate, seeds));
            }
        }
    }
    Ok(rows)
}
