//! Presets of familiar links for experiments. None is a measurement; each describes its model.

use std::time::Duration;

use crate::Bitrate;
use crate::config::{LinkConfig, RadioConfig, ReorderConfig};
use crate::loss::LossConfig;
use crate::timing::Standard;

/// Both directions of a link between a gateway and a station.
#[derive(Debug, Clone, PartialEq)]
pub struct Preset {
    /// Its name in configurations.
    pub name: &'static str,
    /// A description in one line.
    pub about: &'static str,
    /// From the gateway to the station.
    pub down: LinkConfig,
    /// From the station to the gateway.
    pub up: LinkConfig,
}

/// All of them.
pub fn all() -> Vec<Preset> {
    vec![clean(), lossy_wifi(), rural(), satellite(), lte(), packet_radio()]
}

/// The one with this name.
pub fn by_name(name: &str) -> Option<Preset> {
    all().into_iter().find(|preset| preset.name == name)
}

const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// 1 MByte/s, a round trip of 20 ms, 64 KB of queue and no loss: the reference link.
pub fn clean() -> Preset {
    let link = LinkConfig {
        rate: Some(Bitrate::from_bytes_per_second(1_000_000)),
        delay: ms(10),
        ..LinkConfig::default()
    };
    Preset { name: "clean", about: "1 MByte/s, 20 ms, no loss", down: link.clone(), up: link }
}

/// A station at the edge of an 802.11g cell: a third of the tries fail, in bursts of four, so that of frames
/// tried five times 5% are still lost.
pub fn lossy_wifi() -> Preset {
    let link = LinkConfig {
        radio: Some(RadioConfig {
            standard: Standard::G,
            rate: Bitrate::from_megabits_per_second(12),
            retry_limit: 4,
        }),
        delay: ms(2),
        loss: LossConfig::SimpleGilbert { good_to_bad: 0.125, bad_to_good: 0.25 },
        ..LinkConfig::default()
    };
    Preset {
        name: "lossy-wifi",
        about: "802.11g at 12 Mbit/s, a third of the tries lost in bursts, 5% of the frames",
        down: link.clone(),
        up: link,
    }
}

/// A directional 802.11b link over tens of kilometres, with few retries because acknowledgements arrive late.
/// Bit errors lose 3% of full frames and few small ones.
pub fn rural() -> Preset {
    let link = LinkConfig {
        radio: Some(RadioConfig {
            standard: Standard::B,
            rate: Bitrate::from_megabits_per_second(2),
            retry_limit: 1,
        }),
        delay: ms(5),
        loss: LossConfig::BitErrors { rate: 1.5e-5 },
        ..LinkConfig::default()
    };
    Preset {
        name: "rural",
        about: "802.11b at 2 Mbit/s far away, 3% of full frames lost, few of the small ones",
        down: link.clone(),
        up: link,
    }
}

/// A geostationary satellite: 20 and 3 Mbit/s, 280 ms each way, rare short fades.
pub fn satellite() -> Preset {
    let direction = |megabits, queue_bytes| LinkConfig {
        rate: Some(Bitrate::from_megabits_per_second(megabits)),
        delay: ms(280),
        queue_bytes,
        loss: LossConfig::GilbertElliott {
            good_error_rate: 1e-9,
            bad_error_rate: 1e-3,
            good_to_bad: 2e-8,
            bad_to_good: 1e-5,
        },
        ..LinkConfig::default()
    };
    Preset {
        name: "satellite",
        about: "20 and 3 Mbit/s, 560 ms, rare fades of a tenth of a megabit",
        down: direction(20, 1 << 20),
        up: direction(3, 1 << 18),
    }
}

/// A busy LTE cell: its own retransmissions turn losses into delay, reordering and a deep queue.
pub fn lte() -> Preset {
    let direction = |megabits, delay| LinkConfig {
        rate: Some(Bitrate::from_megabits_per_second(megabits)),
        delay: ms(delay),
        queue_bytes: 1 << 20,
        loss: LossConfig::Bernoulli { probability: 1e-4 },
        reorder: Some(ReorderConfig { probability: 1e-3, extra_delay: ms(8) }),
        ..LinkConfig::default()
    };
    Preset {
        name: "lte",
        about: "12 and 4 Mbit/s, 50 ms, a deep queue, almost no loss",
        down: direction(12, 20),
        up: direction(4, 30),
    }
}

/// A narrow UHF modem of 64 kbit/s, where every byte counts.
pub fn packet_radio() -> Preset {
    let link = LinkConfig {
        rate: Some(Bitrate::from_kilobits_per_second(64)),
        delay: ms(40),
        queue_bytes: 16384,
        loss: LossConfig::BitErrors { rate: 2e-6 },
        overhead_bytes: 12,
        ..LinkConfig::default()
    };
    Preset {
        name: "packet-radio",
        about: "64 kbit/s, 80 ms, 2% of full frames lost",
        down: link.clone(),
        up: link,
    }
}
