//! The configuration of one direction of a link, and its possible errors.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Bitrate;
use crate::loss::LossConfig;
use crate::mahimahi::{CapacityTrace, MalformedTrace};
use crate::milliseconds::{self, LONGEST};
use crate::timing::{Standard, Timing, UnknownRate};

/// One direction of a link. The default carries everything without delay and damage.
///
/// In TOML:
///
/// ```
/// let link: air::LinkConfig = toml::from_str(r#"
///     rate = "1MByte/s"
///     delay_ms = 10
///     queue_bytes = 65536
///     loss.bernoulli.probability = 0.01
///     reorder = { probability = 0.001, extra_delay_ms = 5 }
///     duplicate = 0.001
///     corrupt = 0.001
/// "#).unwrap();
/// link.validate().unwrap();
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LinkConfig {
    /// Transmission rate; unlimited if absent. Excludes `trace` and `radio`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Bitrate>,
    /// From the end of a frame's transmission to its delivery; `delay_ms` in files, at most a day.
    #[serde(rename = "delay_ms", with = "milliseconds")]
    pub delay: Duration,
    /// Bytes that may wait for the transmitter, besides the frame in transmission. The full queue drops from
    /// the tail.
    pub queue_bytes: usize,
    /// Frames that may wait, besides the bound on bytes; only that bound if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_frames: Option<usize>,
    /// Drops before the queue is full; none by default.
    #[serde(skip_serializing_if = "QueueDiscipline::is_default")]
    pub queue_discipline: QueueDiscipline,
    /// A token bucket before the queue; it drops what exceeds it, and holds nothing back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policer: Option<PolicerConfig>,
    /// Losses on the air.
    pub loss: LossConfig,
    /// Frames that others overtake.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reorder: Option<ReorderConfig>,
    /// Probability that a delivered frame is delivered twice, the copy directly after the original. The copy
    /// takes no air time, as if the network had made it.
    pub duplicate: f64,
    /// Probability that one bit of a delivered frame is flipped; all bits are equally likely.
    pub corrupt: f64,
    /// Recorded capacity in place of a rate. Excludes `rate` and `radio`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<CapacityConfig>,
    /// 802.11 in place of a rate. Excludes `rate` and `trace`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub radio: Option<RadioConfig>,
    /// Bytes that a frame costs the air beyond its own. They take time at `rate`, `trace` or `radio`, and add
    /// to the length for losses that depend on it. The counters omit them.
    pub overhead_bytes: usize,
}

impl Default for LinkConfig {
    fn default() -> Self {
        Self {
            rate: None,
            delay: Duration::ZERO,
            queue_bytes: 65536,
            queue_frames: None,
            queue_discipline: QueueDiscipline::DropTail,
            policer: None,
            loss: LossConfig::None,
            reorder: None,
            duplicate: 0.0,
            corrupt: 0.0,
            trace: None,
            radio: None,
            overhead_bytes: 0,
        }
    }
}

/// Drops of a queue before it is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum QueueDiscipline {
    /// None: only the full queue drops, from its tail.
    #[default]
    DropTail,
    /// CoDel (RFC 8289). It drops from the head when frames leave the queue, and never marks (no ECN).
    Codel {
        /// The acceptable wait; `target_ms` in files, at most the interval.
        #[serde(rename = "target_ms", with = "milliseconds", default = "QueueDiscipline::usual_target")]
        target: Duration,
        /// How long the wait must be above the target before the first drop; `interval_ms` in files, at most
        /// a day.
        #[serde(rename = "interval_ms", with = "milliseconds", default = "QueueDiscipline::usual_interval")]
        interval: Duration,
    },
}

impl QueueDiscipline {
    /// CoDel with the RFC's values: a target of 5 ms and an interval of 100 ms.
    pub const CODEL: Self = Self::Codel { target: Self::usual_target(), interval: Self::usual_interval() };

    const fn usual_target() -> Duration {
        Duration::from_millis(5)
    }

    const fn usual_interval() -> Duration {
        Duration::from_millis(100)
    }

    fn is_default(&self) -> bool {
        *self == Self::DropTail
    }

    fn validate(self) -> Result<(), ConfigError> {
        let Self::Codel { target, interval } = self else { return Ok(()) };
        time("queue_discipline.codel.interval_ms", interval)?;
        if interval.is_zero() {
            return Err(ConfigError::Zero { key: "queue_discipline.codel.interval_ms" });
        }
        if target > interval {
            return Err(ConfigError::Target);
        }
        Ok(())
    }
}

/// A token bucket. A frame passes if its bytes, with `overhead_bytes`, are in the bucket.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicerConfig {
    /// The rate at which the bucket fills.
    pub rate: Bitrate,
    /// The bytes of the full bucket, and so of the longest burst.
    pub burst_bytes: usize,
}

impl PolicerConfig {
    fn validate(&self) -> Result<(), ConfigError> {
        if self.rate.bits_per_second() == 0 {
            return Err(ConfigError::Zero { key: "policer.rate" });
        }
        if self.burst_bytes == 0 {
            return Err(ConfigError::Zero { key: "policer.burst_bytes" });
        }
        Ok(())
    }
}

/// Frames that are held back while later ones pass.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReorderConfig {
    /// Probability that a frame is held back.
    pub probability: f64,
    /// Time beyond the link's delay; `extra_delay_ms` in files, at most a day.
    #[serde(rename = "extra_delay_ms", with = "milliseconds")]
    pub extra_delay: Duration,
}

/// A recording of capacity, or its file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CapacityConfig {
    /// The recording's file, in the format of [`crate::mahimahi`]. This crate reads no files:
    /// [`LinkConfig::load_trace`] inserts the recording before a link is made.
    File(PathBuf),
    /// The recording itself.
    OpportunitiesMs(CapacityTrace),
}

/// An 802.11 radio that shares the channel with no other radio, not even that of the other direction.
/// [`crate::timing`] gives the cost of a frame. The link's frames count as Ethernet's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RadioConfig {
    /// The amendment of its times.
    pub standard: Standard,
    /// The rate of data frames, one of the standard's.
    pub rate: Bitrate,
    /// The most retries of a frame, at most [`RadioConfig::MOST_RETRIES`].
    #[serde(default = "RadioConfig::usual_retry_limit")]
    pub retry_limit: u8,
}

impl RadioConfig {
    /// The highest `retry_limit`.
    pub const MOST_RETRIES: u8 = 15;

    fn usual_retry_limit() -> u8 {
        7
    }
}

/// An invalid configuration. Each text names the key and its valid values.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ConfigError {
    /// A probability outside [0, 1], or not a number.
    #[error("{key} is {value}: a probability is between 0 and 1")]
    Probability {
        /// The key.
        key: &'static str,
        /// Its value.
        value: f64,
    },
    /// A time beyond a day.
    #[error("{key} is longer than a day")]
    Time {
        /// The key.
        key: &'static str,
    },
    /// A quantity of nothing.
    #[error("{key} is 0: it must be above 0")]
    Zero {
        /// The key.
        key: &'static str,
    },
    /// A target that no wait within the interval reaches.
    #[error("queue_discipline.codel.target_ms is above interval_ms: it is at most interval_ms")]
    Target,
    /// A link that never sends anything.
    #[error(
        "rate is 0: leave it out for an unlimited link, or use loss.bernoulli.probability = 1 for a dead one"
    )]
    NoRate,
    /// Two of the keys that say how fast a link is.
    #[error("{0} and {1} exclude each other: both say how fast the link is")]
    TwoCapacities(&'static str, &'static str),
    /// A rate that the standard does not have.
    #[error("radio.{0}")]
    Radio(#[from] UnknownRate),
    /// Too many retries.
    #[error("radio.retry_limit is {0}: it is at most {max}", max = RadioConfig::MOST_RETRIES)]
    RetryLimit(u8),
    /// The trace's file has not been read.
    #[error("trace.file `{}` has not been loaded", .0.display())]
    TraceNotLoaded(PathBuf),
    /// An invalid length.
    #[error("{key} is {value}: a distance is above 0")]
    NotPositive {
        /// The key.
        key: &'static str,
        /// Its value.
        value: f64,
    },
    /// A position or wall with infinite or undefined coordinates.
    #[error("a station, a wall or capture_decibels is no number")]
    NotFinite,
    /// More stations than a medium can have.
    #[error("there are {0} stations: a medium has at most {max}", max = crate::medium::MOST_STATIONS)]
    Stations(usize),
    /// Losses of a missing station.
    #[error("directed_losses names station {0}, which there is not: they are counted from 0")]
    NoStation(usize),
    /// A listener that is not a station.
    #[error("listener {0} is no station: stations are counted from 0")]
    Listener(usize),
    /// Overhead beyond what any frame has.
    #[error("overhead_bytes is {0}: it is at most {MOST_OVERHEAD_BYTES}")]
    Overhead(usize),
}

/// The trace's file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// It could not be read.
    #[error("trace.file `{}`: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The error.
        source: std::io::Error,
    },
    /// It is not a trace.
    #[error("trace.file `{}`: {source}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The error.
        source: MalformedTrace,
    },
}

const MOST_OVERHEAD_BYTES: usize = 1 << 16;

impl LinkConfig {
    /// Checks the configuration.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let capacities =
            [("rate", self.rate.is_some()), ("trace", self.trace.is_some()), ("radio", self.radio.is_some())];
        let mut given = capacities.iter().filter(|(_, given)| *given).map(|(key, _)| *key);
        if let (Some(first), Some(second)) = (given.next(), given.next()) {
            return Err(ConfigError::TwoCapacities(first, second));
        }
        if self.rate.is_some_and(|rate| rate.bits_per_second() == 0) {
            return Err(ConfigError::NoRate);
        }
        time("delay_ms", self.delay)?;
        probability("duplicate", self.duplicate)?;
        probability("corrupt", self.corrupt)?;
        if self.overhead_bytes > MOST_OVERHEAD_BYTES {
            return Err(ConfigError::Overhead(self.overhead_bytes));
        }
        self.queue_discipline.validate()?;
        if let Some(policer) = &self.policer {
            policer.validate()?;
        }
        if let Some(reorder) = &self.reorder {
            probability("reorder.probability", reorder.probability)?;
            time("reorder.extra_delay_ms", reorder.extra_delay)?;
        }
        if let Some(CapacityConfig::File(path)) = &self.trace {
            return Err(ConfigError::TraceNotLoaded(path.clone()));
        }
        if let Some(radio) = &self.radio {
            radio.validate()?;
        }
        self.loss.validate()
    }

    /// Replaces a trace's file name by the recording that `read` returns. Without a file name, it does
    /// nothing.
    pub fn load_trace(
        &mut self,
        read: impl FnOnce(&Path) -> std::io::Result<String>,
    ) -> Result<(), TraceError> {
        if let Some(CapacityConfig::File(path)) = &self.trace {
            let text = read(path).map_err(|source| TraceError::Unreadable { path: path.clone(), source })?;
            let trace =
                text.parse().map_err(|source| TraceError::Malformed { path: path.clone(), source })?;
            self.trace = Some(CapacityConfig::OpportunitiesMs(trace));
        }
        Ok(())
    }
}

impl RadioConfig {
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        Timing::new(self.standard, self.rate)?;
        if self.retry_limit > Self::MOST_RETRIES {
            return Err(ConfigError::RetryLimit(self.retry_limit));
        }
        Ok(())
    }
}

pub(crate) fn probability(key: &'static str, value: f64) -> Result<(), ConfigError> {
    if (0.0..=1.0).contains(&value) { Ok(()) } else { Err(ConfigError::Probability { key, value }) }
}

pub(crate) fn time(key: &'static str, value: Duration) -> Result<(), ConfigError> {
    if value <= LONGEST { Ok(()) } else { Err(ConfigError::Time { key }) }
}
