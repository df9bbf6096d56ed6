//! The range in which a value counts as a paper's.

use std::fmt;

use crate::papers::Stated;

/// Two inclusive bounds. A far better value than the paper's is as distant as a far worse one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Band {
    low: f64,
    high: f64,
}

impl Band {
    /// At most so far from a paper's value, in its unit, beyond what reading it from a drawing may have
    /// missed.
    #[must_use]
    pub fn around(paper: Stated, within: f64) -> Self {
        let within = within + paper.tolerance();
        Band { low: paper.get() - within, high: paper.get() + within }
    }

    /// At most such a share of it away.
    #[must_use]
    pub fn around_by(paper: Stated, share: f64) -> Self {
        Self::around(paper, share * paper.get().abs())
    }

    /// Whether a value lies in it.
    #[must_use]
    pub fn has(self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

impl fmt::Display for Band {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3} to {:.3}", self.low, self.high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::papers;

    #[test]
    fn a_band_has_two_sides() {
        let paper = papers::BYTE_CACHING.value("table-2/tcp-seq/bytes/loss-5").number();
        let band = Band::around(paper, 0.08);
        assert!(band.has(0.77) && band.has(0.63));
        assert!(!band.has(0.79) && !band.has(0.61));
        assert_eq!(band.to_string(), "0.620 to 0.780");
    }

    #[test]
    fn a_value_that_was_read_from_a_drawing_has_a_wider_band() {
        let value: papers::Value = toml::from_str(
            "id = \"a/b\"\nplace = \"p\"\nquote = \"q\"\nof = \"o\"\nconditions = \"c\"\nunit = \"%\"\n\
             read = \"plot\"\nvalue = 40\naxis = { low = 0, high = 200, ticks = 40 }",
        )
        .unwrap();
        let band = Band::around(value.number().share(), 0.01);
        assert_eq!([0.36, 0.38, 0.42, 0.44].map(|ours| band.has(ours)), [false, true, true, false]);
    }
}
