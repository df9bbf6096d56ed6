//! Every linked library's licence permits "Apache-2.0 OR MIT" for the program; `deny.toml` lists the
//! permitted licences.

#![allow(clippy::unwrap_used)] // a test fails by panicking

use serde_json::Value;
use spdx::{Expression, ParseMode};
use std::path::{Path, PathBuf};
use std::process::Command;

const OURS: &str = "Apache-2.0 OR MIT";

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

fn allowed() -> Vec<String> {
    let text = std::fs::read_to_string(workspace().join("deny.toml")).unwrap();
    let deny: toml::Table = text.parse().unwrap();
    let allowed = deny["licenses"]["allow"].as_array().unwrap();
    allowed.iter().map(|licence| licence.as_str().unwrap().to_owned()).collect()
}

/// The packages of this machine's build, among all platforms' packages.
fn packages() -> Vec<Value> {
    let told = Command::new("rustc").arg("-vV").output().unwrap();
    let told = String::from_utf8(told.stdout).unwrap();
    let host = told.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--locked", "--filter-platform", host])
        .current_dir(workspace())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

fn permits(licence: &str, allowed: &[String]) -> bool {
    let expression = Expression::parse_mode(licence, ParseMode::LAX).unwrap();
    expression.evaluate(|requirement| allowed.contains(&requirement.to_string()))
}

#[test]
fn every_library_has_a_licence_that_permits_ours() {
    let (allowed, packages) = (allowed(), packages());
    assert!(packages.len() > 100, "the libraries are found");
    for package in packages {
        let (name, licence) = (&package["name"], package["license"].as_str());
        if package["source"].is_null() {
            assert_eq!(licence, Some(OURS), "{name}");
        } else {
            let licence = licence.unwrap_or_else(|| panic!("{name} says no licence"));
            assert!(permits(licence, &allowed), "{name} is under {licence}, which is not in deny.toml");
        }
    }
}

#[test]
fn a_licence_that_would_bind_the_whole_program_is_refused() {
    let allowed = allowed();
    for (licence, permitted) in [
        ("MIT/Apache-2.0", true),
        ("GPL-2.0-only OR MIT", true),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", true),
        ("GPL-3.0-or-later", false),
        ("MIT AND LGPL-2.1-only", false),
    ] {
        assert_eq!(permits(licence, &allowed), permitted, "{licence}");
    }
}
