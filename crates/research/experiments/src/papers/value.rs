//! One value of a paper.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Stated;
use super::stated::Source;

/// A paper's value of one quantity at one place.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "Entry")]
pub struct Value {
    entry: Entry,
    content: Content,
    source: Option<Source>,
}

/// A value's number, range or words.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// A number.
    Number(f64),
    /// A range, both ends included.
    Range(f64, f64),
    /// An order, a rule or a formula.
    Words(String),
}

/// Origin of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Read {
    /// It is printed in the paper.
    Printed,
    /// It is read from a drawing.
    Plot,
    /// It is computed from others.
    Computed,
}

/// The axis of a drawing from which a value was read, in the value's unit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Axis {
    low: f64,
    high: f64,
    /// From one tick to the next.
    ticks: f64,
}

impl Axis {
    /// Places of an axis, and of the way between two ticks, that a reader can tell apart.
    const PLACES_OF_AXIS: f64 = 100.0;
    const PLACES_OF_TICK: f64 = 10.0;

    fn makes_sense(self) -> bool {
        self.low < self.high && self.ticks > 0.0 && self.ticks <= self.high - self.low
    }

    /// Half the smallest distance that a reader can tell: a hundredth of the axis or a tenth of the way
    /// between ticks, whichever is larger.
    fn tolerance(self) -> f64 {
        let of_axis = (self.high - self.low) / Self::PLACES_OF_AXIS;
        of_axis.max(self.ticks / Self::PLACES_OF_TICK) / 2.0
    }
}

/// A value as its file has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    id: String,
    place: String,
    quote: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    low: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    high: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    unit: String,
    of: String,
    conditions: String,
    read: Read,
    #[serde(skip_serializing_if = "Option::is_none")]
    axis: Option<Axis>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tolerance: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

impl TryFrom<Entry> for Value {
    type Error = String;

    fn try_from(entry: Entry) -> Result<Self, String> {
        let content = match (entry.value, entry.low, entry.high, &entry.text) {
            (Some(number), None, None, None) => Content::Number(number),
            (None, Some(low), Some(high), None) if low <= high => Content::Range(low, high),
            (None, None, None, Some(words)) => Content::Words(words.clone()),
            _ => return Err(format!("{} is neither a value, nor low and high, nor a text", entry.id)),
        };
        if (entry.read == Read::Plot) != entry.axis.is_some_and(Axis::makes_sense) {
            return Err(format!(
                "{} has an axis that makes sense if and only if it is from a plot",
                entry.id
            ));
        }
        if (entry.read == Read::Computed) != entry.tolerance.is_some() {
            return Err(format!("{} has a tolerance if and only if it is computed", entry.id));
        }
        Ok(Value { entry, content, source: None })
    }
}

impl Serialize for Value {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.entry.serialize(serializer)
    }
}

impl Value {
    /// At its place in the register.
    pub(super) fn registered(self, source: Source) -> Self {
        Value { source: Some(source), ..self }
    }

    /// Its id: place, series, x.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.entry.id
    }

    /// Its place in the paper.
    #[must_use]
    pub fn place(&self) -> &str {
        &self.entry.place
    }

    /// The exact words, or the heads of a table's cell.
    #[must_use]
    pub fn quote(&self) -> &str {
        &self.entry.quote
    }

    /// The number, range or words.
    #[must_use]
    pub fn content(&self) -> &Content {
        &self.content
    }

    /// Its unit.
    #[must_use]
    pub fn unit(&self) -> &str {
        &self.entry.unit
    }

    /// The quantity.
    #[must_use]
    pub fn of(&self) -> &str {
        &self.entry.of
    }

    /// When it is so.
    #[must_use]
    pub fn conditions(&self) -> &str {
        &self.entry.conditions
    }

    /// Its origin.
    #[must_use]
    pub fn read(&self) -> Read {
        self.entry.read
    }

    /// How far it may be off, in its unit; none where it is printed. Of a plot, it follows from the axis.
    #[must_use]
    pub fn tolerance(&self) -> Option<f64> {
        self.entry.axis.map(Axis::tolerance).or(self.entry.tolerance)
    }

    /// What else is to be known.
    #[must_use]
    pub fn note(&self) -> Option<&str> {
        self.entry.note.as_deref()
    }

    /// The number.
    ///
    /// # Panics
    ///
    /// When it is a range or in words.
    #[must_use]
    pub fn number(&self) -> Stated {
        match self.content {
            Content::Number(number) => self.stated(number),
            _ => panic!("{} is no number", self.id()),
        }
    }

    /// The lower end of the range.
    ///
    /// # Panics
    ///
    /// When it is none.
    #[must_use]
    pub fn low(&self) -> Stated {
        match self.content {
            Content::Range(low, _) => self.stated(low),
            _ => panic!("{} is no range", self.id()),
        }
    }

    /// The upper end of the range.
    ///
    /// # Panics
    ///
    /// When it is none.
    #[must_use]
    pub fn high(&self) -> Stated {
        match self.content {
            Content::Range(_, high) => self.stated(high),
            _ => panic!("{} is no range", self.id()),
        }
    }

    /// What the paper's formula gives at some place.
    ///
    /// # Panics
    ///
    /// When it is no formula.
    #[must_use]
    pub fn formula(&self, result: f64) -> Stated {
        match self.content {
            Content::Words(_) => self.stated(result),
            _ => panic!("{} is no formula", self.id()),
        }
    }

    fn stated(&self, number: f64) -> Stated {
        Stated::new(number, self.unit() == "%", self.tolerance().unwrap_or(0.0), self.source)
    }
}

/// A value in a sentence: `45%`, `10 to 20%`, `835 bytes`; a number without a unit has no suffix.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.content {
            Content::Number(number) => write!(f, "{number}")?,
            Content::Range(low, high) => write!(f, "{low} to {high}")?,
            Content::Words(words) => return f.write_str(words),
        }
        match self.unit() {
            "%" => f.write_str("%"),
            "ratio" | "factor" | "count" | "index" | "probability" => Ok(()),
            unit => write!(f, " {unit}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &str) -> Result<Value, toml::de::Error> {
        toml::from_str(&format!(
            "id = \"a/b\"\nplace = \"p\"\nquote = \"q\"\nof = \"o\"\nconditions = \"c\"\n{lines}"
        ))
    }

    #[test]
    fn a_value_is_one_of_number_range_and_words() {
        let number = read("unit = \"%\"\nread = \"printed\"\nvalue = 45").unwrap();
        assert_eq!((number.to_string().as_str(), number.number().get()), ("45%", 45.0));
        let range = read("unit = \"KB\"\nread = \"printed\"\nlow = 1\nhigh = 2.5").unwrap();
        assert_eq!((range.to_string().as_str(), range.high().get()), ("1 to 2.5 KB", 2.5));
        let words = read("unit = \"order\"\nread = \"printed\"\ntext = \"a before b\"").unwrap();
        assert_eq!(words.to_string(), "a before b");
        for wrong in ["value = 1\nlow = 1\nhigh = 2", "low = 1", "low = 2\nhigh = 1", ""] {
            assert!(read(&format!("unit = \"%\"\nread = \"printed\"\n{wrong}")).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_value_from_a_plot_has_the_tolerance_of_its_axis() {
        let plot = |axis: &str| read(&format!("unit = \"%\"\nread = \"plot\"\nvalue = 4\n{axis}"));
        let tolerance = |axis| plot(axis).unwrap().tolerance().unwrap();
        assert_eq!(tolerance("axis = { low = 0, high = 100, ticks = 20 }"), 1.0);
        assert_eq!(tolerance("axis = { low = 0, high = 100, ticks = 5 }"), 0.5);
        let wrong = ["", "tolerance = 1", "axis = { low = 0, high = 0, ticks = 1 }"];
        for wrong in wrong.into_iter().chain(["axis = { low = 0, high = 1, ticks = 2 }"]) {
            assert!(plot(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn only_what_is_computed_has_a_tolerance_of_its_own() {
        let computed = "unit = \"%\"\nread = \"computed\"\nvalue = 4";
        assert!(read(computed).is_err());
        assert_eq!(read(&format!("{computed}\ntolerance = 1")).unwrap().tolerance(), Some(1.0));
        for more in ["tolerance = 1", "axis = { low = 0, high = 100, ticks = 20 }"] {
            assert!(read(&format!("unit = \"%\"\nread = \"printed\"\nvalue = 4\n{more}")).is_err(), "{more}");
        }
    }
}
