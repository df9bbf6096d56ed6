//! Closed output pipes: `overheard … | head -1`.

#![allow(clippy::unwrap_used)] // a test may fail by panicking

use crate::support::{PROGRAM, Site, laboratory};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, Stdio};

/// A pipe whose reader is gone.
fn unread() -> Stdio {
    let (_, writer) = std::io::pipe().unwrap();
    Stdio::from(writer)
}

/// Exit code of a command with a closed standard output, and its standard error.
fn ended(program: &Path, args: &[&str], folder: &Path) -> (Option<i32>, String) {
    let mut command = Command::new(program);
    let output = command.args(args).current_dir(folder).stdout(unread()).stderr(Stdio::piped()).spawn();
    let output = output.unwrap().wait_with_output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn whatever_prints_ends_well_when_its_reader_has_had_enough() {
    let site = Site::new();
    let cache = "[cache]\nclients = [\"10.0.0.0/8\"]\n[transparent]\n";
    site.write("cache.toml", cache);
    let commands: [&[&str]; 9] = [
        &["keygen"],
        &["keygen", "--network"],
        &["keygen", "--out", "new"],
        &["keygen", "--network", "--out", "new"],
        &["keygen", "--public-of", "gateway/private.key"],
        &["cache", "--print-nft", "cache.toml"],
        &["man"],
        &["completions", "bash"],
        &["--help"],
    ];
    for args in commands {
        let (code, said) = ended(Path::new(PROGRAM), args, site.path());
        assert_eq!(code, Some(0), "{args:?}: {said}");
        assert!(!said.contains("panicked"), "{args:?}: {said}");
    }
    for args in [&["man"][..], &["completions", "zsh"], &["--help"]] {
        let (code, said) = ended(&laboratory(), args, site.path());
        assert_eq!((code, said.as_str()), (Some(0), ""), "{args:?}");
    }
    // The finding determines the exit code, as with a reader.
    for args in [&["doctor"][..], &["doctor", "--json"]] {
        let (code, said) = ended(Path::new(PROGRAM), args, site.path());
        assert!(code == Some(0) && said.is_empty(), "{args:?}: {code:?} {said}");
    }
}

#[test]
fn whatever_is_said_beside_may_have_no_reader_either() {
    let site = Site::new();
    let file = |name: &str| Stdio::from(OwnedFd::from(File::create(site.path().join(name)).unwrap()));
    let with = |args: &[&str]| {
        let mut command = Command::new(PROGRAM);
        command.args(args).current_dir(site.path()).stdout(file("out")).stderr(unread()).status().unwrap()
    };
    assert_eq!(with(&["keygen"]).code(), Some(0));
    assert_eq!(with(&["keygen", "--public-of", "nowhere"]).code(), Some(2));
    // A log line as well, and then the sentence for the user.
    std::fs::set_permissions(
        site.path().join("network.key"),
        std::os::unix::fs::PermissionsExt::from_mode(0o644),
    )
    .unwrap();
    site.write("gateway.toml", &site.gateway().replace("127.0.0.1:0", "192.0.2.99:1"));
    assert_eq!(with(&["up", "gateway.toml"]).code(), Some(2));
}
