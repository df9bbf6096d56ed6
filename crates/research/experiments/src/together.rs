//! Everything together: one network, with every mechanism on or off.
//!
//! A server behind a wire; a gateway, a relay and three stations on one channel of the emulated air, the
//! third station in reach of the relay only ([`network`]). All fetch what all want, one after the other, and
//! each something of its own. What is switched is redundancy elimination, overhearing, recovery, the web
//! cache at the gateway and, where the kernel can, boost ([`combination`]); what is measured is how long
//! users waited.

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
