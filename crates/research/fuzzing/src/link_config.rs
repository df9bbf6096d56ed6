//! Configurations of links, and the links that they make.

use crate::Seed;
use air::{Link, LinkConfig, Tally, presets};
use std::time::Duration;

/// A configuration that is written reads the same; a link that is made of one accounts for every frame.
pub fn check(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let Ok(config) = toml::from_str::<LinkConfig>(text) else { return false };
    let Ok(mut link) = Link::new(&config, 1) else { return false };
    let written = toml::to_string(&config).expect("a configuration that holds can be written");
    assert_eq!(toml::from_str::<LinkConfig>(&written).as_ref(), Ok(&config));
    let mut now = Duration::ZERO;
    for number in 0..40 {
        now += Duration::from_micros(number * 100);
        link.send(now, vec![0x55; (number as usize * 37) % 1500]);
        while link.poll_deliver(now).is_some() {}
    }
    accounts_for_every_frame(&link);
    for _ in 0..200 {
        let Some(then) = link.poll_timeout() else { break };
        now = now.max(then);
        while link.poll_deliver(now).is_some() {}
    }
    accounts_for_every_frame(&link);
    true
}

fn accounts_for_every_frame(link: &Link) {
    let counters = link.counters();
    let sum = |tallies: &[Tally]| {
        tallies.iter().fold((0, 0), |(frames, bytes), tally| (frames + tally.frames, bytes + tally.bytes))
    };
    let came = sum(&[counters.offered, counters.duplicated]);
    let went = sum(&[counters.queue_dropped, counters.lost, counters.delivered, link.held()]);
    assert_eq!(came, went, "{counters:?}");
}

/// Every preset's downward direction, and every key that no preset has.
pub fn seeds() -> Vec<Seed> {
    let text = |config: &LinkConfig| toml::to_string(config).expect("a preset can be written");
    let others = "
        overhead_bytes = 28
        duplicate = 0.01
        corrupt = 0.01
        reorder = { probability = 0.1, extra_delay_ms = 1.5 }
        trace.opportunities_ms = [1, 1, 2, 5]
        loss.trace.receptions = \"1101\"
    ";
    let bits = "
        rate = \"300kbit/s\"
        queue_frames = 3
        loss.gilbert_elliott = { good_error_rate = 1e-6, bad_error_rate = 1e-3, good_to_bad = 1e-5, bad_to_good = 1e-3 }
    ";
    let queues = "
        rate = \"2Mbit/s\"
        queue_discipline.codel = { target_ms = 0.5, interval_ms = 2 }
        policer = { rate = \"4Mbit/s\", burst_bytes = 9000 }
        loss.timed_gilbert = { good_ms = 20, bad_ms = 2.5 }
    ";
    presets::all()
        .iter()
        .map(|preset| (preset.name, text(&preset.down)))
        .chain([
            ("other-keys", others.to_owned()),
            ("bit-errors", bits.to_owned()),
            ("queues", queues.to_owned()),
        ])
        .map(|(name, text)| Seed::of(name, |out| out.extend_from_slice(text.as_bytes())))
        .collect()
}
