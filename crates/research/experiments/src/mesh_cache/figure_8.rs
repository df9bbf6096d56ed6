//! Figure 8: how long a search waits.

use anyhow::Result;

use super::protocol::Protocol;
use super::reading::{Reading, readings};
use super::tables::{drawn, seconds, trial};
use super::trial::{SEARCH_MILLISECONDS, Trial};
use crate::estimate::Estimate;
use crate::figure::{Figure, Need, Results, Setting};
use crate::plan::Plan;
use crate::row::Row;

/// Figure 8.
pub const FIGURE: Figure = Figure {
    id: "8",
    title: "The search timeout of BCP",
    x: "search timeout, ms",
    remark: "Scenario 1. The paper's throughput is highest, and its network load lowest, at \
             {meshcache/section-6.2.2/search-timeout-optimum}; hits grow until {meshcache/section-6.2.2/search-timeout-hits}.",
    needs,
    rows,
};

fn timeouts(plan: &Plan) -> &'static [u64] {
    plan.choose(&[5, 10, SEARCH_MILLISECONDS, 50, 100, 200], &[SEARCH_MILLISECONDS, 200], &[])
}

fn draws(plan: &Plan) -> u32 {
    plan.seeds(1, 1, 1)
}

fn of(plan: &Plan, search_milliseconds: u64) -> Trial {
    Trial { search_milliseconds, ..trial(plan, 1, Protocol::Bcp) }
}

fn needs(setting: &Setting<'_>) -> Vec<Need> {
    let timeouts = timeouts(&setting.plan).iter();
    timeouts.flat_map(|&timeout| drawn(setting, of(&setting.plan, timeout), draws(&setting.plan))).collect()
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let plan = &results.setting.plan;
    let mut rows = Vec::new();
    // With the hour cut short there is less to be found.
    let note = if seconds(plan) < 3600.0 { "less than an hour" } else { "" };
    for &timeout in timeouts(plan) {
        let readings = readings(results, &of(plan, timeout), draws(plan))?;
        let mut row = |series: &str, unit: &str, measure: &dyn Fn(&Reading) -> f64| {
            let mean = Estimate::mean(&readings.iter().map(measure).collect::<Vec<_>>());
            let row = Row::new(FIGURE.id, series, timeout as f64, unit);
            rows.push(row.measured(mean, results.setting.driver, draws(plan)).note(note));
        };
        row("average aggregate throughput", "kbit/s", &|it| it.aggregate);
        row("throughput of all clients together", "kbit/s", &|it| it.together);
        row("network load", "packets a file", &|it| it.packets);
        row("hits beside the gateway", "share", &|it| it.local + it.ph_local + it.remote);
    }
    Ok(rows)
}
