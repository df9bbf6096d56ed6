//! Durations in configuration files: a number of milliseconds, fractions allowed, kept to the nanosecond.

use std::time::Duration;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};

/// The longest configurable time: a day. It exceeds every real delay, and sums never overflow.
pub(crate) const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

pub(crate) fn serialize<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(duration.as_nanos() as f64 / 1e6)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let milliseconds = f64::deserialize(deserializer)?;
    if !(0.0..=LONGEST.as_millis() as f64).contains(&milliseconds) {
        return Err(D::Error::custom(format!("{milliseconds} ms is not between 0 and a day")));
    }
    Ok(Duration::from_nanos((milliseconds * 1e6).round() as u64))
}
