use super::*;
use proptest::prelude::*;

crate::columns! {
    /// A sample.
    sample Happened
    /// Samples by columns.
    columns Columns
    counts { bytes, }
    states { waiting, }
}

fn sample(bytes: u64, waiting: u64) -> Happened {
    Happened { bytes, waiting }
}

#[test]
fn counts_of_ten_steps_are_added_and_the_highest_state_is_kept() {
    let mut rings = Rings::default();
    for second in 1..=25_u32 {
        rings.push(second.into(), &[sample(2, second.into()), sample(0, 1)]);
    }
    let seconds = rings.newer(Step::Second, 23.0);
    assert_eq!((&seconds.end_seconds[..], &seconds.seconds[..]), (&[24.0, 25.0][..], &[1.0, 1.0][..]));
    assert_eq!(seconds.tracks[0].samples().collect::<Vec<_>>(), [sample(2, 24), sample(2, 25)]);
    let tens = rings.newer(Step::TenSeconds, 0.0);
    assert_eq!((tens.uptime_seconds, &tens.end_seconds[..]), (25.0, &[10.0, 20.0][..]));
    assert_eq!((&tens.tracks[0].bytes[..], &tens.tracks[0].waiting[..]), (&[20, 20][..], &[10, 20][..]));
    assert_eq!(tens.tracks[1].waiting, [1, 1]);
}

proptest! {
    #[test]
    fn rings_are_bounded_whenever_they_are_told_what(
        told in prop::collection::vec((any::<f64>(), 0..3_usize), 0..2_000),
    ) {
        let mut rings = Rings::default();
        let mut latest = 0.0;
        for (uptime, tracks) in told {
            rings.push(uptime, &vec![sample(1, 0); tracks]);
            latest = if uptime > latest { uptime } else { latest };
        }
        for step in [Step::Second, Step::TenSeconds] {
            let newer = rings.newer(step, 0.0);
            prop_assert_eq!(newer.uptime_seconds, latest);
            prop_assert!(newer.end_seconds.len() <= step.most());
            prop_assert!(newer.end_seconds.is_sorted());
            prop_assert!(newer.tracks.iter().all(|track| track.samples().len() <= newer.end_seconds.len()));
        }
    }
}

#[test]
fn a_chart_shows_the_time_since_the_start_and_no_more_than_is_kept() {
    let spans = |step: Step| [0.0, 60.0, 61.0, 400.0, 2000.0, 1e9].map(|uptime| step.span_seconds(uptime));
    assert_eq!(spans(Step::Second), [60, 60, 120, 600, 600, 600]);
    assert_eq!(spans(Step::TenSeconds), [60, 60, 120, 600, 3600, 3600]);
    assert_eq!(Step::Second.span_seconds(f64::NAN), 600);
    let script = include_str!("../../assets/charts.js");
    assert!(script.contains(&format!("const SPANS = {SPANS:?};")), "the page has the same spans");
}
