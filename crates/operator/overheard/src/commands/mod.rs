//! The subcommands. Each one is a file with a struct `Args`, whose documentation is its help, and a function
//! `run`. A new one is such a file, and its name in the two lists below.

mod analyze;
mod cache;
mod capture;
mod completions;
mod doctor;
mod keep;
mod keygen;
mod laboratory;
mod man;
mod peer;
mod status;
mod top;
mod up;

use laboratory::{bench, demo, experiment, trace};

console::commands! {
    Up in up,
    Cache in cache,
    Status in status,
    Top in top,
    Capture in capture,
    Peer in peer,
    Keygen in keygen,
    Doctor in doctor,
    Analyze in analyze,
    Man in man,
    Completions in completions,
    Demo in demo,
    Experiment in experiment,
    Bench in bench,
    Trace in trace,
    Keep in keep,
}
