//! Commands of the laboratory's program `overheard-lab`: started with the same arguments if present.

use anyhow::{Context, bail};
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The program of the laboratory.
const LABORATORY: &str = "overheard-lab";

macro_rules! laboratory {
    ($($module:ident: $about:literal),* $(,)?) => {
        $(pub mod $module {
            use std::ffi::OsString;

            #[doc = $about]
            #[derive(clap::Args)]
            #[command(disable_help_flag = true)]
            pub struct Args {
                /// What `overheard-lab` is told; --help says what it takes
                #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
                arguments: Vec<OsString>,
            }

            pub fn run(args: &Args) -> anyhow::Result<()> {
                super::start(stringify!($module), &args.arguments)
            }
        })*
    };
}

laboratory! {
    demo: "Show the main job on real files, side by side with the bare link (starts overheard-lab)",
    experiment: "Run a paper's experiments again and set our figures beside its own (starts overheard-lab)",
    bench: "Measure how fast this machine does the work of a node, and whole tunnels (starts overheard-lab)",
    trace: "Compose captures from any content (starts overheard-lab)",
}

/// Executes the laboratory's program with these arguments.
fn start(command: &str, arguments: &[OsString]) -> anyhow::Result<()> {
    let Some(program) = console::other_program(LABORATORY) else {
        bail!(
            "`{command}` is a command of the laboratory, and {LABORATORY} is neither beside this program nor in PATH; \
             install the Debian package {LABORATORY}, or build it by `make build-lab`"
        );
    };
    let failed = Command::new(&program).arg(command).args(arguments).exec();
    Err(failed).with_context(|| format!("cannot start {}", program.display()))
}
