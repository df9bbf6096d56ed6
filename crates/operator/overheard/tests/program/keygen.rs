//! `overheard keygen` from a user's view.

#![allow(clippy::unwrap_used)] // a test may fail by panicking

use crate::support::PROGRAM;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use tempfile::TempDir;

fn keygen(args: &[&str]) -> (i32, String, String) {
    let output = Command::new(PROGRAM).arg("keygen").args(args).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

/// The key in the line of a file of this kind.
fn read_as<K: std::str::FromStr<Err = node::NotAKey>>(kind: &str, line: &str) -> K {
    line.trim_end().strip_prefix(&format!("overheard-{kind}-key:")).unwrap().parse().unwrap()
}

#[test]
fn standard_output_is_the_key_alone_and_its_public_key_is_told_beside() {
    let (code, key, said) = keygen(&[]);
    assert_eq!(code, 0);
    let private: node::PrivateKey = read_as("private", &key);
    assert_eq!(key, format!("overheard-private-key:{private}\n"));
    assert!(said.contains(&private.public().to_string()), "{said}");
    assert_ne!(keygen(&[]).1, key, "every key is another");
}

#[test]
fn files_can_be_read_by_their_owner_alone_and_fit_together() {
    let folder = TempDir::new().unwrap();
    let keys = folder.path().join("new/keys");
    let (code, said, _) = keygen(&["--out", keys.to_str().unwrap()]);
    assert_eq!(code, 0);
    let mode = |name: &str| fs::metadata(keys.join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("private.key"), mode("public.key")), (0o600, 0o644));
    let read = |name: &str| fs::read_to_string(keys.join(name)).unwrap();
    let private: node::PrivateKey = read_as("private", &read("private.key"));
    let public: node::PublicKey = read_as("public", &read("public.key"));
    assert_eq!(private.public(), public);
    assert!(said.contains(&format!("public_key = \"{public}\"")), "{said}");
    assert!(said.contains(&format!("private_key_file = {:?}", keys.join("private.key"))), "{said}");
    let (code, printed, _) = keygen(&["--public-of", keys.join("private.key").to_str().unwrap()]);
    assert_eq!((code, printed.trim()), (0, public.to_string().as_str()));
    let (code, _, said) = keygen(&["--public-of", keys.join("public.key").to_str().unwrap()]);
    assert!(code == 2 && said.contains("holds a public key, and a private key belongs here"), "{said}");
}

#[test]
fn a_key_that_is_there_is_never_overwritten() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().to_str().unwrap();
    assert_eq!(keygen(&["--network", "--out", out]).0, 0);
    let before = fs::read(folder.path().join("network.key")).unwrap();
    let (code, _, said) = keygen(&["--network", "--out", out]);
    assert_eq!(code, 2);
    let expected = format!("overheard: {out}/network.key exists; move it away or choose another directory\n");
    assert_eq!(said, expected);
    assert_eq!(fs::read(folder.path().join("network.key")).unwrap(), before);
    assert_eq!(fs::metadata(folder.path().join("network.key")).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_network_key_is_a_key_of_its_own_kind() {
    let (code, key, said) = keygen(&["--network"]);
    assert_eq!(code, 0);
    let _: node::NetworkKey = read_as("network", &key);
    assert!(said.contains("network_key_file"), "{said}");
}

#[test]
fn the_caches_key_follows_from_the_networks_and_does_not_give_it_away() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().to_str().unwrap();
    assert_eq!(keygen(&["--network", "--out", out]).0, 0);
    let network = folder.path().join("network.key");
    let (code, key, said) = keygen(&["--cache-key", network.to_str().unwrap()]);
    assert!(code == 0 && said.contains("cache_key_file"), "{said}");
    assert!(key.starts_with("overheard-cache-key:"), "{key}");
    let network_key: node::NetworkKey = read_as("network", &fs::read_to_string(&network).unwrap());
    assert!(!key.contains(&network_key.to_string()));
    let (code, said, _) = keygen(&["--cache-key", network.to_str().unwrap(), "--out", out]);
    assert!(code == 0 && said.contains("[peers]\ncache_key_file"), "{said}");
    let file = folder.path().join("cache.key");
    assert_eq!(fs::read_to_string(&file).unwrap(), key);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    // It is not a key of a tunnel.
    assert!(key.trim().parse::<node::NetworkKey>().is_err());
    assert_eq!(keygen(&["--cache-key", "/nowhere"]).0, 2);
}

#[test]
fn the_key_of_two_nodes_is_a_key_of_its_own_kind() {
    let (code, key, said) = keygen(&["--pair"]);
    assert!(code == 0 && said.contains("preshared_key_file"), "{said}");
    let _: node::PresharedKey = read_as("pair", &key);
    let folder = TempDir::new().unwrap();
    let out = folder.path().to_str().unwrap();
    let (code, said, _) = keygen(&["--pair", "--out", out]);
    let file = folder.path().join("pair.key");
    assert!(code == 0 && said.contains(&format!("[[peer]]\npreshared_key_file = {file:?}")), "{said}");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(keygen(&["--pair", "--network"]).0, 2, "one of them");
}
