//! Recorded capacity, as text.

use crate::Seed;
use air::mahimahi::CapacityTrace;

/// Times are in order, the last is the period, and an emitted trace parses equally.
pub fn check(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let Ok(trace) = text.parse::<CapacityTrace>() else { return false };
    let times = Vec::<u32>::from(trace.clone());
    assert!(times.is_sorted() && times.len() == trace.len());
    assert_eq!(times.last().map(|&last| u128::from(last)), Some(trace.period().as_millis()));
    assert!(!trace.period().is_zero());
    let text: String = times.iter().map(|time| format!("{time}\n")).collect();
    assert_eq!(text.parse(), Ok(trace));
    true
}

/// A steady link, bursts, and other line ends.
pub fn seeds() -> Vec<Seed> {
    [
        ("steady", "1\n2\n3\n4\n"),
        ("bursts", "0\n0\n0\n250\n250\n1000\n"),
        ("other-line-ends", " 5\r\n\r\n4294967295"),
    ]
    .into_iter()
    .map(|(name, text)| Seed::of(name, |out| out.extend_from_slice(text.as_bytes())))
    .collect()
}
