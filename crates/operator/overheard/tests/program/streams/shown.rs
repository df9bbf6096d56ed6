//! Where an operator sees streams.

use crate::support::browser::browsed;
use crate::support::namespaces::{Cabled, Node, possible};
use crate::support::origin::content;
use crate::support::traffic::{answers, sent_and_returned};
use crate::support::{Site, wait_until};
use serde_json::{Value, json};
use std::fs;
use std::io::{Read, Write};
use std::net::{IpAddr, TcpStream};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(15);
const BYTES: u64 = 1_000_000;

/// The gateway's address in the tunnel.
fn gateway() -> IpAddr {
    "10.98.0.1".parse().unwrap()
}

/// State and counters of the streams with the one peer of a node.
fn streams(status: &Value) -> (&Value, &Value) {
    let peer = &status["node"]["peers"][0];
    (&peer["streams"], &peer["counters"]["streams"])
}

/// The cells of the table of streams in the text of a status.
fn row(text: &str) -> Vec<String> {
    let mut lines = text.lines().skip_while(|line| !line.starts_with("STREAMS "));
    let head = lines.next().unwrap_or_else(|| panic!("no table of streams: {text}"));
    for column in ["STATE", "OPENED HERE", "BY THE PEER", "IN PACKETS", "NO WAY BACK", "SENT AGAIN", "MEMORY"]
    {
        assert!(head.contains(column), "{column}: {head}");
    }
    cells(lines.next().unwrap())
}

/// The cells of a row.
fn cells(row: &str) -> Vec<String> {
    row.split("  ").map(|cell| cell.trim().to_owned()).filter(|cell| !cell.is_empty()).collect()
}

#[test]
fn status_page_and_metrics_show_streams() {
    if !possible() {
        return;
    }
    let (machines, site) = (Cabled::new(), Site::tunnel("192.0.2.1:4780", r#"["10.98.0.1/32"]"#));
    let config = fs::read_to_string(site.path().join("gateway.toml")).unwrap();
    site.write("gateway.toml", &format!("streams = true\n{config}\n[dashboard]\n"));
    site.prepend("station", "streams = true");
    let node = Node::start(&site, &machines.gateway, "gateway");
    let station = Node::start(&site, &machines.station, "station");
    assert!(answers(&machines.station, gateway(), 56, PATIENCE), "the tunnel stands");
    let content = content("/content", BYTES as usize);
    let returned = sent_and_returned(&machines.station, &machines.gateway, gateway(), &content);
    assert!(returned == content, "every byte comes back");
    // a stream is open for some seconds after its end
    wait_until("streams end", PATIENCE, || {
        [&node, &station].iter().all(|node| streams(&node.status()).0["open"] == 0)
    });

    let [at_gateway, at_station] = [&node, &station].map(|node| node.status());
    for (status, [opened, accepted]) in [(&at_gateway, [0, 1]), (&at_station, [1, 0])] {
        let (state, counters) = streams(status);
        let idle = json!({
            "off": null, "open": 0, "most": 1024, "memory_bytes": 0, "most_memory_bytes": 64 << 20,
        });
        assert_eq!(state, &idle);
        let sent = counters["sent_bytes"].as_u64().unwrap();
        assert!((BYTES..BYTES + BYTES / 100).contains(&sent), "nothing repeats: {counters}");
        for (name, count) in [
            ("opened", opened),
            ("accepted", accepted),
            ("taken_bytes", BYTES),
            ("unrestored", 0),
            ("received_bytes", BYTES),
            ("refused", 0),
            ("aborted", 0),
            ("passed", 0),
            ("no_way_back", 0),
        ] {
            assert_eq!(counters[name], count, "{name}: {counters}");
        }
    }
    let text = |file: &str| String::from_utf8(site.run(&["status", file]).stdout).unwrap();
    let memory = "0 B of 67.1 MB";
    let told = row(&text("station.toml"));
    assert_eq!(told[..10], ["gateway", "on", "0 of 1024", "1", "0", "0", "0", "0", "0", "1.0 MB"]);
    assert_eq!(told[12..], ["1.0 MB", memory]);
    let text = text("station.toml");
    let peer = cells(text.lines().find(|line| line.starts_with("gateway ")).unwrap());
    assert_eq!(
        [&peer[6], &peer[10]],
        ["1.0 MB"; 2],
        "OFFERED and DELIVERED have the bytes of streams: {text}"
    );

    let metrics = machines.gateway.on(|| {
        let mut stream = TcpStream::connect("127.0.0.1:4785").unwrap();
        write!(stream, "GET /metrics HTTP/1.1\r\nHost: localhost:4785\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    });
    for line in [
        r#"overheard_takes_streams{peer="roof"} 1.0"#,
        r#"overheard_streams_total{peer="roof",what="accepted"} 1"#,
        r#"overheard_stream_bytes_total{peer="roof",what="taken"} 1000000"#,
    ] {
        assert!(metrics.lines().any(|told| told == line), "{line}:\n{metrics}");
    }
    let picture = site.path().join("page.png");
    let browsed = machines.gateway.on(|| browsed("http://127.0.0.1:4785/", &picture));
    let Some((page, complaints)) = browsed else { return };
    assert_eq!(complaints, Vec::<String>::new());
    let row = "<td>roof</td><td>on</td><td>0 of 1024</td><td>0</td><td>1</td><td>0</td><td>0</td><td>0</td><td>0</td>";
    assert!(page.contains(row) && page.contains("opened by the station"), "{page}");
}

#[test]
fn a_peer_without_streams_is_told() {
    if !possible() {
        return;
    }
    let (machines, site) = (Cabled::new(), Site::tunnel("192.0.2.1:4780", r#"["10.98.0.1/32"]"#));
    site.prepend("station", "streams = true");
    let node = Node::start(&site, &machines.gateway, "gateway");
    let station = Node::start(&site, &machines.station, "station");
    assert!(answers(&machines.station, gateway(), 56, PATIENCE), "the tunnel stands");
    assert_eq!(streams(&station.status()).0["off"], "at the peer");
    assert_eq!(streams(&node.status()).0, &Value::Null);
    let text = |file: &str| String::from_utf8(site.run(&["status", file]).stdout).unwrap();
    assert_eq!(row(&text("station.toml"))[..3], ["gateway", "off: at the peer", "0 of 1024"]);
    assert!(!text("gateway.toml").contains("STREAMS"));
}
