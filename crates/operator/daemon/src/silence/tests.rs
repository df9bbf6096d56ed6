use super::*;

/// A probe with a fixed result.
struct Fixed(Option<ErrorKind>);

impl Probing for Fixed {
    fn refusal(&self) -> Option<Error> {
        self.0.map(Error::from)
    }
}

/// Port 1 is closed, port 2 has no route, and other ports are silent.
fn begin(to: SocketAddr, _: u16) -> std::io::Result<Fixed> {
    match to.port() {
        1 => Ok(Fixed(Some(ErrorKind::ConnectionRefused))),
        2 => Err(ErrorKind::NetworkUnreachable.into()),
        _ => Ok(Fixed(None)),
    }
}

fn silences(names: &[&str]) -> Silences<Fixed> {
    let called = names.iter().map(|name| ((*name).to_owned(), !name.starts_with("idle"))).collect();
    Silences::with(called, 4780, SILENT_AFTER, begin)
}

fn peer(name: &str, port: u16, refused: u64) -> PeerStatus {
    let mut peer: PeerStatus = serde_json::from_value(serde_json::json!({
        "name": name, "public_key": "AAAA", "endpoint": format!("192.0.2.1:{port}"), "reachable": false,
        "session_age_seconds": null, "version": null, "srtt_seconds": null, "source_ports": 1, "heard_ports": 0,
        "path_mtu_bytes": null, "path_mtu_confirmed": false, "loss": null, "queue_bytes": 0,
        "counters": node::PeerCounters::default(),
    }))
    .unwrap();
    peer.counters.unreachable = refused;
    peer
}

/// The messages and their times while `peers` gives the state at each second.
fn told(
    silences: &mut Silences<Fixed>,
    seconds: std::ops::Range<u64>,
    peers: impl Fn(u64) -> Vec<PeerStatus>,
) -> Vec<(u64, String)> {
    let at = |second| {
        silences.step(Duration::from_secs(second), &peers(second)).into_iter().map(move |it| (second, it))
    };
    seconds.flat_map(at).collect()
}

#[test]
fn a_silence_is_told_once_with_its_reason_and_then_ever_more_rarely() {
    for (port, first, sign) in [
        (1, 4, "192.0.2.1:1: ICMP port unreachable; "),
        (2, 4, "192.0.2.1:2: network unreachable; "),
        (3, 4, "192.0.2.1:3, and no ICMP message: "),
    ] {
        let mut silences = silences(&["gw"]);
        let told = told(&mut silences, 0..600, |second| vec![peer("gw", port, second)]);
        let times: Vec<u64> = told.iter().map(|(second, _)| *second).collect();
        assert_eq!(times, [first, first + 60, first + 180, first + 420], "{told:?}");
        assert!(
            told[0].1.starts_with("no session with gw: no answer from ") && told[0].1.contains(sign),
            "{told:?}"
        );
        let all = silences.all(Duration::from_secs(600));
        assert!(all.len() == 1 && all[0].seconds == 600.0 && all[0].reason.contains(sign), "{all:?}");
    }
}

#[test]
fn who_answers_or_is_not_called_is_not_silent() {
    let mut silences = silences(&["gw", "idle", "revoked"]);
    let peers = |second| {
        let mut gateway = peer("gw", 1, second);
        (gateway.reachable, gateway.session_age_seconds) = (second >= 4, (second >= 4).then_some(1.0));
        let mut revoked = peer("revoked", 1, second);
        revoked.revoked = true;
        vec![gateway, peer("idle", 1, 7), revoked, peer("station", 1, second)]
    };
    assert_eq!(told(&mut silences, 0..100, peers), []);
    assert_eq!(silences.all(Duration::from_secs(100)), []);
    // A later silence is another one.
    let told = told(&mut silences, 100..110, |second| vec![peer("gw", 1, second)]);
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0].0, 104);
}

#[test]
fn without_a_keepalive_only_refused_packets_expect_an_answer() {
    let mut silences = silences(&["idle"]);
    let told = told(&mut silences, 0..100, |second| vec![peer("idle", 1, u64::from(second >= 50))]);
    assert_eq!(told.iter().map(|(second, _)| *second).collect::<Vec<_>>(), [51]);
}

#[test]
fn probes_are_bounded() {
    let names: Vec<String> = (0..3 * MOST_PROBES).map(|number| number.to_string()).collect();
    let mut silences = silences(&names.iter().map(String::as_str).collect::<Vec<_>>());
    for second in 0..30 {
        let peers: Vec<PeerStatus> = names.iter().map(|name| peer(name, 3, second)).collect();
        silences.step(Duration::from_secs(second), &peers);
        assert!(silences.silences.iter().filter(|it| it.probe.is_some()).count() <= MOST_PROBES);
    }
    assert_eq!(silences.all(Duration::from_secs(30)).len(), names.len(), "each had its turn");
}
