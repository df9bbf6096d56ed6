//! The grid of files, schemes and losses that several figures are read off.

use re::Policy;

use crate::cell::{Cell, File, Impairment, Traffic};
use crate::figure::{Need, Setting};
use crate::plan::Plan;
use crate::scheme::Scheme;

/// Percent of packets lost, on the horizontal axes of Figures 10, 11 and 13.
#[must_use]
pub fn losses(plan: &Plan) -> &'static [f64] {
    plan.choose(&[0.0, 1.0, 2.0, 5.0, 7.0, 10.0, 15.0, 20.0], &[0.0, 5.0, 20.0], &[0.0, 1.0, 5.0, 10.0])
}

/// The losses at which every policy has to end as many downloads as Figure 6 has of naive.
const PROVEN_LOSSES: [f64; 4] = [1.0, 5.0, 10.0, 20.0];

/// The downloaded files.
#[must_use]
pub fn files(plan: &Plan) -> &'static [File] {
    plan.choose(&[File::One, File::Two], &[File::One, File::Two], &[File::One])
}

/// Number of seeds of a cell of the grid: many for completion; few for a point of a curve, or where only the
/// loss would differ and there is none.
#[must_use]
pub fn seeds(plan: &Plan, cell: &Cell) -> u32 {
    let Traffic::Download(file) = cell.traffic else { return 1 };
    let proven = matches!(cell.impairment, Impairment::Loss(percent) if PROVEN_LOSSES.contains(&percent));
    let compared = [Scheme::Bare, Scheme::paper(Policy::Acked)].contains(&cell.scheme);
    match file {
        File::One if proven && !compared => plan.seeds(50, 1, 2),
        File::One => plan.seeds(8, 1, 2),
        File::Two | File::Ebook | File::Random | File::Long | File::HalfRepeating | File::Documents => {
            plan.seeds(5, 1, 1)
        }
    }
}

/// One place in the grid.
pub struct Download {
    pub file: File,
    /// Percent of packets.
    pub loss: f64,
    pub scheme: Scheme,
    pub cell: Cell,
    pub seeds: u32,
}

/// The whole grid: by file, by loss, by scheme.
pub fn downloads(plan: &Plan) -> Vec<Download> {
    let mut downloads = Vec::new();
    for &file in files(plan) {
        for &loss in losses(plan) {
            downloads.extend(Scheme::COMPARED.map(|scheme| {
                let cell = Cell::download(file, scheme, loss);
                Download { file, loss, scheme, cell, seeds: seeds(plan, &cell) }
            }));
        }
    }
    downloads
}

/// The needs of the figure.
#[must_use]
pub fn needs(setting: &Setting<'_>) -> Vec<Need> {
    downloads(&setting.plan).into_iter().map(|Download { cell, seeds, .. }| Need::Cell(cell, seeds)).collect()
}
