use super::*;
use node::Status;

/// A node with one peer, changed by `change`.
fn snapshot(change: impl FnOnce(&mut Snapshot)) -> Snapshot {
    let peer = serde_json::json!({
        "name": "roof", "public_key": "AAAA", "endpoint": "192.0.2.1:4780", "reachable": true,
        "session_age_seconds": 9.0, "version": 2, "srtt_seconds": null, "source_ports": 1, "heard_ports": 1,
        "path_mtu_bytes": 1500, "path_mtu_confirmed": true, "loss": null, "queue_bytes": 0,
        "counters": node::PeerCounters::default(),
    });
    let node: Status = serde_json::from_value(serde_json::json!({
        "public_key": "BBBB", "boot": 1, "uptime_seconds": 1.0, "policy": "adaptive", "peers": [peer],
        "refused": node::Refused::default(),
    }))
    .unwrap();
    let mut snapshot = Snapshot { node, io: io::Counters::default(), overheard: None };
    change(&mut snapshot);
    snapshot
}

/// The messages and their times while `change` gives the state at each second.
fn told(seconds: u64, change: impl Fn(u64, &mut Snapshot)) -> Vec<(u64, String)> {
    let mut troubles = Troubles::default();
    let at = |second| {
        let snapshot = snapshot(|snapshot| change(second, snapshot));
        troubles.step(Duration::from_secs(second), &snapshot).into_iter().map(move |told| (second, told))
    };
    (0..seconds).flat_map(at).collect()
}

#[test]
fn a_quiet_node_tells_nothing() {
    assert_eq!(told(200, |_, _| {}), []);
}

#[test]
fn an_overload_is_told_once_a_minute_with_all_that_was_counted_since() {
    let told = told(130, |second, it| it.node.peers[0].counters.queue_dropped = 10 * second);
    assert_eq!(told.iter().map(|(second, _)| *second).collect::<Vec<_>>(), [1, 61, 121]);
    assert!(told[0].1.starts_with("10 packets for roof ") && told[1].1.starts_with("600 packets for roof "));
}

#[test]
fn a_black_hole_and_the_new_mtu_are_told_with_the_mtu_to_set() {
    let told = told(100, |second, it| {
        let peer = &mut it.node.peers[0];
        if second >= 20 {
            peer.counters.black_holes = 1;
            // A search lasts until second 23.
            peer.path_mtu_confirmed = second >= 23;
            peer.path_mtu_bytes = Some(1300);
        }
    });
    assert_eq!(told.iter().map(|(second, _)| *second).collect::<Vec<_>>(), [20, 28], "{told:?}");
    assert!(told[0].1.starts_with("the path to roof lost all packets of the size in use"), "{told:?}");
    let mtu = 1300 - 28 - AROUND_PACKET as u64;
    let sign = format!(
        "is 1300 bytes now, and was 1500; senders of larger packets get an ICMP message; set [tunnel] mtu = {mtu} "
    );
    assert!(told[1].1.contains(&sign), "{told:?}");
}

#[test]
fn a_path_that_is_narrow_from_the_start_is_told_and_one_that_is_wide_is_not() {
    for (bytes, messages) in [(1400, 1), (1500, 0), (1600, 0)] {
        let told = told(30, |second, it| {
            let peer = &mut it.node.peers[0];
            peer.path_mtu_confirmed = second >= 3;
            peer.path_mtu_bytes = Some(if second >= 3 { bytes } else { 1500 });
        });
        assert_eq!(told.len(), messages, "{bytes}: {told:?}");
    }
}

#[test]
fn each_of_the_nodes_own_troubles_has_a_message() {
    for (set, sign) in [
        (
            (|it: &mut Snapshot| it.io.handed_over_lost = 3) as fn(&mut Snapshot),
            "3 packets and datagrams were lost",
        ),
        (|it| it.io.packets_refused = 4, "the kernel refused 4 packets"),
        (|it| it.io.datagrams_refused = 5, "this machine refused 5 datagrams"),
        (|it| it.node.refused.handshake_rate = 6, "6 handshakes were beyond the rate"),
    ] {
        let told = told(50, |_, it| set(it));
        assert!(told.len() == 1 && told[0].1.starts_with(sign), "{told:?}");
    }
}
