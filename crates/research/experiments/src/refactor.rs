//! *REfactor-ing Content Overhearing to Improve Wireless Performance* (S.-H. Shen, A. Gember, A. Anand, A.
//! Akella, MobiCom 2011), run again.
//!
//! Section 5.3's setting in one process: an access point, C1 beside it, and C2 farther away
//! ([`overhearing`]). The air ([`medium`]) applies losses and overhearing by frame length; lost frames are
//! retransmitted. Air time is computed by the paper's parameters and by the standard ([`air_time`]). The
//! frames are those of the codec of [`overhear`], and arrivals are compared with the originals ([`run`]): a
//! wrong byte ends the run. Traffic is composed to the paper's mixes ([`crate::trace`]). There is no TCP
//! here; figures with TCP are in [`WITH_TCP`].

mod ablation;
mod air_time;
mod as_printed;
mod captures;
mod codec;
mod detection;
mod exor;
mod figure_1d;
mod figure_3;
mod figure_4;
mod figure_8;
mod frame;
mod medium;
mod mixes;
pub mod must_show;
mod opportunistic;
mod overhearing;
mod receptions;
mod reduction;
mod relay_frames;
mod relayed;
mod roaming;
mod robustness;
mod run;
mod safety;
mod scheme;
mod table_2;
mod table_3;
mod table_4;
mod table_5;
mod table_6;
mod tally;
mod trial;
mod two_access_points;

use crate::experiment::Experiment;
use crate::figure::Figure;
use crate::row::Driver;

/// The paper, run again.
pub const EXPERIMENT: Experiment = Experiment {
    id: "refactor",
    drivers: &[Driver::Sim],
    title: "REfactor, run again",
    source: "S.-H. Shen, A. Gember, A. Anand, A. Akella: REfactor-ing Content Overhearing to Improve Wireless \
             Performance. MobiCom 2011.",
    figures: &FIGURES,
    claims: must_show::claims,
};

/// What of it has real daemons and real TCP.
pub const WITH_TCP: Experiment = Experiment {
    id: "refactor-tcp",
    drivers: &[Driver::Virtual, Driver::Lab],
    title: "REfactor, with real TCP",
    figures: &[table_5::FIGURE, figure_1d::FIGURE, relay_frames::FIGURE, roaming::FIGURE],
    claims: |rows| {
        let frames = relay_frames::claims(rows);
        [table_5::claims(rows), figure_1d::claims(rows), frames, roaming::claims(rows)].concat()
    },
    ..EXPERIMENT
};

/// All figures and tables without TCP, in the paper's order, and what is added to them.
const FIGURES: [Figure; 18] = [
    figure_3::FIGURE,
    table_2::FIGURE,
    table_3::FIGURE,
    figure_4::FIGURE,
    mixes::FIGURE_5,
    mixes::FIGURE_6,
    mixes::FIGURE_7,
    ablation::FIGURE,
    mixes::AGGREGATED,
    table_4::FIGURE,
    figure_8::FIGURE,
    table_6::FIGURE,
    relay_frames::FIGURE,
    exor::FIGURE,
    robustness::FIGURE,
    receptions::FIGURE,
    captures::FIGURE,
    safety::FIGURE,
];
