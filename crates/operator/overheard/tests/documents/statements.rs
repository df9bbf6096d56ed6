//! Statements of the documents: the reference has the existing keys, a configuration may have each of them,
//! and the README's tunnel carries packets. `links.rs` follows links, `commands.rs` runs commands, and
//! `guides.rs` runs those of guides.

#![allow(clippy::unwrap_used)] // a test fails by panicking

use crate::reference;
use crate::support::Site;
use crate::support::documents::{blocks, read, workspace};
use crate::support::namespaces::{Cabled, Node, possible};
use crate::support::traffic::answers;
use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

/// A key's further needs in its table, and a value.
type Value = (&'static str, &'static str, &'static str);

/// Every key of a node's configuration, except those that every node has.
const OF_NODES: [Value; 70] = [
    (" snoop", "", "true"),
    (" split", "", "true"),
    (" streams", "", "true"),
    ("[streams] answer_early", "", "true"),
    ("[streams] memory_mib", "", "32"),
    ("[streams] connections", "", "100"),
    (" sandbox", "", "false"),
    ("[node] previous_network_key_file", "", "\"old.key\""),
    ("[node] revoked_file", "", "\"gateway.revoked\""),
    ("[node] listen", "", "\"127.0.0.1:0\""),
    ("[node] source_ports", "", "1"),
    ("[node] threads", "", "1"),
    ("[node] status_socket", "", "\"gateway.sock\""),
    ("[tunnel] mtu", "", "1400"),
    ("[tunnel] routes", "", "true"),
    ("[tunnel] when_down", "", "\"open\""),
    ("[tunnel] copy_dscp", "", "true"),
    ("[tunnel] mss_clamp", "", "true"),
    ("[tunnel] boost", "", "true"),
    ("[tunnel] boost_control", "", "\"cubic\""),
    ("[[peer]] endpoint", "", "\"192.0.2.1:4780\""),
    ("[[peer]] preshared_key_file", "", "\"pair.key\""),
    ("[[peer]] relays", "", "true"),
    ("[[peer]] keepalive_seconds", "", "25"),
    ("[[peer]] rate", "", "\"20 Mbit/s\""),
    ("[[gateway]] endpoint", NEIGHBOUR, "\"192.0.2.2:4780\""),
    ("[[gateway]] preshared_key_file", NEIGHBOUR, "\"pair.key\""),
    ("[[gateway]] allowed_ips", NEIGHBOUR, "[\"10.98.0.9/32\"]"),
    ("[[gateway]] keepalive_seconds", NEIGHBOUR, "5"),
    ("[[gateway]] name", "public_key = \"KEY\"", "\"harbour\""),
    ("[[gateway]] public_key", "name = \"harbour\"", "\"KEY\""),
    ("[routing] source", "", "\"kernel\""),
    ("[routing] file", "source = \"static\"", "\"routes.toml\""),
    ("[routing] socket", "source = \"babeld\"", "\"/run/babeld.sock\""),
    ("[routing] refresh_seconds", "source = \"kernel\"", "1"),
    ("[[destination]] address", "allowed_ips = [\"10.98.0.9/32\"]", "\"192.0.2.9\""),
    ("[[destination]] allowed_ips", "address = \"192.0.2.9\"", "[\"10.98.0.9/32\"]"),
    ("[link] kind", "", "\"wifi\""),
    ("[link] fec", "", "\"off\""),
    ("[link] control", "", "\"off\""),
    ("[link] rate", "", "\"20 Mbit/s\""),
    ("[reduce] policy", "", "\"acked\""),
    ("[reduce] k", "", "8"),
    ("[reduce] form", "", "\"compact\""),
    ("[reduce] sharing", "", "\"station\""),
    ("[reduce] window_bytes", "", "16"),
    ("[reduce] sample_bits", "", "4"),
    ("[reduce] store_mib", "", "16"),
    ("[reduce] spare_processor", "", "false"),
    ("[memory] mib", "", "64"),
    ("[shorten] headers", "", "true"),
    ("[shorten] literals", "", "true"),
    ("[shorten] packing", "", "true"),
    ("[snoop] buffer_packets", "", "8"),
    ("[snoop] replacement", "", "\"lru\""),
    ("[snoop] degree", "", "2"),
    ("[snoop] distance", "", "4"),
    ("[snoop] adaptive", "", "true"),
    ("[snoop] reed_solomon", "", "true"),
    ("[split] ports", "", "[80]"),
    ("[split] connections", "", "4096"),
    ("[split] idle_seconds", "", "7440"),
    ("[split] port", "", "4783"),
    ("[split] mark", "", "0x4f53"),
    ("[split] table", "", "4783"),
    ("[split] rules", "", "true"),
    ("[overhear] interface", "", "\"wlan0mon\""),
    ("[overhear] slot_bits", "", "18"),
    ("[overhear] rate_mbps", "", "24.0"),
    ("[overhear] network_coding", "", "true"),
];
const NEIGHBOUR: &str = "name = \"harbour\"\npublic_key = \"KEY\"";

/// The keys in a chapter of the generated reference: "[table] key".
fn keys_of_the_reference(chapter: usize) -> BTreeSet<String> {
    let keys: BTreeSet<String> = reference::configuration(chapter)
        .keys()
        .iter()
        .map(|key| format!("{} {}", key.table, key.name))
        .collect();
    let page = read("docs/reference/configuration.md");
    for key in &keys {
        let (table, name) = key.split_once(' ').unwrap();
        assert!(page.contains(&format!("\n| `{name}` | ")), "the reference has {key}");
        assert!(
            table.is_empty() || page.contains(&format!("\n### `{table}`\n")),
            "the reference has {table}"
        );
    }
    keys
}

#[test]
fn the_readme_stays_short() {
    assert!(read("README.md").len() <= 8 << 10, "move something from README.md to a page in docs");
}

#[test]
fn the_map_stays_short() {
    let bytes = read("ARCHITECTURE.md").len();
    assert!(bytes <= 12_000, "ARCHITECTURE.md has {bytes} bytes: move something to docs/decisions");
}

#[test]
fn the_map_names_files_that_exist() {
    let map = read("ARCHITECTURE.md");
    let code = map.split('`').skip(1).step_by(2);
    let paths: Vec<&str> = code.filter(|it| it.contains('/') && !it.contains("PAPER")).collect();
    assert!(paths.len() > 30, "{paths:?}");
    let exists = |path: &&str| ["", "crates"].iter().any(|root| workspace().join(root).join(path).exists());
    let absent: Vec<&str> = paths.into_iter().filter(|path| !exists(path)).collect();
    assert!(absent.is_empty(), "ARCHITECTURE.md names files that do not exist: {absent:?}");
}

#[test]
fn a_node_takes_every_key_of_the_reference() {
    let site = Site::new();
    let plain = site.gateway();
    let lines = plain.lines().map(str::trim);
    let mut table = "";
    let mut known: BTreeSet<String> = OF_NODES.iter().map(|(key, ..)| (*key).to_owned()).collect();
    known.extend(["[dashboard] listen", "[dashboard] token_file"].map(str::to_owned));
    for line in lines {
        match line.split_once(" = ") {
            Some((key, _)) => drop(known.insert(format!("{table} {key}"))),
            None if line.starts_with('[') => table = line,
            None => {}
        }
    }
    assert_eq!(keys_of_the_reference(0), known);
    // A switch without a table is a section without options.
    let switches = [" snoop", " split", " streams"].map(str::to_owned);
    let mut of_uci: BTreeSet<String> = daemon::config::uci::KEYS.iter().map(|key| key.written()).collect();
    of_uci.insert("[tunnel] interface".to_owned());
    of_uci.extend(switches);
    assert_eq!(of_uci, known, "OpenWrt's options: config/uci/keys.rs");
    let of_dashboard =
        [("[dashboard] listen", "", "\"127.0.0.1:4785\""), ("[dashboard] token_file", "", "\"token\"")];
    for (key, more, value) in OF_NODES.into_iter().chain(of_dashboard) {
        let (table, name) = key.split_once(' ').unwrap();
        let line = format!("{name} = {value}");
        let config = if table.is_empty() {
            format!("{line}\n{plain}")
        } else if plain.contains(table) && plain.contains(&format!("\n{name} =")) {
            plain.clone()
        } else if plain.contains(table) {
            plain.replacen(table, &format!("{table}\n{line}"), 1)
        } else {
            format!("{plain}\n{table}\n{more}\n{line}\n")
        };
        site.write("gateway.toml", &config.replace("KEY", &site.station_public));
        let asked = site.run(&["status", "gateway.toml"]);
        // 1: the configuration is read and no node runs; 2: the configuration is wrong.
        assert_eq!(asked.status.code(), Some(1), "{key}: {}", String::from_utf8_lossy(&asked.stderr));
    }
}

/// Checks that `overheard cache` accepts a configuration. The error is its message.
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
fn the_caches_of_their_page_are_taken_as_they_stand() {
    let site = site_of_a_router();
    let configurations = blocks("docs/features/web-cache.md", "toml");
    let caches: Vec<&String> = configurations.iter().filter(|text| text.contains("[cache]\n")).collect();
    assert!(caches.len() >= 2, "{configurations:?}");
    for cache in caches {
        taken_by_the_cache(&site, cache).unwrap_or_else(|why| panic!("{why}\n{cache}"));
    }
}

const UPSTREAM: &str = "url = \"http://deb.debian.org/\"";
const NEIGHBOUR_BY_ICP: &str = "address = \"10.0.0.5\"";

#[test]
fn a_cache_takes_every_key_of_the_reference() {
    let site = site_of_a_router();
    let base = "[cache]\nname = \"r\"\nclients = [\"10.0.0.0/8\"]\n[transparent]\n";
    let peers = "[peers]\naddress = \"10.0.0.4\"\nnetworks = [\"10.0.0.0/16\"]\ncache_key_file = \"keys/cache.key\"\n";
    let values: [Value; 52] = [
        (" sandbox", "", "false"),
        ("[cache] name", "", "\"r\""),
        ("[cache] clients", "", "[\"10.0.0.0/8\"]"),
        ("[cache] connections_each", "", "100"),
        ("[cache] architecture", "", "\"access\""),
        ("[cache] selection", "", "\"tree\""),
        ("[cache] gateway", "", "false"),
        ("[cache] stale_if_unreachable_seconds", "", "60"),
        ("[cache] destination_ports", "", "[80, \"8000-8999\"]"),
        ("[cache] allow_destinations", "", "[\"127.0.0.0/8\", \"10.0.0.1:8080\"]"),
        ("[cache] packages", "", "false"),
        ("[store] directory", "", "\"kept\""),
        ("[store] memory_mib", "", "64"),
        ("[store] disk_mib", "", "4096"),
        ("[store] object_mib", "", "100"),
        ("[store] objects", "", "1000"),
        ("[store] policy", "", "\"lru\""),
        ("[transparent] port", "", "4782"),
        ("[transparent] origin_ports", "", "[80]"),
        ("[transparent] interfaces", "", "[\"wlan0\"]"),
        ("[transparent] verify_host", "", "false"),
        ("[transparent] rules", "", "true"),
        ("[transparent] mark", "", "0x4f48"),
        ("[transparent] table", "", "4782"),
        ("[forward] listen", "", "\"10.0.0.4:3128\""),
        ("[forward] connect_ports", "listen = \"10.0.0.4:3128\"", "[443]"),
        ("[reverse] listen", "[[reverse.upstream]]\nurl = \"http://deb.debian.org/\"", "\"10.0.0.4:8080\""),
        ("[[reverse.upstream]] host", UPSTREAM, "\"deb.debian.org\""),
        ("[[reverse.upstream]] path", UPSTREAM, "\"/debian/\""),
        ("[[reverse.upstream]] url", "", "\"http://deb.debian.org/\""),
        ("[peers] address", "", "\"10.0.0.4\""),
        ("[peers] port", "", "4783"),
        ("[peers] networks", "", "[\"10.0.0.0/16\"]"),
        ("[peers] cache_key_file", "", "\"keys/cache.key\""),
        ("[peers] search_timeout_milliseconds", "", "50"),
        ("[peers] uplink_hops", "", "2.5"),
        ("[peers] broadcast", "", "[\"10.0.255.255\"]"),
        ("[peers] interfaces", "", "[\"wlan0\"]"),
        ("[peers] positions", "", "{ \"10.0.0.4\" = [0.0, 0.0] }"),
        ("[peers] grid_metres", "", "500.0"),
        ("[routing] source", "", "\"kernel\""),
        ("[routing] gateways", "source = \"kernel\"", "[\"10.0.0.1\"]"),
        ("[routing] file", "source = \"static\"", "\"routes.toml\""),
        ("[routing] socket", "source = \"olsrv2\"", "\"2009\""),
        ("[routing] refresh_seconds", "source = \"kernel\"", "5"),
        ("[icp] listen", "[[icp.neighbour]]\naddress = \"10.0.0.5\"", "\"10.0.0.4:3130\""),
        ("[[icp.neighbour]] address", "", "\"10.0.0.5\""),
        ("[[icp.neighbour]] icp_port", NEIGHBOUR_BY_ICP, "3130"),
        ("[[icp.neighbour]] http_port", NEIGHBOUR_BY_ICP, "3128"),
        ("[[icp.neighbour]] parent", NEIGHBOUR_BY_ICP, "true"),
        ("[management] listen", "", "\"127.0.0.1:4784\""),
        ("[management] token_file", "", "\"token\""),
    ];
    let known: BTreeSet<String> = values.iter().map(|(key, ..)| (*key).to_owned()).collect();
    assert_eq!(keys_of_the_reference(1), known);
    for (key, more, value) in values {
        let (table, name) = key.split_once(' ').unwrap();
        let line = format!("{name} = {value}");
        let mut config = base.to_owned();
        if table == "[routing]" || table == "[peers]" {
            config += &peers.replace("10.0.0.4", if name == "interfaces" { "fd00::4" } else { "10.0.0.4" });
        }
        let of_table = |table: &str| format!("[{table}]\nlisten = \"10.0.0.4:8080\"\n");
        if table.is_empty() {
            config = format!("{line}\n{config}");
        } else if config.contains(table) && config.contains(&format!("\n{name} = ")) {
            // The table is already present.
        } else if config.contains(table) {
            config = config.replace(table, &format!("{table}\n{line}"));
        } else if let Some((outer, _)) = table.trim_start_matches('[').split_once('.') {
            config += &format!("{}{table}\n{more}\n{line}\n", of_table(outer));
        } else if more.starts_with("[[") {
            config += &format!("{table}\n{line}\n{more}\n");
        } else {
            config += &format!("{table}\n{more}\n{line}\n");
        }
        taken_by_the_cache(&site, &config).unwrap_or_else(|why| panic!("{key}: {why}\n{config}"));
    }
}

#[test]
fn the_files_of_overhearing_are_whole_and_those_of_the_examples() {
    let site = Site::new();
    let configurations = blocks("docs/features/overhearing.md", "toml");
    for name in ["gateway", "station"] {
        let head = format!("# {name}.toml\n");
        let text = configurations.iter().find(|text| text.starts_with(&head)).expect("a whole file");
        let example = read(&format!("packaging/examples/access-point/{name}.toml"));
        let [shown, example] =
            [text, &example].map(|text| toml::from_str::<toml::Table>(text).expect("a configuration"));
        assert_eq!(shown, example, "{name}");
        let keys = [&site.station_public, &site.gateway_public].into_iter();
        let names = text.split('"').filter(|value| value.ends_with("PUBLIC KEY"));
        let whole = names.zip(keys).fold(text.clone(), |text, (name, key)| text.replace(name, key));
        site.write(
            &format!("{name}.toml"),
            &whole
                .replace("keys/private.key", &format!("{name}/private.key"))
                .replace("keys/network.key", "network.key"),
        );
        let asked = site.run(&["status", &format!("{name}.toml")]);
        // 1: the configuration is read and no node runs; 2: the configuration is wrong.
        assert_eq!(asked.status.code(), Some(1), "{}", String::from_utf8_lossy(&asked.stderr));
    }
}

#[test]
fn the_tunnel_of_the_readme_carries_packets() {
    if !possible() {
        return;
    }
    let site = Site::new();
    let configurations = blocks("README.md", "toml");
    let [gateway, station, ..] = &configurations[..] else { panic!("two configurations are expected") };
    // Both nodes run on this machine's files: each gets a folder for its key and its own socket.
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
