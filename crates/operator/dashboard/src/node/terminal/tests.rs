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
