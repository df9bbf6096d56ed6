//! The subcommands. Each is a file with a struct `Args`, whose documentation is its help, and a function `run`.
//! A new one is that file, and its name in the two lists below.

mod analyze;
mod bench;
mod cache;
mod capture;
mod completions;
mod demo;
mod doctor;
mod experiment;
mod keygen;
mod lab_guest;
mod lab_node;
mod man;
pub(crate) mod status;
mod top;
mod trace;
mod up;

use anyhow::bail;
use std::path::{Path, PathBuf};

/// The status socket of the node that is meant: named, that of a configuration, or the only one here.
fn only_node(config: Option<&Path>, socket: Option<&Path>) -> anyhow::Result<PathBuf> {
    match (socket, config) {
        (Some(socket), _) => return Ok(socket.to_owned()),
        (None, Some(config)) => return Ok(crate::config::status_socket(config)?),
        (None, None) => {}
    }
    match &status::sockets_here("sock")[..] {
        [socket] => Ok(socket.clone()),
        [] => bail!("no node runs here; start one with `overheard up`"),
        several => {
            let named: Vec<_> =
                several.iter().map(|socket| format!("--socket {}", socket.display())).collect();
            bail!("several nodes run here; choose one: {}", named.join(", "))
        }
    }
}

macro_rules! commands {
    ($($name:ident in $module:ident),* $(,)?) => {
        #[derive(clap::Subcommand)]
        pub enum Command {
            $($name($module::Args)),*
        }

        impl Command {
            /// Does what the user asked for.
            pub fn run(self) -> anyhow::Result<()> {
                match self {
                    $(Command::$name(args) => $module::run(&args)),*
                }
            }
        }
    };
}

commands! {
    Demo in demo,
    Up in up,
    Cache in cache,
    Status in status,
    Top in top,
    Capture in capture,
    Keygen in keygen,
    Doctor in doctor,
    Analyze in analyze,
    Experiment in experiment,
    Bench in bench,
    Trace in trace,
    Man in man,
    Completions in completions,
    LabNode in lab_node,
    LabGuest in lab_guest,
}
