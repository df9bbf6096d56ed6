//! Compiles the BPF programs into byte code that works on any kernel.

use std::path::PathBuf;
use std::process::Command;

const SOURCE: &str = "src/bpf/boost.bpf.c";

fn main() {
    println!("cargo:rerun-if-changed=src/bpf");
    if std::env::var_os("CARGO_FEATURE_BPF").is_none() {
        return;
    }
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from).unwrap_or_default();
    let object = variable("OUT_DIR").join("boost.bpf.o");
    let compiled = Command::new("clang")
        // Without local file names, the same source gives the same bytes everywhere.
        .args(["-target", "bpf", "-mcpu=v3", "-O2", "-g", "-Wall", "-Werror", "-fdebug-prefix-map==."])
        .arg("-I")
        .arg(variable("DEP_BPF_INCLUDE"))
        .args(["-c", SOURCE, "-o"])
        .arg(&object)
        .status();
    match compiled {
        Ok(status) if status.success() => {}
        Ok(status) => panic!("clang could not compile {SOURCE}: {status}"),
        Err(error) => panic!(
            "cannot run clang, which compiles {SOURCE}: {error}; scripts/setup.sh installs it, and without the feature \
             `boost` nothing needs it"
        ),
    }
}
