//! What the laboratory and its experiments use of this machine.

use console::doctor::{Finding, search_path};
use std::path::PathBuf;

/// Programs, their Debian packages, and their purposes.
const PROGRAMS: [(&str, &str); 7] = [
    ("ip", "iproute2"),
    ("unshare", "util-linux"),
    ("taskset", "util-linux"),
    ("curl", "curl"),
    ("nginx", "nginx-light"),
    ("socat", "socat"),
    ("cc", "gcc"),
];

pub fn examine() -> Vec<Finding> {
    vec![kernel(), programs()]
}

fn kernel() -> Finding {
    let (present, detail) = match lab::virtual_time::Kernel::find() {
        Ok(kernel) => (true, kernel.path().display().to_string()),
        Err(error) => (false, error.to_string()),
    };
    Finding::new("virtual-time lab kernel", present, detail).without(
        "experiments cannot run in virtual time; `--driver sim` and `--driver lab` remain",
        "overheard-lab kernel --from WHEEL installs one, and overheard-lab kernel --make builds one",
    )
}

fn programs() -> Finding {
    let missing: Vec<String> = PROGRAMS
        .iter()
        .filter(|(program, _)| find(program).is_none())
        .map(|(program, package)| format!("{program} (package {package})"))
        .collect();
    let detail = if missing.is_empty() {
        PROGRAMS.map(|(program, _)| program).join(", ")
    } else {
        format!("missing: {}", missing.join(", "))
    };
    Finding::new("programs of the lab", missing.is_empty(), detail)
        .without("the demo and the experiments with real programs cannot run", "apt install what is missing")
}

/// One sentence for each missing program, with the command that installs it.
pub fn missing_programs() -> impl Iterator<Item = String> {
    let missing = PROGRAMS.iter().filter(|(program, _)| find(program).is_none());
    missing.map(|(program, package)| format!("{program} is missing: sudo apt-get install {package}"))
}

fn find(program: &str) -> Option<PathBuf> {
    std::env::split_paths(&search_path()).map(|place| place.join(program)).find(|file| file.is_file())
}
