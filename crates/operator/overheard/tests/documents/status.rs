//! The fields of a status, as printed by `--json`, and the metrics of a page: docs/reference/metrics.md.
//!
//! Fields are read from the source of their types. Metrics are those of a complete sample report, and of a
//! running web cache.

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

const NODE: [Part; 11] = [
    (
        "crates/operator/dashboard/src/node/report.rs",
        "About",
        "The node: what does not change",
        "These fields are at the top of the object.",
    ),
    ("crates/operator/dashboard/src/node/report.rs", "Report", "The node: further tables", ""),
    ("crates/tunnel/node/src/status.rs", "Status", "`node`", ""),
    ("crates/tunnel/node/src/status.rs", "PeerStatus", "`node.peers[]`", "One object for each peer."),
    ("crates/tunnel/node/src/status.rs", "PeerCounters", "`node.peers[].counters`", COUNTED),
    ("crates/tunnel/node/src/status.rs", "OverheardAtRate", "`node.peers[].overheard_by_rate[]`", ""),
    ("crates/tunnel/node/src/status.rs", "RecoverStatus", "`node.peers[].recover`", ""),
    (
        "crates/tunnel/node/src/status.rs",
        "DestinationStatus",
        "`node.destinations[]`",
        "One object for each table `[[destination]]`.",
    ),
    ("crates/tunnel/node/src/status.rs", "Refused", "`node.refused`", REFUSED),
    ("crates/tunnel/io/src/control.rs", "Counters", "`io`", ""),
    ("crates/tunnel/split/src/counters.rs", "Counts", "`split`", ""),
];
const EAR: Part = (
    "crates/tunnel/io/src/ear/mod.rs",
    "Counters",
    "`overheard`",
    "The object also has `interface` and `link`: the name of the interface, and the kind of its frames.",
);
const CACHE: [Part; 6] = [
    ("crates/cache/webcache/src/proxy.rs", "Report", "The cache", ""),
    ("crates/cache/webcache/src/store.rs", "Usage", "`store`", ""),
    ("crates/cache/webcache/src/statistics.rs", "Counters", "`counters`", ""),
    (
        "crates/cache/webcache/src/statistics.rs",
        "Answered",
        "`counters.requests` and `counters.bytes`",
        "Each field is one way to answer a request.",
    ),
    (
        "crates/cache/webcache/src/statistics.rs",
        "Neighbour",
        "`counters.neighbours`",
        "One object by address.",
    ),
    ("crates/cache/webcache/src/selector.rs", "Report", "`mesh`", ""),
];
const COUNTED: &str =
    "These counters begin at the start of the node. Sessions and restarts of the peer do not reset them.";
const REFUSED: &str = "The node refused these datagrams and packets before they changed anything.";

/// The page.
pub fn page() -> String {
    let mut page = String::from(concat!(
        "# Reference: metrics and status\n\n",
        "A page with a table `[dashboard]` or `[management]` serves metrics for Prometheus at `/metrics`, in the OpenMetrics\n",
        "form. `/status.json` and `overheard status --json` print the status as JSON.\n\n",
        "The code's own help texts and comments make this page: change them there.\n\n",
        "## Metrics of a node\n\n",
    ));
    metrics(&dashboard::node::metrics::metrics(&everything()), &mut page);
    page.push_str("\n## Metrics of a web cache\n\n");
    metrics(&of_a_cache(), &mut page);
    page.push_str("\n## Status of a node\n");
    NODE.into_iter().chain([EAR]).for_each(|part| fields(part, &mut page));
    page.push_str("\n## Status of a web cache\n");
    CACHE.into_iter().for_each(|part| fields(part, &mut page));
    page
}

/// A report with one peer that has a value for each gauge.
fn everything() -> dashboard::node::Report {
    let peer = node::PeerStatus {
        name: "station".to_owned(),
        public_key: String::new(),
        endpoint: None,
        reachable: true,
        previous_network_key: false,
        revoked: false,
        session_age_seconds: Some(1.0),
        version: Some(1),
        srtt_seconds: Some(1.0),
        source_ports: 1,
        heard_ports: 1,
        path_mtu_bytes: Some(1500),
        path_mtu_confirmed: true,
        loss: Some(0.5),
        radio_bits_per_second: None,
        overheard_share: Some(0.5),
        overheard_by_rate: Vec::new(),
        overheard_by: None,
        associated: None,
        associated_with: None,
        queue_bytes: 0,
        recover: None,
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
        destinations: Vec::new(),
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
    let heard: io::ear::Heard = serde_json::from_str(concat!(
        r#"{"interface": "wlan0mon", "link": "802.11", "frames": 0, "datagrams": 0, "datagram_bytes": 0, "not_ours": 0,"#,
        r#""own": 0, "protected": 0, "retries": 0, "malformed": 0, "dropped": 0}"#,
    ))
    .unwrap();
    let snapshot = io::Snapshot { node, io: io::Counters::default(), overheard: Some(heard) };
    dashboard::node::Report { about, snapshot, split: None }
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

/// A row for each field of a struct.
fn fields((source, name, heading, meaning): Part, page: &mut String) {
    let is_it = |item: Item| match item {
        Item::Struct(item) if item.ident == name => Some(item),
        _ => None,
    };
    let item = syn::parse_file(&read(source)).unwrap().items.into_iter().find_map(is_it);
    let item = item.unwrap_or_else(|| panic!("{source} has no {name}"));
    let Fields::Named(fields) = item.fields else { panic!("{name} has no fields") };
    let _ = write!(page, "\n### {heading}\n\n");
    if !meaning.is_empty() {
        let _ = write!(page, "{meaning}\n\n");
    }
    page.push_str("| field | type | |\n|---|---|---|\n");
    for field in &fields.named {
        let is_flat =
            crate::configuration::serde(&field.attrs).iter().any(|it| it.path().is_ident("flatten"));
        if is_flat {
            continue;
        }
        let (meaning, _) = crate::configuration::meaning(&field.attrs);
        let kind = kind(&field.ty);
        let field = field.ident.as_ref().unwrap();
        let _ = writeln!(page, "| `{field}` | {kind} | {} |", meaning.replace('|', "\\|"));
    }
}

/// The type as JSON has it.
fn kind(written: &syn::Type) -> String {
    let syn::Type::Path(_) = written else { return "string".to_owned() };
    let (name, inner) = crate::configuration::parts(written);
    match (name.as_str(), inner) {
        ("Option", Some(inner)) => format!("{} or null", kind(inner)),
        ("Vec", _) => "array".to_owned(),
        ("BTreeMap", _) => "object".to_owned(),
        ("bool", _) => "boolean".to_owned(),
        ("f32" | "f64", _) => "number".to_owned(),
        ("u8" | "u16" | "u32" | "u64" | "usize", _) => "integer".to_owned(),
        ("String" | "str" | "PathBuf" | "IpAddr" | "SocketAddr", _) => "string".to_owned(),
        _ => "object".to_owned(),
    }
}
