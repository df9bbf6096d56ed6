//! *XBC: XOR-based Buffer Coding for Reliable Transmissions over Wireless Networks* (Z. Zheng, P. Sinha,
//! SECON 2008), reproduced, with an addition: degree and distance that adapt to the link.
//!
//! The paper's three nodes ([`path`]): a server, 10 Mbit/s and 50 ms of wire, an access point, and 2 Mbit/s
//! of radio without frame retries. Its access point is not a tunnel. Here it is a gateway whose tunnel does
//! nothing else (no redundancy elimination, hop ARQ, shortening or packing), and the tunnel's overhead takes
//! no air time. In Figure 8 nine such pairs share a channel ([`grid`]). A simulation accompanies the analysis
//! (Figures 2 and 4).

mod bursts;
mod figure_2;
mod figure_3;
mod figure_4;
mod figure_5;
mod figure_8;
mod gain;
mod grid;
mod harm;
mod must_show;
mod ns_2;
mod path;
mod receipts;
mod snoop;
mod upstream;

use crate::experiment::Experiment;
use crate::figure::Figure;
use crate::row::Driver;

/// The paper, run again.
pub const EXPERIMENT: Experiment = Experiment {
    id: "xbc",
    drivers: &[Driver::Virtual],
    title: "XBC, run again",
    source: "Z. Zheng, P. Sinha: XBC: XOR-based Buffer Coding for Reliable Transmissions over Wireless Networks. \
             SECON 2008.",
    figures: &FIGURES,
    claims: must_show::claims,
};

/// All figures, in the paper's order, and what is added to them.
const FIGURES: [Figure; 13] = [
    figure_2::FIGURE,
    figure_3::FIGURE,
    figure_4::FIGURE,
    figure_5::FIGURE,
    ns_2::FIGURE,
    gain::FIGURE_6,
    gain::FIGURE_6_WITHOUT_SACK,
    gain::FIGURE_7,
    figure_8::FIGURE,
    snoop::FIGURE,
    receipts::FIGURE,
    upstream::FIGURE,
    harm::FIGURE,
];
