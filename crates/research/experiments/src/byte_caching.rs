//! The byte-caching paper (Le, Srivatsa, Iyengar: Byte Caching in Wireless Networks, ICDCS 2012), figure by
//! figure.
//!
//! The set-up is its Figure 3 ([`crate::testbed`]): a server encodes, a client decodes, one link of 1 MByte/s
//! and 20 ms of round trip between them loses packets. A run is a [cell](crate::cell) and a seed: a file, a
//! [scheme](crate::scheme), a loss rate, a TCP. [`must_show`] holds the rows against what the paper and this
//! project claim.

mod completion;
mod figure_10;
mod figure_11;
mod figure_12;
mod figure_13;
mod figure_14;
mod figure_6;
mod grid;
mod impairments;
pub mod must_show;
mod parts;
mod section_2;
mod section_7;
mod table_1;
mod table_2;
mod udp;

use crate::experiment::Experiment;
use crate::figure::Figure;
use crate::row::Driver;

/// The paper, run again.
pub const EXPERIMENT: Experiment = Experiment {
    id: "byte-caching",
    drivers: &[Driver::Virtual, Driver::Sim, Driver::Lab],
    title: "Byte caching, run again",
    source: "F. Le, M. Srivatsa, A. K. Iyengar: Byte Caching in Wireless Networks. ICDCS 2012.",
    figures: &FIGURES,
    claims: must_show::claims,
};

/// All figures and tables, in the paper's order, with additions.
const FIGURES: [Figure; 14] = [
    section_2::FIGURE,
    table_1::FIGURE,
    figure_6::FIGURE,
    completion::FIGURE,
    figure_10::FIGURE,
    figure_11::FIGURE,
    udp::FIGURE,
    figure_12::FIGURE,
    table_2::FIGURE,
    section_7::FIGURE,
    figure_13::FIGURE,
    figure_14::FIGURE,
    impairments::FIGURE,
    parts::FIGURE,
];
