//! Savings of the default tunnel beyond the byte-caching paper, without harm to others: the same set-up, with
//! other round trips, with a wire before the hop, with content that does not repeat, with UDP, and beside
//! other flows.
//!
//! Times are compared pair by pair, the same seed and the same losses by packet index; shown is the median
//! quotient and what encloses it with 95% confidence. A cell is run with ever more seeds until that is
//! narrow.

mod adaptive;
mod fairness;
mod fast;
mod grid;
mod hop;
mod must_show;
mod parts;
mod udp;

use crate::experiment::Experiment;
use crate::figure::Figure;
use crate::row::Driver;

/// The experiment.
pub const EXPERIMENT: Experiment = Experiment {
    id: "no-harm",
    drivers: &[Driver::Virtual, Driver::Sim, Driver::Lab],
    title: "Saving more, harming nobody",
    source: "The default tunnel against none, and against one that removes nothing.",
    figures: &FIGURES,
    claims: must_show::claims,
};

const FIGURES: [Figure; 7] =
    [adaptive::FIGURE, grid::FIGURE, parts::FIGURE, hop::FIGURE, fast::FIGURE, udp::FIGURE, fairness::FIGURE];
