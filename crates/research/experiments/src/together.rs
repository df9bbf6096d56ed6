//! Everything together: one network, with every mechanism on or off.
//!
//! A server behind a wire; a gateway, a relay and three stations on one channel of the emulated air, the
//! third station in range of the relay only ([`network`]). All fetch the common contents in turn, and each
//! one contents of its own. The switches are redundancy elimination, overhearing, recovery, the web cache at
//! the gateway and, with kernel support, boost ([`combination`]). The measured quantity is the users' waiting
//! time.

mod combination;
mod grid;
mod must_show;
mod network;

use crate::experiment::Experiment;
use crate::figure::Figure;
use crate::row::Driver;

/// The experiment.
pub const EXPERIMENT: Experiment = Experiment {
    id: "together",
    drivers: &[Driver::Virtual, Driver::Lab],
    title: "Everything together",
    source: "Every combination of redundancy elimination, overhearing, boost, recovery and cache, in one network.",
    figures: &FIGURES,
    claims: must_show::claims,
};

const FIGURES: [Figure; 3] = [grid::WAITED, grid::AGAINST_BEST, grid::ADDED];
