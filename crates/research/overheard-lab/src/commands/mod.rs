//! The subcommands. Each one is a file with a struct `Args`, whose documentation is its help, and a function
//! `run`. A new one is such a file, and its name in the two lists below.

mod analyze;
mod bench;
mod cache;
mod completions;
mod demo;
mod doctor;
mod experiment;
mod guest;
mod keep;
mod kernel;
mod man;
mod node;
mod papers;
mod reproduce;
mod results;
mod run;
mod trace;

console::commands! {
    Demo in demo,
    Experiment in experiment,
    Papers in papers,
    Reproduce in reproduce,
    Kernel in kernel,
    Results in results,
    Bench in bench,
    Trace in trace,
    Analyze in analyze,
    Node in node,
    Cache in cache,
    Run in run,
    Doctor in doctor,
    Man in man,
    Completions in completions,
    Guest in guest,
    Keep in keep,
}
