//! The reference of configurations and of commands is generated from the code. These tests compare them, and
//! write the pages if [`VARIABLE`] is set (`make reference`).

#![allow(clippy::unwrap_used)] // a test fails by panicking

use crate::configuration::Configuration;
use crate::support::documents::{read, workspace};
use crate::support::{PROGRAM, laboratory};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// Environment variable that makes the tests write the pages.
const VARIABLE: &str = "OVERHEARD_DRAW";

/// Sources of enums that are values of keys, beside the configuration's file.
const VALUES: [&str; 3] = [
    "crates/tunnel/routing/src/config.rs",
    "crates/cache/webcache/src/config.rs",
    "crates/cache/webcache/src/store/eviction.rs",
];

/// The chapters of the configuration reference: the file of the types, and the chapter's beginning.
const CHAPTERS: [(&str, &str); 2] = [
    (
        "crates/operator/daemon/src/config/file.rs",
        "## Nodes\n\n`overheard up FILE` reads this file. A gateway, a station and a relay have the same keys.\n",
    ),
    (
        "crates/operator/daemon/src/cache/config/file.rs",
        "## Web caches\n\n`overheard cache FILE` reads this file.\n",
    ),
];

const HEAD_OF_CONFIGURATION: &str = "\
# Reference: configuration

A configuration is a TOML file. A path in it is relative to that file. The program reads and checks the whole
file before it starts anything. One sentence describes each mistake, its key, and the correction. `SIGHUP`
makes a node read its file again.

The guide [a link between two places](../guides/point-to-point.md) has the smallest configuration of two nodes.

Every key exists since version 0.1.0. The code's own comments and defaults make this page: change them there.
";

const HEAD_OF_COMMANDS: &str = "\
# Reference: commands

There are two programs. `overheard` runs nodes and web caches. `overheard-lab` runs experiments, benchmarks and
the demonstration. Each command has `--help`; the program and its groups have `--version` as well.

Exit codes: 0 after success, 1 after a failure while the command ran, 2 for a wrong command line or
configuration. With code 2 the program started nothing.

The programs' own command lines make this page: change them there.

";

/// The types of a chapter's configuration.
pub fn configuration(chapter: usize) -> Configuration {
    let values: Vec<String> = VALUES.into_iter().map(read).collect();
    Configuration::parse(&read(CHAPTERS[chapter].0), &values)
}

/// Compares a block of a page with what the code makes of it, or writes it. Two comments enclose the block:
/// `<!-- made: BEGIN name -->` and `<!-- made: END -->`.
pub fn hold_block(page: &str, name: &str, made: &str) {
    hold_between(page, (&format!("<!-- made: BEGIN {name} -->"), "<!-- made: END -->"), made);
}

/// The same for a block between two other lines.
pub fn hold_between(page: &str, (begin, end): (&str, &str), made: &str) {
    // blocks of one page are written one after the other
    static WRITES: Mutex<()> = Mutex::new(());
    let _alone = WRITES.lock().unwrap_or_else(PoisonError::into_inner);
    let text = read(page);
    let begin = format!("{begin}\n");
    let (before, rest) = text.split_once(&begin).unwrap_or_else(|| panic!("{page} has no line {begin}"));
    let (_, behind) = rest.split_once(end).expect("the block ends");
    hold(page, &format!("{before}{begin}\n{made}\n{end}{behind}"));
}

/// Compares a page with the generated one, or writes it.
fn hold(page: &str, made: &str) {
    let path = workspace().join(page);
    if std::env::var_os(VARIABLE).is_some() {
        fs::write(&path, made).unwrap();
        return;
    }
    let there = fs::read_to_string(&path).unwrap_or_default();
    let differs = there.lines().zip(made.lines()).find(|(there, made)| there != made);
    assert!(
        there == made,
        "{page} is stale, make it anew by `make reference`; the first difference: {differs:#?}"
    );
}

#[test]
fn the_reference_of_configuration_says_what_the_code_says() {
    let mut page = HEAD_OF_CONFIGURATION.to_owned();
    for (chapter, (_, beginning)) in CHAPTERS.into_iter().enumerate() {
        page += &format!("\n{beginning}{}", configuration(chapter).markdown());
    }
    hold("docs/reference/configuration.md", &page);
}

#[test]
fn the_reference_of_commands_says_what_the_programs_say() {
    let mut page = HEAD_OF_COMMANDS.to_owned();
    let programs = [Path::new(PROGRAM).to_owned(), laboratory()];
    let chapters = programs.map(|program| {
        let told = Command::new(program).args(["man", "--markdown"]).output().unwrap();
        assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
        String::from_utf8(told.stdout).unwrap()
    });
    page += chapters.join("\n").replace("\n\n\n", "\n\n").trim_end();
    page.push('\n');
    hold("docs/reference/commands.md", &page);
}

#[test]
fn the_reference_of_metrics_says_what_the_code_says() {
    hold("docs/reference/metrics.md", &crate::status::metrics_page());
}

#[test]
fn the_reference_of_status_says_what_the_code_says() {
    hold("docs/reference/status.md", &crate::status::status_page());
}
