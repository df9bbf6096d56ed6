//! Crates that may ask the system for time and randomness are those that `clippy.toml` names.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::workspace;

const LINT: &str = "clippy::disallowed_methods";

/// The crates on the list in `clippy.toml`: the lines of its first comment that follow the one with a colon
/// at its end.
fn named() -> BTreeSet<String> {
    let text = fs::read_to_string(workspace().join("clippy.toml")).unwrap();
    let comment = text.lines().map_while(|line| line.strip_prefix("# "));
    let list = comment.skip_while(|line| !line.ends_with(':')).skip(1);
    list.flat_map(|line| line.split([',', '.', ' '])).filter(|it| !it.is_empty()).map(str::to_owned).collect()
}

fn entries(path: &Path) -> Vec<PathBuf> {
    fs::read_dir(path).into_iter().flatten().map(|entry| entry.unwrap().path()).collect()
}

/// Whether a file in here allows what the lint forbids.
fn allows(path: &Path) -> bool {
    if path.is_dir() {
        entries(path).iter().any(|entry| allows(entry))
    } else {
        fs::read_to_string(path).is_ok_and(|text| text.contains(LINT))
    }
}

/// The crates with an exemption outside their tests and examples.
fn exempt() -> BTreeSet<String> {
    let crates = entries(&workspace().join("crates")).into_iter().flat_map(|folder| entries(&folder));
    let exempt = crates.filter(|folder| allows(&folder.join("src")));
    exempt.map(|folder| folder.file_name().unwrap().to_str().unwrap().to_owned()).collect()
}

#[test]
fn the_crates_that_may_ask_the_system_are_those_that_clippy_toml_names() {
    assert!(exempt().contains("io"), "the crates are found");
    assert_eq!(exempt(), named());
}
