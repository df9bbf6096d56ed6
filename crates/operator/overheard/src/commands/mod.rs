//! The subcommands. Each one is a file with a struct `Args`, whose documentation is its help, and a function
//! `run`. A new one is such a file, and its name in the two lists below.

#[cfg(feature = "capture")]
mod analyze;
#[cfg(feature = "cache")]
mod cache;
#[cfg(feature = "capture")]
mod capture;
#[cfg(feature = "manual")]
mod completions;
mod doctor;
mod keep;
mod keygen;
mod laboratory;
#[cfg(feature = "manual")]
mod man;
mod peer;
mod status;
#[cfg(feature = "dashboard")]
mod top;
mod uci;
mod up;

use laboratory::{bench, demo, experiment, trace};

console::commands! {
    Up in up,
    #[cfg(feature = "cache")]
    Cache in cache,
    Status in status,
    #[cfg(feature = "dashboard")]
    Top in top,
    #[cfg(feature = "capture")]
    Capture in capture,
    Peer in peer,
    Keygen in keygen,
    Uci in uci,
    Doctor in doctor,
    #[cfg(feature = "capture")]
    Analyze in analyze,
    #[cfg(feature = "manual")]
    Man in man,
    #[cfg(feature = "manual")]
    Completions in completions,
    Demo in demo,
    Experiment in experiment,
    Bench in bench,
    Trace in trace,
    Keep in keep,
}
