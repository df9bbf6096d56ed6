//! Numbers as documents print them.

/// Three significant digits; all digits of whole numbers.
pub(super) fn number(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let magnitude = value.abs().log10().floor();
    let decimals = (2.0 - magnitude).clamp(0.0, 6.0) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_significant_digits() {
        for (value, text) in [
            (0.123_456, "0.123"),
            (1.0, "1"),
            (12.345, "12.3"),
            (2020.4, "2020"),
            (0.000_123_4, "0.000123"),
            (-0.05, "-0.05"),
            (0.0, "0"),
        ] {
            assert_eq!(number(value), text);
        }
    }
}
