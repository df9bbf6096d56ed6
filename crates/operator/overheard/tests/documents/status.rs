//! The lines and columns of a status, its fields as `--json` prints them, and the metrics of a page:
//! docs/reference/status.md and docs/reference/metrics.md.
//!
//! Columns and fields are read from the source of their types, and lines are compared with the source.
//! Metrics are those of a report that has one of everything, and of a web cache that runs.

// A test fails by panicking, and waits for a program.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use crate::support::documents::read;
use crate::support::{PROGRAM, Site};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::Duration;
use syn::{Fields, Item};

/// The types of a status: source, type, heading, and description.
type Part = (&'static str, &'static str, &'static str, &'static str);

const NODE: [Part; 20] = [
    (
        "crates/operator/dashboard/src/node/report.rs",
        "About",
        "The node: what does not change",
        "These fields are at the top of the object.",
    ),
    (
        "crates/operator/dashboard/src/node/report.rs",
        "Report",
        "The node: its state",
        "These fields are at the top of the object, too.",
    ),
    (
        "crates/operator/dashboard/src/node/report.rs",
        "Silent",
        "`silent[]`",
        "One object for each silent peer.",
    ),
    ("crates/tunnel/io/src/control.rs", "Snapshot", "The node: its state", ""),
    ("crates/tunnel/node/src/status.rs", "Status", "`node`", ""),
    (
        "crates/tunnel/node/src/status/memory.rs",
        "MemoryStatus",
        "`node.memory`",
        "The [budget of memory](../operations.md#capacity-and-memory).",
    ),
    ("crates/tunnel/node/src/status.rs", "SharingStatus", "`node.sharing`", ""),
    ("crates/tunnel/node/src/status.rs", "PeerStatus", "`node.peers[]`", "One object for each peer."),
    ("crates/tunnel/node/src/status.rs", "PeerCounters", "`node.peers[].counters`", COUNTED),
    (
        "crates/tunnel/node/src/status/streams.rs",
        "StreamCounters",
        "`node.peers[].counters.streams`",
        "TCP connections that crossed the hop as [streams](../features/streams.md).",
    ),
    (
        "crates/tunnel/node/src/status/streams.rs",
        "StreamsStatus",
        "`node.peers[].streams`",
        "The present state of the [streams](../features/streams.md).",
    ),
    ("crates/tunnel/node/src/status/memory.rs", "StoresStatus", "`node.peers[].stores`", ""),
    ("crates/tunnel/node/src/status.rs", "OverheardAtRate", "`node.peers[].overheard_by_rate[]`", ""),
    ("crates/tunnel/node/src/status.rs", "RecoverStatus", "`node.peers[].recover`", ""),
    (
        "crates/tunnel/node/src/status.rs",
        "DestinationStatus",
        "`node.destinations[]`",
        "One object for each table `[[destination]]`.",
    ),
    ("crates/tunnel/node/src/status/refused.rs", "Refused", "`node.refused`", REFUSED),
    ("crates/tunnel/io/src/control.rs", "Counters", "`io`", ""),
    ("crates/tunnel/split/src/counters.rs", "Counts", "`split`", ""),
    (
        "crates/tunnel/io/src/sniffer/mod.rs",
        "Heard",
        "`overheard`",
        "The counters begin when the node opens the interface.",
    ),
    ("crates/tunnel/io/src/sniffer/mod.rs", "Counters", "`overheard`", ""),
];
const CACHE: [Part; 8] = [
    ("crates/cache/webcache/src/proxy.rs", "Report", "The cache", ""),
    ("crates/cache/webcache/src/store.rs", "Usage", "`store`", ""),
    ("crates/cache/webcache/src/statistics.rs", "Counters", "`counters`", ""),
    (
        "crates/cache/webcache/src/statistics.rs",
        "Answered",
        "`counters.requests`, `counters.bytes`, and both of a site",
        "Each field is one way to answer a request.",
    ),
    ("crates/cache/webcache/src/statistics.rs", "Site", "`counters.sites`", "One object by host."),
    (
        "crates/cache/webcache/src/statistics.rs",
        "Neighbour",
        "`counters.neighbours`",
        "One object by address.",
    ),
    ("crates/cache/webcache/src/selector.rs", "Report", "`mesh`", ""),
    ("crates/cache/webcache/src/selection/search.rs", "Traffic", "`mesh.traffic`", ""),
];
const COUNTED: &str =
    "These counters begin at the start of the node. Sessions and restarts of the peer do not reset them.";
const REFUSED: &str = "The node refused these datagrams and packets before they changed anything.";

/// Where rows of printed tables have their types, in the order of the printout.
const ROWS: [&str; 5] = [
    "crates/operator/overheard/src/commands/status.rs",
    "crates/operator/overheard/src/commands/status/streams.rs",
    "crates/operator/overheard/src/commands/status/memory.rs",
    "crates/operator/overheard/src/commands/status/gateways.rs",
    "crates/operator/overheard/src/commands/status/relays.rs",
];

/// A line outside tables: its format in the source, its form for a reader, its meaning.
type Line = (&'static str, &'static str, &'static str);

/// Lines of a node, in the order of the printout.
const LINES: [Line; 14] = [
    (
        "{} on {} (mtu {}), listening on {}, up for {}, policy {}, version {}",
        "ROLE on INTERFACE (mtu BYTES), listening on ADDRESS, up for TIME, policy NAME, version NUMBER",
        "The role of the node. The TUN device, and its MTU in bytes. The address and UDP port of the node. The time since \
         its start. The policy of redundancy elimination for packets that this node sends. The version of the program.",
    ),
    ("public key {}\\n", "public key KEY", "The public key of the node. Its peers need it as `public_key`."),
    (
        "silent:          {}, for {since}: {}",
        "silent: PEER, for TIME: REASON",
        "A peer with an `endpoint` that has not answered for four seconds or more. The known reason, and what to do.",
    ),
    (
        "processor short: {unstored} of {sent} packets to {name} went past redundancy elimination",
        "processor short: COUNT of COUNT packets to PEER went past redundancy elimination",
        "Packets that left while the processor was the bottleneck. Neither end stores them, and nothing is removed from \
         them. The count of all sent packets.",
    ),
    (
        "memory:          {taken} in stores, which may take {held}, and {beside} beside them, of {budget}\\n",
        "memory: BYTES in stores, which may take BYTES, and BYTES beside them, of BYTES",
        "The memory that all stores take now, and that they may take by their bounds. The memory of tables, queues and \
         buffers beside stores. The budget of the node: `[memory] mib`.",
    ),
    (
        "{} overhears: {}",
        "PEER overhears: SHARE at BITRATE, …",
        "The share of packets for other members that the peer overheard, in percent, for each bitrate. It counts since \
         the peer became a member.",
    ),
    (
        "overhearing:     off for {}: it took {:.1} s of air time, and saved {:.1} s",
        "overhearing: off for TIME: it took TIME of air time, and saved TIME",
        "The gateway shares nothing with its group, because that cost more air time than it saved. The time until it tries \
         again. The air time of the last trial.",
    ),
    (
        "collisions in the cache: {}\\n",
        "collisions in the cache: NUMBER",
        "Chunks that replaced another chunk in this node's cache of sent chunks. 0 on a station.",
    ),
    (
        "{station} is with {gateway}",
        "PEER is with GATEWAY",
        "The station is associated with another gateway.",
    ),
    (
        "associated with: {}",
        "associated with: GATEWAY",
        "This node, a station, is associated with that gateway.",
    ),
    (
        "boost:           {}",
        "boost: NAME; NUMBER flows, RATIO segments a wire packet",
        "The congestion control that boosts TCP senders on this node, or the reason against it. The number of TCP flows \
         with larger congestion windows. The average number of their segments in a wire packet.",
    ),
    (
        "split TCP:       {open} open, {accepted} taken, {} handed across; {reset} reset, {idle} idle, {unreached} not \
         reached, {refused} refused",
        "split TCP: NUMBER open, NUMBER taken, BYTES handed across; NUMBER reset, NUMBER idle, NUMBER not reached, NUMBER refused",
        "Open connections. Accepted connections since the start. Forwarded bytes. Connections that one end reset. \
         Connections that ended after a time without a byte. Accepted connections with an unreachable other end. \
         Connections beyond the limit.",
    ),
    (
        "refused:         {}",
        "refused: NUMBER REASON, …",
        "Datagrams and packets that the node refused, by reason. The reasons are the fields of [`node.refused`](#noderefused), \
         with spaces, or words for refused handshakes. Reasons with 0 are left out; `nothing` stands for all.",
    ),
    (
        "by the system:   {}",
        "by the system: NUMBER KIND, …",
        "Packets that the system refused, or that the node changed at its edge. The kinds are the fields of [`io`](#io).",
    ),
];
/// The last one of a node, which a function of its own writes.
const HEARD: Line = (
    "overheard:       {}",
    "overheard: NUMBER KIND, … on INTERFACE (FRAMES)",
    "Received frames for other nodes, by kind. The kinds are the fields of [`overheard`](#overheard). Then the interface, \
     and the type of its frames.",
);
/// Lines of a web cache.
const OF_CACHES: [Line; 3] = [
    (
        "web cache {}: {} responses, {} in memory, {} on disk, {} not kept twice; HTTPS passes untouched and uncounted",
        "web cache NAME: NUMBER responses, BYTES in memory, BYTES on disk, BYTES not kept twice; …",
        "The name of the router. Stored responses. Bytes of content in memory. Bytes on disk. Bytes of content that the \
         store had under another URI.",
    ),
    ("refused: {}", "refused: NUMBER REASON, …", "Refused requests, by reason."),
    (
        "neighbour {address}: asked us {asked} times, failed us {failed} times",
        "neighbour ADDRESS: asked us NUMBER times, failed us NUMBER times",
        "Requests of the neighbour that this router answered. Failed requests to the neighbour.",
    ),
];
/// Formats of lines that are JSON, or one of the lines above.
const NO_LINES: [&str; 2] = ["{}", "{report}"];
/// The source of a web cache's printout.
const PRINTED_CACHE: &str = "crates/operator/overheard/src/commands/status/cache.rs";
/// What the columns of a web cache are, by the fields of [`CACHE`]'s `Answered`.
const KEPT_OFF: &str = "The share of all columns that did not come from the origin, in percent.";

/// The page of metrics.
pub fn metrics_page() -> String {
    let mut page = String::from(concat!(
        "# Reference: metrics\n\n",
        "A page with a table `[dashboard]` or `[management]` serves metrics for Prometheus at `/metrics`, in the OpenMetrics\n",
        "form. [Status](status.md) describes the same counters as text and JSON.\n\n",
        "The code's own help texts make this page: change them there.\n\n",
        "## Metrics of a node\n\n",
    ));
    metrics(&dashboard::node::metrics::metrics(&everything()), &mut page);
    page.push_str("\n## Metrics of a web cache\n\n");
    metrics(&of_a_cache(), &mut page);
    page
}

/// The page of the status.
pub fn status_page() -> String {
    let mut page = String::from(concat!(
        "# Reference: status\n\n",
        "`overheard status` prints the state of the local nodes and web caches. `overheard status --json` prints one JSON\n",
        "object in a line for each. A page with a table `[dashboard]` or `[management]` serves the same object at\n",
        "`/status.json`.\n\n",
        "Counters begin at the start of the node. Sizes have decimal units: 1 kB is 1,000 bytes. `-` stands for a value that\n",
        "does not exist. A table appears only where it has a row. The lines `refused`, `by the system` and, with an\n",
        "interface that overhears, `overheard` always appear; `nothing` stands for counters that are all 0. The line\n",
        "`collisions in the cache` appears below each table GROUP, also on a station.\n\n",
        "The code's own comments make this page: change them there.\n\n",
        "## Printed status of a node\n",
    ));
    lines("Lines", &[&LINES[..], &[HEARD]].concat(), &mut page);
    ROWS.into_iter().flat_map(row_types).for_each(|row| columns(&row, &mut page));
    page.push_str("\n## Printed status of a web cache\n");
    lines("Lines of a web cache", &OF_CACHES, &mut page);
    columns_of_a_cache(&mut page);
    page.push_str("\n## JSON of a node\n");
    parts(&NODE, &mut page);
    page.push_str("\n## JSON of a web cache\n");
    parts(&CACHE, &mut page);
    page
}

/// The types of the rows that a source makes by `console::row!`.
fn row_types(source: &str) -> Vec<syn::ItemStruct> {
    let items = syn::parse_file(&read(source)).unwrap().items.into_iter();
    let rows = items.filter_map(|item| match item {
        Item::Macro(item) if item.mac.path.segments.last().is_some_and(|name| name.ident == "row") => {
            Some(item.mac.parse_body::<syn::ItemStruct>().unwrap())
        }
        _ => None,
    });
    rows.collect()
}

/// A row for each column of a printed table. Its first heading is the table's name.
fn columns(row: &syn::ItemStruct, page: &mut String) {
    let heading =
        |field: &syn::Field| field.ident.as_ref().unwrap().to_string().replace('_', " ").to_uppercase();
    let introduction = said(&row.attrs, &row.ident.to_string());
    let first = heading(row.fields.iter().next().unwrap());
    let _ = write!(page, "\n### Table {first}\n\n{introduction}\n\n| column | |\n|---|---|\n");
    for field in &row.fields {
        let name = heading(field);
        let _ = writeln!(page, "| {name} | {} |", said(&field.attrs, &name));
    }
}

fn columns_of_a_cache(page: &mut String) {
    let fields = struct_of(CACHE[3].0, CACHE[3].1).fields;
    assert_eq!(fields.len(), dashboard::cache::OUTCOMES.len());
    page.push_str(concat!(
        "\n### Table of answers\n\nThe row `requests` counts requests of clients, and the row `bytes` bytes of content. ",
        "One row for each\nof the ten sites with the most bytes follows.\n\n| column | |\n|---|---|\n",
    ));
    for (field, heading) in fields.iter().zip(dashboard::cache::OUTCOMES) {
        let _ = writeln!(page, "| {} | {} |", heading.to_uppercase(), said(&field.attrs, heading));
    }
    let _ = writeln!(page, "| OFF THE GATEWAY | {KEPT_OFF} |");
}

fn lines(heading: &str, lines: &[Line], page: &mut String) {
    let _ = write!(page, "\n### {heading}\n\n| line | |\n|---|---|\n");
    for (_, shown, meaning) in lines {
        let _ = writeln!(page, "| `{shown}` | {meaning} |");
    }
}

/// The formats of the lines that a source writes, each as its source has it.
fn formats(source: &str) -> Vec<String> {
    let text = read(source);
    let calls = text
        .split("writeln!(")
        .skip(1)
        .filter_map(|call| call.split_once("out,")?.1.trim_start().strip_prefix('"'));
    calls.filter_map(|rest| Some(rest.split_once('"')?.0.to_owned())).collect()
}

#[test]
fn every_line_of_the_printout_has_a_meaning() {
    let plain =
        |format: &str| format.split_whitespace().filter(|word| *word != "\\").collect::<Vec<_>>().join(" ");
    let written = |sources: &[&str]| -> BTreeSet<String> {
        let formats = sources.iter().flat_map(|source| formats(source)).map(|format| plain(&format));
        formats.filter(|format| !NO_LINES.contains(&format.as_str())).collect()
    };
    let known = |lines: &[Line]| -> BTreeSet<String> { lines.iter().map(|line| plain(line.0)).collect() };
    assert_eq!(written(&ROWS), known(&[&LINES[..], &[HEARD]].concat()));
    assert_eq!(written(&[PRINTED_CACHE]), known(&OF_CACHES));
}

#[test]
fn every_printed_table_has_its_columns_in_the_reference() {
    let tables: usize = ROWS.iter().map(|source| read(source).matches("Table::of(").count()).sum();
    let rows: usize = ROWS.iter().map(|source| row_types(source).len()).sum();
    let by_hand: usize = ROWS.iter().map(|source| read(source).matches("Table::new(").count()).sum();
    assert_eq!((tables, by_hand), (rows, 0));
    assert!(rows > 5, "{rows} tables");
}

#[test]
fn every_field_of_a_nodes_json_is_in_the_reference() {
    fn names(value: &serde_json::Value, found: &mut BTreeSet<String>) {
        match value {
            serde_json::Value::Object(fields) => fields.iter().for_each(|(name, value)| {
                found.insert(name.clone());
                names(value, found);
            }),
            serde_json::Value::Array(items) => items.iter().for_each(|item| names(item, found)),
            _ => {}
        }
    }
    let mut found = BTreeSet::new();
    names(&serde_json::to_value(everything()).unwrap(), &mut found);
    let page = read("docs/reference/status.md");
    let absent: Vec<&String> =
        found.iter().filter(|name| !page.contains(&format!("\n| `{name}` | "))).collect();
    assert!(absent.is_empty() && found.len() > 100, "{absent:?} of {}", found.len());
}

/// A report with one peer that has a value for each gauge.
fn everything() -> dashboard::node::Report {
    let peer = node::PeerStatus {
        name: "station".to_owned(),
        public_key: String::new(),
        endpoint: None,
        allowed_ips: Vec::new(),
        reachable: true,
        previous_network_key: false,
        revoked: false,
        session_age_seconds: Some(1.0),
        version: Some(1),
        cipher: None,
        store_bytes: Some(1 << 24),
        stores: Some(node::StoresStatus::default()),
        srtt_seconds: Some(1.0),
        source_ports: 1,
        heard_ports: 1,
        path_mtu_bytes: Some(1500),
        path_mtu_confirmed: true,
        loss: Some(0.5),
        queueing_seconds: Some(0.5),
        window_bytes: Some(1),
        paced_bits_per_second: Some(1),
        radio_bits_per_second: None,
        overheard_share: Some(0.5),
        overheard_by_rate: vec![node::OverheardAtRate {
            rate_bits_per_second: 1,
            packets: 1,
            overheard_packets: 1,
        }],
        overheard_by: None,
        associated: None,
        associated_with: None,
        queue_bytes: 0,
        recover: Some(node::RecoverStatus { flows: 1, bytes: 1, packets: 1, slots: 1, loss: None }),
        streams: Some(node::StreamsStatus::default()),
        boosted_flows: 0,
        boost_ratio: None,
        counters: node::PeerCounters::default(),
    };
    let node = node::Status {
        public_key: String::new(),
        boot: 1,
        uptime_seconds: 1.0,
        policy: "adaptive".to_owned(),
        peers: vec![peer],
        memory: Some(node::MemoryStatus::default()),
        destinations: vec![node::DestinationStatus {
            name: "mast".to_owned(),
            next_hop: None,
            changes: 1,
            refused_packets: 1,
        }],
        sharing: None,
        collisions: 0,
        refused: node::Refused::default(),
    };
    let about = dashboard::node::About {
        version: String::new(),
        config: "gateway.toml".into(),
        role: "gateway".to_owned(),
        interface: "overheard0".to_owned(),
        mtu: 1420,
        listen: String::new(),
        boost: None,
    };
    let heard: io::sniffer::Heard = serde_json::from_str(concat!(
        r#"{"interface": "wlan0mon", "link": "802.11", "frames": 0, "datagrams": 0, "datagram_bytes": 0, "not_ours": 0,"#,
        r#""own": 0, "protected": 0, "retries": 0, "malformed": 0, "dropped": 0}"#,
    ))
    .unwrap();
    let snapshot = io::Snapshot { node, io: io::Counters::default(), overheard: Some(heard) };
    let silent =
        dashboard::node::report::Silent { peer: "gateway".to_owned(), seconds: 5.0, reason: String::new() };
    dashboard::node::Report { about, snapshot, split: Some(split::Counts::default()), silent: vec![silent] }
}

/// The metrics of a running web cache that has refused a request.
fn of_a_cache() -> String {
    let site = Site::new();
    let port = || TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (proxy, management) = (port(), port());
    site.write(
        "cache.toml",
        &format!(
            "sandbox = false\n[cache]\nname = \"r\"\nclients = [\"127.0.0.0/8\"]\n[forward]\nlisten = \"{proxy}\"\n\
             [management]\nlisten = \"{management}\"\n"
        ),
    );
    let mut cache = Command::new(PROGRAM)
        .args(["cache", "cache.toml"])
        .current_dir(site.path())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut told = String::new();
    for _ in 0..100 {
        std::thread::sleep(Duration::from_millis(100));
        let refused = asks(proxy, "GET http://127.0.0.1:9/ HTTP/1.1\r\nHost: 127.0.0.1:9\r\n");
        let answer = asks(management, &format!("GET /metrics HTTP/1.1\r\nHost: {management}\r\n"));
        if let (Some(_), Some(answer)) = (refused, answer)
            && answer.contains("refused_total{")
        {
            told = answer;
            break;
        }
    }
    cache.kill().unwrap();
    cache.wait().unwrap();
    assert!(told.contains("# EOF"), "the cache tells its metrics");
    told
}

fn asks(at: std::net::SocketAddr, question: &str) -> Option<String> {
    let mut stream = TcpStream::connect(at).ok()?;
    stream.write_all(format!("{question}Connection: close\r\n\r\n").as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer)
}

/// A row for each metric of a text in the OpenMetrics form.
fn metrics(told: &str, page: &mut String) {
    let lines = || told.lines().map(|line| line.trim_end_matches('\r'));
    let described = |what: &str| -> BTreeMap<&str, &str> {
        let start = format!("# {what} ");
        lines().filter_map(|line| line.split_once(&start)?.1.split_once(' ')).collect()
    };
    let (helps, kinds) = (described("HELP"), described("TYPE"));
    let mut labels: BTreeMap<&str, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
    for line in lines().filter(|line| !line.starts_with('#')) {
        let Some((name, rest)) = line.split_once('{') else { continue };
        let family = labels.entry(name.strip_suffix("_total").unwrap_or(name)).or_default();
        for pair in rest.split_once('}').unwrap().0.split(',') {
            let (label, value) = pair.split_once('=').unwrap();
            family.entry(label.to_owned()).or_default().insert(value.trim_matches('"').to_owned());
        }
    }
    page.push_str("| metric | type | labels | |\n|---|---|---|---|\n");
    let names = lines().filter_map(|line| line.strip_prefix("# HELP ")?.split(' ').next());
    for name in names {
        let kind = kinds[name];
        let total = if kind == "counter" { "_total" } else { "" };
        let of_family = labels.get(name).into_iter().flatten().map(|(label, values)| {
            let values: Vec<String> = values.iter().map(|value| format!("`{value}`")).collect();
            // A peer's name, or one of many reasons.
            if label == "peer" || total == "_total" && label == "why" && name.contains("cache") {
                format!("`{label}`")
            } else {
                format!("`{label}`: {}", values.join(", "))
            }
        });
        let of_family = of_family.collect::<Vec<_>>().join("; ");
        let help = helps[name].trim_end_matches('.');
        let _ = writeln!(page, "| `{name}{total}` | {kind} | {of_family} | {help}. |");
    }
}

/// The struct of a source.
fn struct_of(source: &str, name: &str) -> syn::ItemStruct {
    let is_it = |item: Item| match item {
        Item::Struct(item) if item.ident == name => Some(item),
        _ => None,
    };
    let item = syn::parse_file(&read(source)).unwrap().items.into_iter().find_map(is_it);
    item.unwrap_or_else(|| panic!("{source} has no {name}"))
}

/// The meaning in a comment, which must not be empty.
fn said(attributes: &[syn::Attribute], name: &str) -> String {
    let (meaning, _) = crate::configuration::meaning(attributes);
    assert!(!meaning.is_empty(), "{name} has no comment");
    meaning.replace('|', "\\|")
}

/// A section for each heading of these parts.
fn parts(parts: &[Part], page: &mut String) {
    let mut before = "";
    for (source, name, heading, meaning) in parts {
        if before != *heading {
            let _ = write!(page, "\n### {heading}\n\n");
            if !meaning.is_empty() {
                let _ = write!(page, "{meaning}\n\n");
            }
            page.push_str("| field | type | |\n|---|---|---|\n");
        }
        before = heading;
        fields(&struct_of(source, name), parts, page);
    }
}

/// A row for each field of a struct. The types of its fields are `parts`, too, or those of JSON.
fn fields(item: &syn::ItemStruct, parts: &[Part], page: &mut String) {
    let Fields::Named(fields) = &item.fields else { panic!("{} has no fields", item.ident) };
    for field in &fields.named {
        let of_serde = crate::configuration::serde(&field.attrs);
        let is = |word: &str| of_serde.iter().any(|it| it.path().is_ident(word));
        let name = field.ident.as_ref().unwrap().to_string();
        assert!(!["rename", "skip", "skip_serializing", "skip_serializing_if"].into_iter().any(is), "{name}");
        let kind = kind(&field.ty, parts);
        if !is("flatten") {
            let meaning = said(&field.attrs, &name);
            let _ = writeln!(page, "| `{name}` | {kind}{} | {meaning} |", unit(&name));
        }
    }
}

/// The unit at the end of a field's name.
fn unit(name: &str) -> &'static str {
    let units = [
        ("_bits_per_second", ", bit/s"),
        ("_nanoseconds", ", nanoseconds"),
        ("_microseconds", ", microseconds"),
        ("_seconds", ", seconds"),
        ("bytes", ", bytes"),
    ];
    units.into_iter().find(|(end, _)| name.ends_with(end)).map_or("", |(_, unit)| unit)
}

/// The type as JSON has it.
fn kind(written: &syn::Type, known: &[Part]) -> String {
    let syn::Type::Path(_) = written else { return "string".to_owned() };
    let (name, inner) = crate::configuration::parts(written);
    match (name.as_str(), inner) {
        ("Option", Some(inner)) => format!("{} or null", kind(inner, known)),
        ("Vec", Some(inner)) => {
            kind(inner, known);
            "array".to_owned()
        }
        ("BTreeMap", _) => {
            kind(values(written), known);
            "object".to_owned()
        }
        ("bool", _) => "boolean".to_owned(),
        ("f32" | "f64", _) => "number".to_owned(),
        ("u8" | "u16" | "u32" | "u64" | "usize", _) => "integer".to_owned(),
        ("String" | "str" | "PathBuf" | "IpAddr" | "SocketAddr", _) => "string".to_owned(),
        // a type of another crate may have the crate's name in front
        (name, _) if known.iter().any(|(_, known, ..)| *known == name) => "object".to_owned(),
        (name, _) => panic!("no part has the fields of {name}"),
    }
}

/// The type of a map's values.
fn values(map: &syn::Type) -> &syn::Type {
    let syn::Type::Path(path) = map else { panic!("a map has a name") };
    let syn::PathArguments::AngleBracketed(arguments) = &path.path.segments.last().unwrap().arguments else {
        panic!("a map has arguments")
    };
    match arguments.args.iter().nth(1) {
        Some(syn::GenericArgument::Type(values)) => values,
        _ => panic!("a map has values"),
    }
}
