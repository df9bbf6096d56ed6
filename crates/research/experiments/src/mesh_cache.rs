//! *Mitigating the Gateway Bottleneck via Transparent Cooperative Caching in Wireless Mesh Networks* (S. Das,
//! H. Pucha, Y. C. Hu, Purdue TR-ECE-06, 2006), run again: real caches, real TCP, real curl, babeld, and a
//! channel that all routers share ([`air::medium`]).
//!
//! Section 6.1 compares per-hop with end-to-end transport (`transport`). Sections 6.2 to 8 are meshes
//! (`network`) whose clients browse (`workload`) under each protocol (`protocol`); `trial` is one such run
//! and `reading` its results.

mod figure_1;
mod figure_8;
mod log;
mod must_show;
mod network;
mod protocol;
mod reading;
mod replay;
mod stability;
mod tables;
mod testbed_figures;
mod transport;
mod trial;
mod workload;

use crate::experiment::Experiment;
use crate::figure::Figure;
use crate::row::Driver;

/// The paper, run again.
pub const EXPERIMENT: Experiment = Experiment {
    id: "meshcache",
    drivers: &[Driver::Virtual],
    title: "MeshCache, run again",
    source: "S. M. Das, H. Pucha, Y. C. Hu: Mitigating the Gateway Bottleneck via Transparent Cooperative Caching in \
             Wireless Mesh Networks. Purdue TR-ECE-06, 2006.",
    figures: &FIGURES,
    claims: must_show::claims,
};

/// All figures and tables, in the paper's order.
const FIGURES: [Figure; 11] = [
    figure_1::FIGURE,
    transport::FIGURE_4,
    transport::FIGURE_5,
    transport::FIGURE_6,
    tables::TABLES,
    figure_8::FIGURE,
    tables::FIGURE_9,
    testbed_figures::FIGURE_12,
    testbed_figures::FIGURE_14,
    stability::FIGURE,
    replay::FIGURE,
];
