//! Figures as text.

use std::time::Duration;

fn scaled(value: f64, units: &[&str]) -> String {
    let (mut value, mut unit) = (value, 0);
    while value >= 999.95 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    if unit == 0 { format!("{value:.0} {}", units[0]) } else { format!("{value:.1} {}", units[unit]) }
}

/// Bytes, in decimal units.
#[must_use]
pub fn bytes(count: u64) -> String {
    scaled(count as f64, &["B", "kB", "MB", "GB", "TB"])
}

/// Bits a second.
#[must_use]
pub fn bits_per_second(rate: f64) -> String {
    scaled(rate, &["bit/s", "kbit/s", "Mbit/s", "Gbit/s"])
}

/// A share of 1 as a percentage.
#[must_use]
pub fn percent(share: f64) -> String {
    format!("{:.1}%", 100.0 * share)
}

/// A share as a percentage; "-" if the whole is 0.
#[must_use]
pub fn share(part: f64, whole: f64) -> String {
    if whole > 0.0 { percent(part / whole) } else { "-".to_owned() }
}

/// The savings: the share of the offered bytes that was not sent, or the bytes sent beyond them, with `sign`
/// before. "-" if nothing was offered.
#[must_use]
pub fn saved(offered_bytes: u64, sent_bytes: u64, sign: &str) -> String {
    match sent_bytes.checked_sub(offered_bytes) {
        _ if offered_bytes == 0 => "-".to_owned(),
        Some(more) if more > 0 => format!("{sign}{}", bytes(more)),
        _ => percent(1.0 - sent_bytes as f64 / offered_bytes as f64),
    }
}

/// A short time.
#[must_use]
pub fn milliseconds(seconds: f64) -> String {
    if seconds > 0.0 { format!("{:.1} ms", seconds * 1e3) } else { "-".to_owned() }
}

/// A time, in its two largest units.
#[must_use]
pub fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3600..86_400 => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds / 3600 % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short() {
        assert_eq!(
            [bytes(0), bytes(999), bytes(1000), bytes(999_999), bytes(12_345_678)].join(" "),
            "0 B 999 B 1.0 kB 1.0 MB 12.3 MB"
        );
        let saved = [(1000, 450), (1000, 1040), (1000, 1000), (0, 400)]
            .map(|(offered, sent)| saved(offered, sent, "overhead "));
        assert_eq!(saved.join(", "), "55.0%, overhead 40 B, 0.0%, -");
        let times = [5, 65, 3_725, 90_000].map(|seconds| duration(Duration::from_secs(seconds)));
        assert_eq!(times.join(", "), "5 s, 1 min 5 s, 1 h 2 min, 1 d 1 h");
        assert_eq!(
            [bits_per_second(1.5e6), milliseconds(0.0401), share(0.0, 0.0)].join(" "),
            "1.5 Mbit/s 40.1 ms -"
        );
    }
}
