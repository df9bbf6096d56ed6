//! Mistakes of a first hour, one a row: exit code 2, one sentence with the key and the fix, and nothing set
//! up.

#![allow(clippy::unwrap_used)] // a test may fail by panicking

use crate::support::Site;
use std::fs;

/// A key in a configuration, its right and its wrong text, and the sentence that names key and fix.
type Row = (&'static str, &'static str, &'static str);

const ROWS: [Row; 10] = [
    (
        "\"gateway/private.key\"",
        "\"gateway/public.key\"",
        "gateway.toml: [node] private_key_file: gateway/public.key holds a public key, and a private key belongs here; name \
         the file private.key that `overheard keygen --out DIR` writes",
    ),
    (
        "\"gateway/private.key\"",
        "\"network.key\"",
        "gateway.toml: [node] private_key_file: network.key holds a network's key, and a private key belongs here; name the \
         file private.key that `overheard keygen --out DIR` writes",
    ),
    (
        "\"network.key\"",
        "\"gateway/private.key\"",
        "gateway.toml: [node] network_key_file: gateway/private.key holds a private key, and a network's key belongs here; \
         name the file network.key that `overheard keygen --network --out DIR` writes",
    ),
    (
        "\"network.key\"",
        "\"gateway/public.key\"",
        "gateway.toml: [node] network_key_file: gateway/public.key holds a public key, and a network's key belongs here; \
         name the file network.key that `overheard keygen --network --out DIR` writes",
    ),
    (
        "allowed_ips",
        "preshared_key_file = \"network.key\"\nallowed_ips",
        "gateway.toml: [[peer]] \"roof\" preshared_key_file: network.key holds a network's key, and the key of two nodes \
         belongs here; name the file pair.key that `overheard keygen --pair --out DIR` writes",
    ),
    (
        "10.98.0.1/24",
        "10.98.0.1",
        "gateway.toml: [tunnel] addresses: \"10.98.0.1\" has no prefix length; write the length of the tunnel's network \
         behind it, such as \"10.98.0.1/24\"",
    ),
    (
        "fd98::1/64",
        "fd98::1",
        "gateway.toml: [tunnel] addresses: \"fd98::1\" has no prefix length; write the length of the tunnel's network \
         behind it, such as \"fd98::1/64\"",
    ),
    (
        "[tunnel]\n",
        "[link]\nkind = \"cable\"\n\n[tunnel]\n",
        "gateway.toml:10: kind: unknown variant `cable`, expected one of `satellite`, `lte`, `mesh`, `wifi`",
    ),
    (
        "name = \"roof\"",
        "name = third",
        "gateway.toml:14: name: third stands without quotes; put it into quotes: \"third\"",
    ),
    (
        "[\"10.98.0.1/24\", \"fd98::1/64\"]",
        "[10.98.0.1/24]",
        "gateway.toml:11: addresses: 10.98.0.1/24 stands without quotes; put it into quotes: \"10.98.0.1/24\"",
    ),
];

#[test]
fn each_is_refused_with_its_fix_and_leaves_nothing() {
    let site = Site::new();
    let good = site.gateway();
    for (right, wrong, sentence) in ROWS {
        assert!(good.contains(right), "{right}");
        let told = site.refused(&good.replacen(right, wrong, 1));
        assert_eq!(told, (2, format!("overheard: {sentence}")));
        assert!(!site.path().join("gateway.sock").exists(), "{wrong}");
        assert!(!fs::exists("/sys/class/net/ohtest-gw").unwrap(), "{wrong}");
    }
}

#[test]
fn a_secret_in_place_of_a_public_key_is_refused_and_not_shown() {
    let site = Site::new();
    let secret = fs::read_to_string(site.path().join("gateway/private.key")).unwrap();
    let (code, said) = site.refused(&site.gateway().replace(&site.station_public, secret.trim()));
    let expected = "overheard: gateway.toml: [[peer]] \"roof\" public_key: holds a private key, and a public key belongs here; \
                    write the other node's public key";
    assert_eq!((code, said.as_str()), (2, expected));
}

#[test]
fn files_of_earlier_versions_are_read_and_those_of_another_kind_refused_by_their_names_and_neighbours() {
    let site = Site::new();
    for name in ["gateway/private.key", "gateway/public.key", "network.key"] {
        let line = fs::read_to_string(site.path().join(name)).unwrap();
        site.write(name, line.rsplit(':').next().unwrap());
    }
    // A later mistake ends the start: the keys were read.
    let late = site.gateway().replacen("10.98.0.2/32", "10.98.0.1/32", 1);
    let (code, said) = site.refused(&late);
    assert!(code == 2 && said.contains("is this node's own address"), "{said}");
    for (right, wrong, sign) in [
        ("gateway/private.key", "gateway/public.key", "holds a public key, and a private key belongs here"),
        ("network.key", "gateway/private.key", "holds a private key, and a network's key belongs here"),
        ("network.key", "gateway/public.key", "holds a public key, and a network's key belongs here"),
        ("gateway/private.key", "network.key", "has the name of a file with a network's key"),
    ] {
        let (code, said) = site.refused(&late.replacen(right, wrong, 1));
        assert!(code == 2 && said.contains(sign), "{said}");
    }
}

#[test]
fn a_prefix_may_hold_one_of_another_peer() {
    let site = Site::new();
    let other = site.key("barn");
    let barn =
        format!("\n[[peer]]\nname = \"barn\"\npublic_key = \"{other}\"\nallowed_ips = [\"10.98.0.0/25\"]\n");
    let nested = site.gateway() + &barn;
    let (code, said) = site.refused(&nested.replacen("ohtest-gw", "no name at all", 1));
    assert!(code == 2 && said.contains("is no name for an interface"), "{said}");
    // The name is checked first: with a name, what follows is the machine's.
    let (_, said) = site.refused(&nested.replacen("127.0.0.1:0", "192.0.2.77:4780", 1));
    assert!(said.contains("[node] listen") || said.contains("TUN"), "{said}");
}
