//! Configurations of shared media, and what stations on them do.

use crate::Seed;
use air::LossConfig;
use air::medium::{DirectedLoss, Medium, MediumConfig, Wall};
use std::time::Duration;

/// Stations that take part; a medium may have many more.
const MOST_TRIED: usize = 16;

/// A configuration that is written reads the same; a medium that is made of one accounts for every frame, and
/// comes to rest.
pub fn check(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let Ok(config) = toml::from_str::<MediumConfig>(text) else { return false };
    if config.stations.len() > MOST_TRIED {
        return false;
    }
    let Ok(mut medium) = Medium::new(&config, 1) else { return false };
    let written = toml::to_string(&config).expect("a configuration that holds can be written");
    assert_eq!(toml::from_str::<MediumConfig>(&written).as_ref(), Ok(&config));
    let stations = config.stations.len();
    let mut now = Duration::ZERO;
    for number in 0..60 {
        now += Duration::from_micros(number * 50);
        let (from, to) = (number as usize % MOST_TRIED, (number as usize * 7) % MOST_TRIED);
        medium.send(now, from, (number % 5 > 0).then_some(to), vec![0x55; (number as usize * 37) % 1500]);
        while medium.poll_deliver(now).is_some() {}
    }
    let mut turns = 0;
    while let Some(then) = medium.poll_timeout() {
        now = now.max(then);
        while let Some(delivery) = medium.poll_deliver(now) {
            assert!(delivery.to.iter().all(|to| *to < stations && *to != delivery.from));
        }
        turns += 1;
        assert!(turns < 100_000, "it comes to rest");
    }
    // Acknowledgements and their timeouts that are still out.
    while medium.poll_deliver(now + Duration::from_secs(1)).is_some() {}
    for station in 0..stations {
        let it = medium.counters(station);
        let went = [it.queue_dropped, it.broadcast, it.delivered, it.lost];
        let frames: u64 = went.iter().map(|tally| tally.frames).sum();
        let bytes: u64 = went.iter().map(|tally| tally.bytes).sum();
        assert_eq!((it.offered.frames, it.offered.bytes), (frames, bytes), "{it:?}");
    }
    true
}

/// The usual radios, and everything that they are not.
pub fn seeds() -> Vec<Seed> {
    let text = |config: &MediumConfig| toml::to_string(config).expect("a sound configuration can be written");
    let row = |metres: f64| (0..4).map(|number| [f64::from(number) * metres, 0.0]).collect();
    let usual = MediumConfig { stations: row(200.0), ..MediumConfig::default() };
    let hidden = MediumConfig { carrier_sense_metres: 250.0, queue_frames: 2, ..usual.clone() };
    let indoors = MediumConfig {
        rayleigh: true,
        least_loss: 0.1,
        most_loss: 0.5,
        listeners: vec![2],
        walls: vec![Wall { from: [100.0, -5.0], to: [100.0, 5.0], decibels: 6.0 }],
        ..usual.clone()
    };
    let one_way = MediumConfig {
        turns_to_stronger: false,
        directed_losses: vec![DirectedLoss {
            from: 0,
            to: 1,
            loss: LossConfig::Bernoulli { probability: 0.25 },
        }],
        ..hidden.clone()
    };
    [("usual", usual), ("hidden", hidden), ("indoors", indoors), ("one-way", one_way)]
        .into_iter()
        .map(|(name, config)| Seed::of(name, |out| out.extend_from_slice(text(&config).as_bytes())))
        .collect()
}
