//! Configurations in written form, and the messages for errors.

use std::path::{Path, PathBuf};

use crate::driver::ms;
use air::{Bitrate, CapacityConfig, Link, LinkConfig, LossConfig, PolicerConfig, QueueDiscipline, presets};
use proptest::prelude::*;

fn parse(text: &str) -> Result<LinkConfig, String> {
    toml::from_str(text).map_err(|error| error.message().to_owned())
}

#[test]
fn every_loss_model_is_written_in_one_line() {
    for (text, expected) in [
        ("", LossConfig::None),
        ("loss = 'none'", LossConfig::None),
        ("loss.bernoulli.probability = 0.05", LossConfig::Bernoulli { probability: 0.05 }),
        ("loss.bernoulli.probability = 1", LossConfig::Bernoulli { probability: 1.0 }),
        (
            "loss.simple_gilbert = { good_to_bad = 0.01, bad_to_good = 0.6 }",
            LossConfig::SimpleGilbert { good_to_bad: 0.01, bad_to_good: 0.6 },
        ),
        (
            "loss.gilbert_elliott = { good_error_rate = 0, bad_error_rate = 1e-3, good_to_bad = 1e-6, bad_to_good = 1e-4 }",
            LossConfig::GilbertElliott {
                good_error_rate: 0.0,
                bad_error_rate: 1e-3,
                good_to_bad: 1e-6,
                bad_to_good: 1e-4,
            },
        ),
        ("loss.bit_errors.rate = 1e-5", LossConfig::BitErrors { rate: 1e-5 }),
        ("loss.trace.receptions = '1101'", LossConfig::Trace { receptions: "1101".parse().unwrap() }),
        (
            "loss.timed_gilbert = { good_ms = 1900, bad_ms = 100 }",
            LossConfig::TimedGilbert { good: ms(1900), bad: ms(100) },
        ),
    ] {
        let config = parse(text).unwrap();
        assert_eq!(config.loss, expected, "{text}");
        config.validate().unwrap();
    }
}

#[test]
fn a_queue_has_a_discipline_and_may_have_a_policer_before_it() {
    for (text, expected) in [
        ("", QueueDiscipline::DropTail),
        ("queue_discipline = 'drop_tail'", QueueDiscipline::DropTail),
        ("queue_discipline.codel = {}", QueueDiscipline::CODEL),
        (
            "queue_discipline.codel = { target_ms = 1.5, interval_ms = 30 }",
            QueueDiscipline::Codel { target: ms(3) / 2, interval: ms(30) },
        ),
    ] {
        let config = parse(text).unwrap();
        assert_eq!((config.queue_discipline, config.policer.as_ref()), (expected, None), "{text}");
        config.validate().unwrap();
    }
    let config = parse("policer = { rate = '10Mbit/s', burst_bytes = 75000 }").unwrap();
    let rate = Bitrate::from_megabits_per_second(10);
    assert_eq!(config.policer, Some(PolicerConfig { rate, burst_bytes: 75_000 }));
    config.validate().unwrap();
}

#[test]
fn unknown_and_misspelt_keys_are_named() {
    for (text, word) in [
        ("dealy_ms = 10", "dealy_ms"),
        ("loss.bernouli.probability = 0.05", "bernouli"),
        ("loss.bernoulli.p = 0.05", "keys in table: p,"),
        ("loss.bernoulli = { probability = 0.05, burst = 3 }", "burst"),
        ("reorder = { probability = 0.1 }", "extra_delay_ms"),
        ("reorder = { probability = 0.1, extra_delay_ms = 1, correlation = 0.2 }", "correlation"),
        ("radio = { standard = 'n', rate = '54Mbit/s' }", "`n`"),
        ("rate = '8 Mbps'", "8 Mbps"),
        ("rate = 8000000", "string"),
        ("delay_ms = -1", "-1 ms"),
        ("delay_ms = nan", "NaN ms"),
        ("delay_ms = 1e9", "a day"),
        ("queue_bytes = -1", "-1"),
        ("loss.trace.receptions = '11x'", "`x`"),
        ("trace.opportunities_ms = [5, 4]", "earlier"),
        ("trace.opportunities_ms = []", "without bound"),
        ("queue_discipline = 'red'", "red"),
        ("queue_discipline.codel = { ecn = true }", "ecn"),
        ("policer = { rate = '1Mbit/s' }", "burst_bytes"),
    ] {
        let message = parse(text).expect_err(text);
        assert!(message.contains(word), "{text}: {message}");
    }
}

#[test]
fn impossible_values_are_refused_in_one_line_that_names_the_key() {
    for (text, expected) in [
        ("rate = '0bit/s'", "rate is 0: leave it out"),
        ("duplicate = 1.5", "duplicate is 1.5: a probability is between 0 and 1"),
        ("corrupt = nan", "corrupt is NaN: a probability"),
        ("loss.bernoulli.probability = -0.1", "loss.bernoulli.probability is -0.1"),
        (
            "loss.simple_gilbert = { good_to_bad = 0.1, bad_to_good = 2 }",
            "loss.simple_gilbert.bad_to_good is 2",
        ),
        ("loss.bit_errors.rate = inf", "loss.bit_errors.rate is inf"),
        (
            "rate = '1Mbit/s'\nradio = { standard = 'g', rate = '54Mbit/s' }",
            "rate and radio exclude each other",
        ),
        ("rate = '1Mbit/s'\ntrace.file = 'x'", "rate and trace exclude each other"),
        (
            "radio = { standard = 'b', rate = '54Mbit/s' }",
            "radio.rate is 54Mbit/s, which 802.11b does not have",
        ),
        ("radio = { standard = 'b', rate = '11Mbit/s', retry_limit = 16 }", "radio.retry_limit is 16"),
        ("trace.file = 'lte.down'", "trace.file `lte.down` has not been loaded"),
        ("overhead_bytes = 70000", "overhead_bytes is 70000"),
        (
            "queue_discipline.codel.interval_ms = 0",
            "queue_discipline.codel.interval_ms is 0: it must be above 0",
        ),
        (
            "queue_discipline.codel.target_ms = 101",
            "queue_discipline.codel.target_ms is above interval_ms: it is at most interval_ms",
        ),
        ("policer = { rate = '0bit/s', burst_bytes = 1 }", "policer.rate is 0: it must be above 0"),
        ("policer = { rate = '1Mbit/s', burst_bytes = 0 }", "policer.burst_bytes is 0: it must be above 0"),
        (
            "loss.timed_gilbert = { good_ms = 0, bad_ms = 1 }",
            "loss.timed_gilbert.good_ms is 0: it must be above 0",
        ),
    ] {
        let config = parse(text).unwrap();
        let message = Link::new(&config, 1).expect_err(text).to_string();
        assert!(message.starts_with(expected), "{text}: {message}");
        assert!(!message.contains('\n'));
    }
}

#[test]
fn the_file_of_a_trace_is_loaded_by_whoever_may_read_files() {
    let mut config = parse("trace.file = 'lte.down'").unwrap();
    config
        .load_trace(|path| {
            assert_eq!(path, Path::new("lte.down"));
            Ok("1\n2\n".to_owned())
        })
        .unwrap();
    assert_eq!(config.trace, Some(CapacityConfig::OpportunitiesMs("1\n2\n".parse().unwrap())));
    Link::new(&config, 1).unwrap();

    let file = LinkConfig { trace: Some(CapacityConfig::File(PathBuf::from("x"))), ..LinkConfig::default() };
    let malformed = file.clone().load_trace(|_| Ok("1\nhello\n".to_owned())).unwrap_err();
    assert_eq!(
        malformed.to_string(),
        "trace.file `x`: the capacity trace's line 2 is no whole number of milliseconds"
    );
    let absent = file.clone().load_trace(|_| Err(std::io::ErrorKind::NotFound.into())).unwrap_err();
    assert!(absent.to_string().starts_with("trace.file `x`: "));
    LinkConfig::default().load_trace(|_| panic!("no file is named")).unwrap();
}

#[test]
fn a_configuration_reads_back_as_it_was_written() {
    let mut configs = vec![
        LinkConfig::default(),
        parse(
            "trace.opportunities_ms = [1, 2, 2, 7]\nreorder = { probability = 0.25, extra_delay_ms = 0.125 }",
        )
        .unwrap(),
        parse("trace.file = 'a/b'\nloss.trace.receptions = '10'\ndelay_ms = 33.333333").unwrap(),
        parse("queue_discipline.codel = {}\nloss.timed_gilbert = { good_ms = 0.5, bad_ms = 2 }").unwrap(),
        parse("policer = { rate = '10Mbit/s', burst_bytes = 75000 }").unwrap(),
    ];
    configs.extend(presets::all().into_iter().flat_map(|preset| [preset.down, preset.up]));
    for config in configs {
        let text = toml::to_string(&config).unwrap();
        assert_eq!(parse(&text).unwrap(), config, "{text}");
    }
}

#[test]
fn every_preset_has_its_own_name_and_makes_a_link() {
    let presets = presets::all();
    for preset in &presets {
        assert_eq!(presets::by_name(preset.name).as_ref(), Some(preset));
        assert_eq!(presets.iter().filter(|other| other.name == preset.name).count(), 1);
        Link::new(&preset.down, 1).unwrap();
        Link::new(&preset.up, 1).unwrap();
    }
    assert_eq!(presets::by_name("carrier-pigeon"), None);
}

/// The presets' described properties.
#[test]
fn presets_lose_what_they_say() {
    let loss_of = |config: &LinkConfig, bytes: usize| {
        let retry_limit = config.radio.as_ref().map_or(0, |radio| radio.retry_limit);
        let mut process = air::loss::LossProcess::new(&config.loss, 1);
        let lost = (0..100_000)
            .filter(|&index| (0..=retry_limit).all(|retry| process.lose(index, retry, bytes as u64 * 8)))
            .count();
        lost as f64 / 100_000.0
    };
    assert!((0.04..0.06).contains(&loss_of(&presets::lossy_wifi().down, 1500)));
    assert!((0.02..0.04).contains(&loss_of(&presets::rural().down, 1500)));
    assert!(loss_of(&presets::rural().down, 100) < 0.001);
    assert!((0.015..0.03).contains(&loss_of(&presets::packet_radio().down, 1500)));
    assert!(loss_of(&presets::lte().down, 1500) < 0.001);
    assert_eq!(loss_of(&presets::clean().down, 1500), 0.0);
    assert_eq!(presets::clean().down.rate, Some(Bitrate::from_megabits_per_second(8)));
}

proptest! {
    #[test]
    fn any_text_is_a_configuration_or_an_error(
        text in "(rate|delay_ms|loss|trace|radio|corrupt|queue_bytes)( = |\\.)['\\[{]?[a-z0-9.\" ,=_-]{0,20}['\\]}]?"
    ) {
        if let Ok(config) = parse(&text) {
            let _ = Link::new(&config, 1);
        }
    }
}
