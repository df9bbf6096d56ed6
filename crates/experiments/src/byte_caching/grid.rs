//! The grid of files, schemes and losses that several figures are read off.

use super::cell::{Cell, File};
use super::figure::{Need, Setting};
use super::plan::Plan;
use super::scheme::Scheme;

/// Percent of packets lost, on the horizontal axes of Figures 10, 11 and 13.
#[must_use]
pub fn losses(plan: &Plan) -> &'static [f64] {
    plan.choose(
        &[0.0, 1.0, 2.0, 3.0, 5.0, 7.0, 9.0, 10.0, 15.0, 20.0],
        &[0.0, 1.0, 5.0, 10.0, 20.0],
        &[0.0, 1.0, 5.0, 10.0],
    )
}

/// Which files are downloaded.
#[must_use]
pub fn files(plan: &Plan) -> &'static [File] {
    plan.choose(&[File::One, File::Two], &[File::One, File::Two], &[File::One])
}

/// With how many seeds a file is downloaded.
#[must_use]
pub fn seeds(plan: &Plan, file: File) -> u32 {
    match file {
        File::One => plan.seeds(50, 6, 2),
        File::Two | File::Ebook => plan.seeds(20, 2, 1),
    }
}

/// The whole grid.
#[must_use]
pub fn needs(setting: &Setting<'_>) -> Vec<Need> {
    let plan = &setting.plan;
    let mut needs = Vec::new();
    for &file in files(plan) {
        for scheme in Scheme::SOUND {
            let cell = |&loss| Need::Cell(Cell::download(file, scheme, loss), seeds(plan, file));
            needs.extend(losses(plan).iter().map(cell));
        }
    }
    needs
}
