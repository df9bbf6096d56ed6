//! One download, and one call, over loss and distance.
//!
//! The link has a rate and a queue of packets, then delay and independent losses in both directions: a lost
//! packet has cost the link its time ([`place`]). Other programs were measured on such a link. Their values
//! stand beside ours in a column of their own ([`recorded`]). Further cells have other losses and queues.

mod after_a_call;
mod cellular;
mod downloads;
mod fairness;
mod form;
mod half_repeating;
mod harder;
mod must_show;
mod overheard;
mod place;
mod presets;
pub mod recorded;
mod requests;
mod streams;
mod told;
mod voice;
mod way;

use crate::experiment::Experiment;
use crate::figure::Figure;
use crate::row::Driver;

/// The experiment.
pub const EXPERIMENT: Experiment = Experiment {
    id: "links",
    drivers: &[Driver::Virtual, Driver::Lab],
    title: "One download over loss and distance",
    source: "The default tunnel against none and against one that removes nothing, beside recorded values of others.",
    figures: &FIGURES,
    claims: must_show::claims,
};

const FIGURES: [Figure; 13] = [
    downloads::FIGURE,
    after_a_call::FIGURE,
    harder::FIGURE,
    told::FIGURE,
    streams::FIGURE,
    requests::FIGURE,
    half_repeating::FIGURE,
    voice::FIGURE,
    presets::FIGURE,
    cellular::FIGURE,
    fairness::FIGURE,
    fairness::OF_STREAMS,
    overheard::FIGURE,
];
