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

#[test]
fn standard_output_is_the_key_alone_and_its_public_key_is_told_beside() {
    let (code, key, said) = keygen(&[]);
    assert_eq!(code, 0);
    let private: node::PrivateKey = key.trim_end().parse().unwrap();
    assert_eq!(key, format!("{private}\n"));
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
    let read = |name: &str| fs::read_to_string(keys.join(name)).unwrap().trim().to_owned();
    let private: node::PrivateKey = read("private.key").parse().unwrap();
    assert_eq!(private.public().to_string(), read("public.key"));
    assert!(said.contains(&format!("public_key = \"{}\"", read("public.key"))), "{said}");
    assert!(said.contains(&format!("private_key_file = {:?}", keys.join("private.key"))), "{said}");
    let (code, public, _) = keygen(&["--public-of", keys.join("private.key").to_str().unwrap()]);
    assert_eq!((code, public.trim()), (0, read("public.key").as_str()));
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
    assert!(key.trim().parse::<node::NetworkKey>().is_ok());
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
    assert!(!key.contains(fs::read_to_string(&network).unwrap().trim()));
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
    assert!(key.trim().parse::<node::PresharedKey>().is_ok());
    let folder = TempDir::new().unwrap();
    let out = folder.path().to_str().unwrap();
    let (code, said, _) = keygen(&["--pair", "--out", out]);
    let file = folder.path().join("pair.key");
    assert!(code == 0 && said.contains(&format!("[[peer]]\npreshared_key_file = {file:?}")), "{said}");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(keygen(&["--pair", "--network"]).0, 2, "one of them");
}
