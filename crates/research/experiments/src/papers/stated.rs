//! A number that a paper states.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A number that a paper states, or that follows from such numbers. Only the register gives one, so that no
/// other number passes for a paper's.
#[derive(Debug, Clone, Copy)]
pub struct Stated {
    number: f64,
    is_percent: bool,
    tolerance: f64,
    /// The values that it follows from, two of them for a quotient.
    sources: [Option<Source>; 2],
}

/// A value of the register: its paper and its number in the order of the text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Source {
    pub paper: &'static str,
    pub index: usize,
}

impl Stated {
    pub(super) fn new(number: f64, is_percent: bool, tolerance: f64, source: Option<Source>) -> Self {
        Stated { number, is_percent, tolerance, sources: [source, None] }
    }

    /// The number's tolerance in its unit: 0 if it is printed.
    #[must_use]
    pub fn tolerance(self) -> f64 {
        self.tolerance
    }

    /// The ids of the values that it follows from, each behind its paper's name and a slash.
    #[must_use]
    pub fn sources(self) -> Vec<String> {
        let id = |source: Source| Some(format!("{}/{}", source.paper, id_of(source)?));
        self.sources.into_iter().flatten().filter_map(id).collect()
    }

    /// The number.
    #[must_use]
    pub fn get(self) -> f64 {
        self.number
    }

    /// A percentage as a share of one.
    ///
    /// # Panics
    ///
    /// When it is none; so the other two.
    #[must_use]
    pub fn share(self) -> Self {
        self.becomes(hundredths(self.percent()), self.tolerance / 100.0)
    }

    /// The share that a reduction by this percentage leaves, from 0 to 1.
    #[must_use]
    pub fn left(self) -> Self {
        self.becomes(hundredths(100.0 - self.percent()), self.tolerance / 100.0)
    }

    /// What one becomes by an increase by a percentage.
    #[must_use]
    pub fn grown(self) -> Self {
        self.becomes(hundredths(100.0 + self.percent()), self.tolerance / 100.0)
    }

    /// Its quotient and another.
    #[must_use]
    pub fn over(self, other: Self) -> Self {
        let sources = [self.sources[0], other.sources[0]];
        let quotient = self.number / other.number;
        let tolerance = quotient.abs() * (self.relative_tolerance() + other.relative_tolerance());
        Stated { sources, ..self.becomes(quotient, tolerance) }
    }

    /// The same in a unit of which there are a thousand times as many.
    #[must_use]
    pub fn thousands(self) -> Self {
        self.becomes(self.number * 1000.0, self.tolerance * 1000.0)
    }

    fn becomes(self, number: f64, tolerance: f64) -> Self {
        Stated { number, is_percent: false, tolerance, ..self }
    }

    fn relative_tolerance(self) -> f64 {
        if self.tolerance == 0.0 { 0.0 } else { self.tolerance / self.number.abs() }
    }

    fn percent(self) -> f64 {
        assert!(self.is_percent, "{self} is no percentage");
        self.number
    }
}

fn id_of(source: Source) -> Option<&'static str> {
    Some(super::named(source.paper)?.values().get(source.index)?.id())
}

/// Hundredths, exactly as in the decimal digits.
fn hundredths(percent: f64) -> f64 {
    (percent * 1e6).round() / 1e8
}

impl PartialEq for Stated {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl fmt::Display for Stated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.number.fmt(f)
    }
}

impl Serialize for Stated {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.number.serialize(serializer)
    }
}

/// Of rows that were written.
impl<'de> Deserialize<'de> for Stated {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Stated::new(f64::deserialize(deserializer)?, false, 0.0, None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_become_shares_to_the_digit() {
        let percent = |number| Stated::new(number, true, 1.0, None);
        assert_eq!(percent(14.4).share().to_string(), "0.144");
        assert_eq!(percent(7.0).left().to_string(), "0.93");
        assert_eq!(percent(7.0).left().tolerance(), 0.01);
        assert_eq!(percent(170.0).grown().to_string(), "2.7");
    }

    #[test]
    fn a_quotient_is_off_by_as_much_as_both_of_its_members() {
        let stated = |number, tolerance| Stated::new(number, false, tolerance, None);
        let quotient = stated(2.0, 0.2).over(stated(4.0, 0.2));
        assert_eq!((quotient.get(), quotient.tolerance()), (0.5, 0.5 * (0.1 + 0.05)));
        assert_eq!(stated(0.0, 0.0).over(stated(4.0, 0.0)).tolerance(), 0.0);
    }

    #[test]
    #[should_panic(expected = "no percentage")]
    fn what_is_no_percentage_is_no_share() {
        let _ = Stated::new(2.0, false, 0.0, None).share();
    }

    #[test]
    fn what_follows_from_values_names_them() {
        let value = |id| crate::papers::BYTE_CACHING.value(id).number();
        let saved = value("section-6/bytes-saved-no-loss");
        assert_eq!(saved.left().sources(), ["byte-caching/section-6/bytes-saved-no-loss"]);
        let quotient = saved.over(value("section-1/cited-utilization"));
        assert_eq!(quotient.sources()[1], "byte-caching/section-1/cited-utilization");
    }
}
