//! The REboost letter (Lee, Kim, Shin, IEEE Communications Letters 2017): TCP over redundancy elimination,
//! with and without knowing of it.
//!
//! Three [`system`]s carry the same [`content`] over the same losses: a tunnel without redundancy
//! elimination, one that encodes each segment on its own as the letter's "IP layer RE" does, and one that
//! fills its wire packets and informs its senders. Hop ARQ is off in all three, because it hides losses from
//! TCP, the letter's subject; the effect of boosting with hop ARQ is measured separately. Everything runs on
//! this machine's kernel in real time, because it depends on that kernel's TCP and needs BPF. Times are
//! compared pair by pair, by the median of their quotients.

mod chunk_match;
mod content;
mod figure_2;
mod figure_3;
mod figure_4;
mod harm;
mod headline;
mod must_show;
mod proxy;
mod system;
mod table_1;
mod table_2;
mod trial;

use crate::experiment::Experiment;
use crate::figure::Figure;
use crate::row::Driver;

/// The experiment.
pub const EXPERIMENT: Experiment = Experiment {
    id: "reboost",
    drivers: &[Driver::Lab],
    title: "TCP that turns saved bytes into speed",
    source: "K. Lee, D. Kim, I. Shin: REboost: Improving Throughput in Wireless Networks Using Redundancy Elimination, IEEE \
             Communications Letters 21(1), 2017.",
    figures: &FIGURES,
    claims: must_show::claims,
};

const FIGURES: [Figure; 9] = [
    chunk_match::FIGURE,
    headline::FIGURE,
    table_1::FIGURE,
    figure_2::FIGURE,
    figure_3::FIGURE,
    table_2::FIGURE,
    figure_4::FIGURE,
    harm::FIGURE,
    proxy::FIGURE,
];
