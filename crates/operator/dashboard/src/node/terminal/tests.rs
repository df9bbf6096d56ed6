use super::*;
use crate::node::air_time::AirTime;
use crate::node::history::History;
use crate::node::report::tests::{peer, report};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

/// A gateway with two stations, one of which has been fetching for three minutes.
fn busy() -> (Report, History) {
    let mut history = History::new(AirTime::at(24e6));
    let (mut roof, mut yard) = (peer("roof"), peer("yard"));
    for second in 1..=180_u64 {
        let it = &mut roof.counters;
        it.inner_sent_packets += 100;
        it.inner_sent_bytes += 100_000 + 50_000 * (second / 60);
        it.outer_sent_datagrams += 40;
        it.outer_sent_bytes += 45_000;
        it.removed_bytes += 50_000;
        it.shortened_bytes += 4_000;
        it.overheard_removed_bytes += 10_000;
        it.packed_packets += 60;
        it.recovered += 2;
        it.segments_repaired_coded += u64::from(second % 3 == 0);
        it.missed += u64::from(second % 50 == 0);
        roof.loss = Some(0.01 + 0.04 * (second % 60) as f64 / 60.0);
        roof.queue_bytes = 4_000;
        yard.counters.outer_sent_bytes += 40;
        yard.reachable = second < 100;
        history.note(&report(second as f64, vec![roof.clone(), yard.clone()]).snapshot.node);
    }
    (report(180.0, vec![roof, yard]), history)
}

fn drawn(columns: u16, lines: u16, view: View, notes: &[String]) -> String {
    let (report, history) = busy();
    let mut gathered = Gathered::default();
    gathered.take(&history.series(view.step, 0.0));
    let mut terminal = Terminal::new(TestBackend::new(columns, lines)).unwrap();
    terminal.draw(|frame| draw(frame, view, Shown { report: &report, gathered: &gathered, notes })).unwrap();
    terminal.backend().to_string()
}

#[test]
fn a_wide_terminal_shows_all() {
    insta::assert_snapshot!(drawn(120, 32, View::default(), &[]));
}

#[test]
fn a_small_terminal_shows_what_matters_of_one_station_in_an_hour() {
    let notes = ["the node does not answer; what is shown is old".to_owned()];
    insta::assert_snapshot!(drawn(
        80,
        24,
        View { step: Step::TenSeconds, subject: 1, legend: false },
        &notes
    ));
}

#[test]
fn streams_are_told_where_a_peer_has_them() {
    let mut peers = ["roof", "yard", "barn"].map(peer);
    let on = node::StreamsStatus { open: 3, most: 1024, memory_bytes: 2_100_000, ..Default::default() };
    let off = node::StreamsStatus { off: Some("at the peer".to_owned()), open: 0, ..on.clone() };
    peers[0].streams = Some(node::StreamsStatus { most_memory_bytes: 64 << 20, ..on });
    peers[1].streams = Some(node::StreamsStatus { memory_bytes: 0, ..off });
    peers[0].counters.streams = node::StreamCounters {
        opened: 12,
        accepted: 4,
        refused: 2,
        aborted: 1,
        passed: 5,
        no_way_back: 6,
        unrestored: 0,
        taken_bytes: 90_300_000,
        sent_bytes: 45_200_000,
        resent_bytes: 1_100_000,
        received_bytes: 3_200_000,
    };
    let report = report(1.0, peers.to_vec());
    let mut gathered = Gathered::default();
    let mut history = History::new(AirTime::at(24e6));
    history.note(&report.snapshot.node);
    gathered.take(&history.series(Step::Second, 0.0));
    let shown = Shown { report: &report, gathered: &gathered, notes: &[] };
    let of = |subject: usize| streams::told(View { subject, ..View::default() }, &shown);
    assert_eq!(
        of(0).unwrap(),
        "Streams: 3 open, of 2048 at most; memory 2.1 MB, of 67.1 MB at most. Off: yard (at the peer). Since the start: 12 \
         opened here, 4 opened by peers, 2 refused by their destination, 1 reset, 5 connections in packets for want of a \
         stream, and 6 for want of a way back; 90.3 MB from hosts, 45.2 MB sent for them, 1.1 MB sent again, 3.2 MB \
         received."
    );
    assert!(of(1).unwrap().contains(" 12 opened here") && !of(1).unwrap().contains("Off"));
    assert!(of(2).unwrap().contains("Off: yard (at the peer)"));
    assert_eq!(of(3), None, "streams are off at this node for the barn");
    let mut terminal = Terminal::new(TestBackend::new(120, 32)).unwrap();
    terminal.draw(|frame| draw(frame, View::default(), shown)).unwrap();
    let picture = terminal.backend().to_string();
    assert!(picture.contains("3 open, of 2048") && picture.contains("3.2 MB received."), "{picture}");
}

#[test]
fn no_size_of_terminal_is_too_small() {
    for columns in [1, 5, 20, 79, 300] {
        for lines in [1, 2, 5, 13, 60] {
            let _ =
                drawn(columns, lines, View { step: Step::Second, subject: 7, legend: columns % 2 == 0 }, &[]);
        }
    }
}

#[test]
fn a_node_that_has_said_nothing_yet_is_an_empty_chart() {
    let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
    let (report, gathered) = (report(0.0, vec![peer("roof")]), Gathered::default());
    terminal
        .draw(|frame| {
            draw(frame, View::default(), Shown { report: &report, gathered: &gathered, notes: &[] })
        })
        .unwrap();
    assert!(terminal.backend().to_string().contains("gateway on overheard0"));
}

#[test]
fn the_keys_go_through_all_subjects_and_back() {
    let mut view = View::default();
    let forwards: Vec<usize> = (0..4)
        .map(|_| {
            view.go(true, 2);
            view.subject
        })
        .collect();
    assert_eq!(forwards, [1, 2, 0, 1]);
    let backwards: Vec<usize> = (0..3)
        .map(|_| {
            view.go(false, 2);
            view.subject
        })
        .collect();
    assert_eq!(backwards, [0, 2, 1]);
    view.subject = 9;
    view.go(true, 0);
    assert_eq!(view.subject, 0, "peers that are gone");
}

#[test]
fn the_meaning_of_the_columns_is_one_key_away() {
    let picture = drawn(500, 24, View { legend: true, ..View::default() }, &[]);
    for column in
        ["SAVED: the share not sent", "restored at once. RTT: round trip", "QUEUE: waits to be sent."]
    {
        assert!(picture.contains(column), "{picture}");
    }
}

#[test]
fn an_exchange_that_costs_more_than_it_saves_is_overhead() {
    let mut history = History::new(AirTime::at(24e6));
    let mut roof = peer("roof");
    history.note(&report(1.0, vec![roof.clone()]).snapshot.node);
    (roof.counters.inner_sent_bytes, roof.counters.outer_sent_bytes) = (84, 176);
    let report = report(2.0, vec![roof]);
    history.note(&report.snapshot.node);
    let mut gathered = Gathered::default();
    gathered.take(&history.series(Step::Second, 0.0));
    let mut terminal = Terminal::new(TestBackend::new(120, 32)).unwrap();
    let shown = Shown { report: &report, gathered: &gathered, notes: &[] };
    terminal.draw(|frame| draw(frame, View::default(), shown)).unwrap();
    let picture = terminal.backend().to_string();
    assert!(
        picture.contains("+92 B") && picture.contains("overhead") && !picture.contains("-109"),
        "{picture}"
    );
    assert!(picture.contains("-30 s"), "a minute is shown: {picture}");
}
