//! Figure 8: what coding gains where nine pairs share a channel and collide.

use anyhow::Result;

use super::bursts::Losses;
use super::gain::SNOOP;
use super::grid::Grid;
use super::path::Repair;
use crate::figure::{Figure, Need, Results, Setting};
use crate::plan::Plan;
use crate::row::Row;

/// Figure 8.
pub const FIGURE: Figure = Figure {
    id: "8",
    title: "Nine pairs on one channel: Snoop with and without XBC",
    x: "buffer, packets",
    remark: "The mean throughput of nine downloads at once. Base stations 400 m apart in a square kilometre, a station 50 m \
             to the east of each, carrier sense 550 m, range 250 m, interface queues of 50 packets, 802.11b at 2 Mbit/s \
             without retries, a wire of 10 Mbit/s and 50 ms to each. Random losses from base station to station, and on top \
             of them what collides, acknowledgments included. The paper does not say on which side stations stand. The pair in \
             the middle loses half of its frames to those on its diagonals and nearly starves, as without repair. What the \
             tunnel adds to a packet is on the air here, with and without coding.",
    needs,
    rows,
};

/// The paper's XBC.
const XBC: [Repair; 3] = [Repair::Xbc(2, 1), Repair::Xbc(3, 1), Repair::Xbc(4, 1)];
const OURS: [Repair; 2] = [Repair::ReedSolomon, Repair::Adaptive];

fn losses(plan: &Plan) -> &'static [u32] {
    plan.choose(&[64, 256, 1024], &[256], &[256])
}

fn buffers(plan: &Plan) -> &'static [u32] {
    plan.choose(&[2, 4, 6, 8], &[2], &[2, 4, 8])
}

fn seeds(plan: &Plan) -> u32 {
    plan.seeds(2, 1, 1)
}

fn seconds(plan: &Plan) -> u32 {
    plan.choose(100, 8, 20)
}

fn grids(plan: &Plan) -> Vec<Grid> {
    let mut grids = Vec::new();
    for &kilobits in losses(plan) {
        for repair in XBC.into_iter().chain(SNOOP).chain(OURS) {
            let losses = Losses::Random(kilobits);
            let grid = |&buffer_packets| Grid { repair, buffer_packets, losses, seconds: seconds(plan) };
            grids.extend(buffers(plan).iter().map(grid));
        }
    }
    grids
}

fn needs(setting: &Setting<'_>) -> Vec<Need> {
    let grids = grids(&setting.plan).into_iter();
    grids.map(|grid| Need::Scenario(Box::new(grid.scenario(setting, seeds(&setting.plan))))).collect()
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let plan = &results.setting.plan;
    let row = |grid: Grid| {
        let series = format!("{}: {}", grid.losses, grid.repair);
        let row = Row::new(FIGURE.id, series, grid.buffer_packets, "Mbit/s");
        Ok(row.measured(grid.throughput(results)?, results.setting.driver, seeds(plan)))
    };
    grids(plan).into_iter().map(row).collect()
}
