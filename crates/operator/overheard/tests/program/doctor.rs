//! `overheard doctor` never fails, and gives the consequence of everything absent.

#![allow(clippy::unwrap_used)] // a test may fail by panicking

use crate::support::{PROGRAM, Site, laboratory};
use std::os::unix::process::CommandExt;
use std::process::Command;

fn findings(output: &std::process::Output) -> Vec<serde_json::Value> {
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn check(findings: &[serde_json::Value]) {
    let names: Vec<&str> = findings.iter().map(|finding| finding["name"].as_str().unwrap()).collect();
    for expected in [
        "TUN device node",
        "right to make a TUN",
        "right to set routes",
        "AF_PACKET",
        "network namespaces",
        "nftables",
        "TPROXY",
        "BPF struct_ops for TCP",
        "radio that can monitor",
        "hearing others",
    ] {
        assert!(names.contains(&expected), "{expected} is not among {names:?}");
    }
    for finding in findings {
        let text = |key: &str| finding[key].as_str().unwrap();
        assert!(["present", "absent", "unknown"].contains(&text("state")), "{finding}");
        assert!(
            !text("detail").is_empty() && !text("cost").is_empty() && !text("mend").is_empty(),
            "{finding}"
        );
    }
}

#[test]
fn everything_is_looked_at_and_every_absence_has_a_cost_and_a_mend() {
    let output = Command::new(PROGRAM).args(["doctor", "--json"]).output().unwrap();
    check(&findings(&output));
    let text = Command::new(PROGRAM).arg("doctor").output().unwrap();
    assert_eq!(text.status.code(), Some(0));
    let text = String::from_utf8(text.stdout).unwrap();
    for finding in findings(&output) {
        let told = text.contains(finding["cost"].as_str().unwrap());
        assert_eq!(told, finding["state"] != "present", "{finding}");
    }
}

#[test]
fn the_laboratory_looks_at_what_experiments_use_besides() {
    let output = Command::new(laboratory()).args(["doctor", "--json"]).output().unwrap();
    let findings = findings(&output);
    check(&findings);
    for expected in ["virtual-time lab kernel", "programs of the lab"] {
        assert!(findings.iter().any(|finding| finding["name"] == expected), "{expected} is looked at");
    }
}

#[test]
fn without_rights_and_programs_it_says_so_and_does_not_fail() {
    // User nobody, with an empty PATH.
    let site = Site::new();
    let program = site.copy_of_program();
    let mut command = Command::new(program);
    command.args(["doctor", "--json"]).env("PATH", "/nonexistent");
    if rustix::process::geteuid().is_root() {
        command.uid(65_534).gid(65_534);
    }
    let findings = findings(&command.output().unwrap());
    check(&findings);
    let state =
        |name: &str| findings.iter().find(|finding| finding["name"] == name).unwrap()["state"].clone();
    assert_eq!(state("right to set routes"), "absent");
    assert_eq!(state("AF_PACKET"), "absent");
    assert_eq!(state("network namespaces"), "absent");
    assert_ne!(state("right to make a TUN"), "present");
}
