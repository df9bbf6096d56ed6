//! What the documents say is so: every file they point at is there, their tables name keys that there are,
//! and the tunnel of the README carries packets. Their commands are run in `commands.rs`, and the guides' in
//! `guides.rs`.

#![allow(clippy::unwrap_used)] // a test fails by panicking

use crate::support::Site;
use crate::support::documents::{DOCUMENTS, GUIDES, blocks, read, workspace};
use crate::support::namespaces::{Cabled, Node, possible};
use crate::support::traffic::answers;
use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

#[test]
fn every_file_that_the_documents_point_at_is_there() {
    for document in DOCUMENTS.into_iter().chain(GUIDES).chain(["CHANGELOG.md"]) {
        let text = read(document);
        let folder = workspace().join(document).parent().unwrap().to_owned();
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let elsewhere = target.starts_with("http") || target.starts_with('#');
            let file = target.split('#').next().unwrap();
            assert!(elsewhere || folder.join(file).exists(), "{document} points at {target}");
        }
    }
}

#[test]
fn the_table_of_the_readme_names_keys_that_a_configuration_may_have() {
    let site = Site::new();
    let plain = site.gateway();
    let values = [
        ("listen", "\"127.0.0.1:0\""),
        ("source_ports", "1"),
        ("threads", "1"),
        ("status_socket", "\"gateway.sock\""),
        ("mtu", "1400"),
        ("routes", "true"),
        ("when_down", "\"open\""),
        ("copy_dscp", "true"),
        ("mss_clamp", "true"),
        ("boost", "true"),
        ("boost_control", "\"cubic\""),
        ("keepalive_seconds", "25"),
        ("policy", "\"acked\""),
        ("sharing", "\"station\""),
        ("store_mib", "16"),
        ("headers", "true"),
        ("literals", "true"),
        ("packing", "true"),
        ("interface", "\"wlan0mon\""),
        ("slot_bits", "18"),
        ("rate_mbps", "24.0"),
        ("network_coding", "true"),
        ("buffer_packets", "8"),
        ("replacement", "\"lru\""),
        ("adaptive", "true"),
        ("degree", "2"),
        ("distance", "4"),
        ("reed_solomon", "true"),
        ("token_file", "\"token\""),
        ("relays", "true"),
        ("previous_network_key_file", "\"old.key\""),
        ("revoked_file", "\"gateway.revoked\""),
        ("preshared_key_file", "\"pair.key\""),
    ];
    for name in ["old.key", "pair.key"] {
        site.write(name, &format!("{}\n", node::PresharedKey::generate(&mut rand::rng())));
    }
    // a row may also name a table that has keys of its own
    let rows = of_the_tunnel().lines().filter_map(row).filter(|row| row.contains(' ')).collect::<Vec<_>>();
    let keys: BTreeSet<&str> = rows.iter().filter_map(|row| row.split(' ').nth(1)).collect();
    assert_eq!(keys.len(), values.len(), "{rows:?}");
    for row in rows {
        let (table, key) = row.split_once(' ').unwrap();
        let (_, value) = values.iter().find(|(known, _)| *known == key).unwrap();
        let config = if plain.contains(table) && plain.contains(&format!("\n{key} =")) {
            plain.clone()
        } else if plain.contains(table) {
            plain.replacen(table, &format!("{table}\n{key} = {value}"), 1)
        } else {
            format!("{plain}\n{table}\n{key} = {value}\n")
        };
        site.write("gateway.toml", &config);
        let asked = site.run(&["status", "gateway.toml"]);
        // 1: the configuration is read and no node runs; 2: the configuration is wrong.
        assert_eq!(asked.status.code(), Some(1), "{row}: {}", String::from_utf8_lossy(&asked.stderr));
    }
}

/// What the README says before it comes to the web cache, whose configuration is another.
fn of_the_tunnel() -> String {
    read("README.md").split("\n## A web cache").next().unwrap_or_default().to_owned()
}

/// What the README says of the web cache.
fn of_the_cache() -> String {
    let readme = read("README.md");
    let section = readme.split("\n## A web cache").nth(1).expect("the README tells of the cache");
    section.split("\n## ").next().unwrap_or_default().to_owned()
}

/// Whether `overheard cache` takes a configuration; what it says where it does not.
fn taken_by_the_cache(site: &Site, config: &str) -> Result<(), String> {
    site.write("cache.toml", config);
    let asked = site.run(&["cache", "cache.toml", "--print-nft"]);
    if asked.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&asked.stderr).into_owned()) }
}

fn site_of_a_router() -> Site {
    let site = Site::new();
    fs::create_dir_all(site.path().join("keys")).unwrap();
    for name in ["keys/network.key", "keys/cache.key"] {
        site.write(name, "a key that all routers share\n");
    }
    site.write("token", "0123456789abcdefgh\n");
    site
}

#[test]
fn the_caches_of_the_readme_are_taken_as_they_stand() {
    let site = site_of_a_router();
    let configurations = blocks("README.md", "toml");
    let caches: Vec<&String> = configurations.iter().filter(|text| text.contains("[cache]\n")).collect();
    assert!(caches.len() >= 2, "{configurations:?}");
    for cache in caches {
        taken_by_the_cache(&site, cache).unwrap_or_else(|why| panic!("{why}\n{cache}"));
    }
}

#[test]
fn the_table_of_the_cache_names_keys_that_a_configuration_may_have() {
    let site = site_of_a_router();
    let base = "[cache]\nname = \"r\"\nclients = [\"10.0.0.0/8\"]\n[transparent]\n";
    let peers = "[peers]\naddress = \"10.0.0.4\"\nnetworks = [\"10.0.0.0/16\"]\ncache_key_file = \"keys/cache.key\"\n";
    // What else a table needs, and a value.
    let values = [
        ("[cache] architecture", "", "\"access\""),
        ("[cache] stale_if_unreachable_seconds", "", "60"),
        ("[cache] packages", "", "false"),
        ("[cache] connections_each", "", "100"),
        ("[cache] destination_ports", "", "[80, \"8000-8999\"]"),
        ("[cache] allow_destinations", "", "[\"127.0.0.0/8\", \"10.0.0.1:8080\"]"),
        ("[transparent] interfaces", "", "[\"wlan0\"]"),
        ("[transparent] verify_host", "", "false"),
        ("[forward] listen", "", "\"10.0.0.4:3128\""),
        ("[forward] connect_ports", "listen = \"10.0.0.4:3128\"", "[443]"),
        ("[reverse] listen", "[[reverse.upstream]]\nurl = \"http://deb.debian.org/\"", "\"10.0.0.4:8080\""),
        ("[store] object_mib", "", "100"),
        ("[store] objects", "", "1000"),
        ("[store] policy", "", "\"lru\""),
        ("[peers] search_timeout_milliseconds", "", "50"),
        ("[peers] uplink_hops", "", "2.5"),
        ("[peers] interfaces", "", "[\"wlan0\"]"),
        ("[routing] source", "", "\"kernel\""),
        ("[routing] gateways", "source = \"kernel\"", "[\"10.0.0.1\"]"),
        ("[routing] socket", "source = \"olsrv2\"", "\"2009\""),
        ("[routing] file", "source = \"static\"", "\"routes.toml\""),
        ("[routing] refresh_seconds", "source = \"kernel\"", "5"),
        ("[icp] listen", "[[icp.neighbour]]\naddress = \"10.0.0.5\"", "\"10.0.0.4:3130\""),
        ("[management] listen", "", "\"127.0.0.1:4784\""),
        ("[management] token_file", "", "\"token\""),
    ];
    let mut named: Vec<String> = of_the_cache().lines().flat_map(keys_of_a_row).collect();
    let mut known: Vec<String> = values.iter().map(|(key, ..)| (*key).to_owned()).collect();
    named.sort();
    known.sort();
    assert_eq!(named, known);
    for (key, more, value) in values {
        let (table, name) = key.split_once(' ').unwrap();
        let line = format!("{name} = {value}");
        let mut config = base.to_owned();
        if table == "[routing]" || table == "[peers]" {
            config += &peers.replace("10.0.0.4", if name == "interfaces" { "fd00::4" } else { "10.0.0.4" });
        }
        if config.contains(table) {
            config = config.replace(table, &format!("{table}\n{line}"));
        } else if more.starts_with("[[") {
            config += &format!("{table}\n{line}\n{more}\n");
        } else {
            config += &format!("{table}\n{more}\n{line}\n");
        }
        taken_by_the_cache(&site, &config).unwrap_or_else(|why| panic!("{key}: {why}\n{config}"));
    }
}

/// The keys in the first cell of a row such as "| `[store] object_mib`, `objects` | ...", each with its
/// table.
fn keys_of_a_row(line: &str) -> Vec<String> {
    let cell =
        line.strip_prefix("| `[").and_then(|rest| rest.split('|').next()).map(|cell| format!("`[{cell}"));
    let mut table = String::new();
    let cell = cell.unwrap_or_default();
    let quoted = cell.split('`').skip(1).step_by(2);
    let mut keys = Vec::new();
    for word in quoted {
        let key = match word.split_once("] ") {
            Some((named, key)) => {
                table = format!("{named}]");
                key
            }
            None if word.starts_with('[') => continue,
            None => word,
        };
        keys.push(format!("{table} {key}"));
    }
    keys
}

/// The key in a row such as "| `[tunnel] mtu` | ...".
fn row(line: &str) -> Option<String> {
    let (key, _) = line.strip_prefix("| `[")?.split_once('`')?;
    Some(format!("[{key}"))
}

#[test]
fn the_tunnel_of_the_readme_carries_packets() {
    if !possible() {
        return;
    }
    let site = Site::new();
    let configurations = blocks("README.md", "toml");
    let [gateway, station, ..] = &configurations[..] else { panic!("two configurations are expected") };
    // Both nodes run on this machine's files: each gets a folder for its key and a socket of its own.
    for (name, text, public) in
        [("gateway", gateway, &site.station_public), ("station", station, &site.gateway_public)]
    {
        assert!(text.starts_with(&format!("# {name}.toml\n")));
        let placeholder = text.split('"').find(|value| value.ends_with("PUBLIC KEY")).unwrap();
        let text = text
            .replace(placeholder, public)
            .replace("keys/private.key", &format!("{name}/private.key"))
            .replace("keys/network.key", "network.key")
            .replace("[tunnel]", &format!("status_socket = \"{name}.sock\"\n\n[tunnel]"));
        site.write(&format!("{name}.toml"), &text);
    }
    let machines = Cabled::new();
    let _gateway = Node::start(&site, &machines.gateway, "gateway");
    let _station = Node::start(&site, &machines.station, "station");
    for gateway in ["10.9.0.1", "fd09::1"] {
        let to = gateway.parse().unwrap();
        assert!(answers(&machines.station, to, 100, Duration::from_secs(10)), "{gateway} does not answer");
    }
    for station in ["10.9.0.2", "fd09::2"] {
        let to = station.parse().unwrap();
        assert!(answers(&machines.gateway, to, 100, Duration::from_secs(10)), "{station} does not answer");
    }
}
