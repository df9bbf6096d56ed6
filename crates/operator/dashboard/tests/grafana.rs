//! The dashboard for Grafana uses existing metrics.

#![allow(clippy::unwrap_used)] // a test fails by panicking

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use dashboard::node::metrics::metrics;
use dashboard::node::{About, Report};
use io::Snapshot;
use node::{Config, Node, PeerConfig, PrivateKey};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

/// The metrics of a real node with one peer.
fn told() -> String {
    let key = |byte: u8| STANDARD.encode([byte; 32]);
    let other: PrivateKey = key(2).parse().unwrap();
    let peer = PeerConfig {
        name: "roof".to_owned(),
        public_key: other.public(),
        endpoint: None,
        allowed_ips: vec!["10.9.0.2/32".parse().unwrap()],
        keepalive: None,
        bits_a_second: None,
    };
    let config = Config::new(key(1).parse().unwrap(), key(3).parse().unwrap(), vec![peer]);
    let node = Node::new(config, [0; 32], Duration::ZERO).unwrap();
    let about = About {
        version: String::new(),
        config: "gateway.toml".into(),
        role: "gateway".to_owned(),
        interface: "overheard0".to_owned(),
        mtu: 1420,
        listen: String::new(),
        boost: None,
    };
    let snapshot =
        Snapshot { node: node.status(Duration::from_secs(1)), io: io::Counters::default(), overheard: None };
    metrics(&Report { about, snapshot, split: None, silent: Vec::new() })
}

fn expressions(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                match (name.as_str(), field) {
                    ("expr" | "query", Value::String(text)) => found.push(text.clone()),
                    _ => expressions(field, found),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| expressions(value, found)),
        _ => {}
    }
}

#[test]
fn every_metric_that_the_dashboard_asks_for_is_told_by_a_node() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../packaging/grafana/overheard.json");
    let dashboard: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let mut found = Vec::new();
    expressions(&dashboard, &mut found);
    let is_of_a_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let asked: BTreeSet<&str> = found
        .iter()
        .flat_map(|text| text.split(|c| !is_of_a_name(c)))
        .filter(|word| word.starts_with("overheard_"))
        .collect();
    assert!(asked.len() > 10, "{asked:?}");
    let told = told();
    // A node without a session has neither loss nor round trip, so only their help text appears.
    for name in asked {
        let family = name.strip_suffix("_total").unwrap_or(name);
        assert!(told.contains(&format!("# TYPE {family} ")), "{name} is not told:\n{told}");
    }
}
