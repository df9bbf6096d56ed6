//! A node's status for the tests of tables, and the words of a table.

/// A peer with `value` under `key`, and counters of zero.
pub fn peer(name: &str, key: &str, value: serde_json::Value) -> node::PeerStatus {
    let mut text = serde_json::json!({
        "name": name, "public_key": "", "reachable": true, "source_ports": 1, "heard_ports": 1,
        "path_mtu_confirmed": true, "queue_bytes": 0, "counters": node::PeerCounters::default(),
    });
    text[key] = value;
    serde_json::from_value(text).expect("a status")
}

/// A node without a budget of memory.
pub fn node(peers: Vec<node::PeerStatus>) -> node::Status {
    node::Status {
        public_key: String::new(),
        boot: 1,
        uptime_seconds: 1.0,
        policy: "adaptive".to_owned(),
        peers,
        memory: None,
        destinations: Vec::new(),
        sharing: None,
        collisions: 0,
        refused: node::Refused::default(),
    }
}

/// The lines of a table, with one space between words.
pub fn printed(print: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> Vec<String> {
    let mut out = Vec::new();
    print(&mut out).expect("memory takes it");
    let text = String::from_utf8(out).expect("text");
    text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}
