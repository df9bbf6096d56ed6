//! Rates of links, as people write them.

use super::Mistake;
use std::num::NonZeroU64;
use std::path::Path;

/// Units with their bits a second.
const UNITS: [(&str, f64); 4] = [("gbit/s", 1e9), ("mbit/s", 1e6), ("kbit/s", 1e3), ("bit/s", 1.0)];
/// Rates of real links, in bits a second.
const REAL: std::ops::RangeInclusive<f64> = 1e3..=1e12;

/// The bits a second of a rate such as `"20 Mbit/s"`, which `key` of the file at `path` has.
pub fn parse(path: &Path, key: &str, text: &str) -> Result<NonZeroU64, Mistake> {
    let lower = text.trim().to_ascii_lowercase();
    let bits = UNITS.iter().find_map(|(unit, bits)| {
        let number: f64 = lower.strip_suffix(unit)?.trim().parse().ok()?;
        Some(number * bits).filter(|bits| REAL.contains(bits))
    });
    bits.and_then(|bits| NonZeroU64::new(bits as u64)).ok_or_else(|| {
        let what =
            format!("{text:?} is no rate of a link; write one such as \"20 Mbit/s\" or \"512 kbit/s\"");
        Mistake::at(path, key, what)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_has_a_number_and_a_unit() {
        let parsed = |text| parse(Path::new("a.toml"), "[link] rate", text).map(NonZeroU64::get);
        for (text, bits) in
            [("20 Mbit/s", 20_000_000), ("512kbit/s", 512_000), (" 1.5 Gbit/s", 1_500_000_000)]
        {
            assert_eq!(parsed(text).unwrap(), bits, "{text}");
        }
        for text in
            ["20", "", "Mbit/s", "20 MB/s", "0 Mbit/s", "-1 Mbit/s", "NaN Mbit/s", "9e9 Gbit/s", "900 bit/s"]
        {
            let said = parsed(text).unwrap_err().to_string();
            assert!(said.contains("[link] rate") && said.contains("20 Mbit/s"), "{said}");
        }
    }
}
