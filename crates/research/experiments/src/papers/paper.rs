//! One paper of the register.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use super::Value;
use super::stated::Source;

/// A paper with its values.
#[derive(Debug)]
pub struct Paper {
    name: &'static str,
    written: &'static str,
    register: OnceLock<Register>,
}

/// A paper's file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Register {
    paper: Head,
    value: Vec<Value>,
    unusable: Vec<Unusable>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    authors: String,
    title: String,
    published: String,
}

/// A result without a value in the text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unusable {
    /// Its place in the paper.
    pub place: String,
    /// Its subject.
    pub what: String,
    /// Why it has no value.
    pub why: String,
}

impl Paper {
    pub(super) const fn new(name: &'static str, written: &'static str) -> Self {
        Paper { name, written, register: OnceLock::new() }
    }

    fn register(&self) -> &Register {
        self.register.get_or_init(|| {
            let register: Register = toml::from_str(self.written)
                .unwrap_or_else(|error| panic!("papers/{}.toml: {error}", self.name));
            let values = register.value.into_iter().enumerate();
            let value =
                values.map(|(index, value)| value.registered(Source { paper: self.name, index })).collect();
            Register { value, ..register }
        })
    }

    /// Its name in the register.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Its authors.
    #[must_use]
    pub fn authors(&self) -> &str {
        &self.register().paper.authors
    }

    /// Its title.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.register().paper.title
    }

    /// Place and date of its publication.
    #[must_use]
    pub fn published(&self) -> &str {
        &self.register().paper.published
    }

    /// All its values, in the order of the text.
    #[must_use]
    pub fn values(&self) -> &[Value] {
        &self.register().value
    }

    /// Its results without values.
    #[must_use]
    pub fn unusable(&self) -> &[Unusable] {
        &self.register().unusable
    }

    /// The value with this id, if there is one.
    #[must_use]
    pub fn find(&self, id: &str) -> Option<&Value> {
        self.values().iter().find(|value| value.id() == id)
    }

    /// The value with this id. Ids are written whole in the code, where a test finds and looks up each.
    ///
    /// # Panics
    ///
    /// When there is no such value.
    #[must_use]
    pub fn value(&self, id: &'static str) -> &Value {
        self.find(id).unwrap_or_else(|| panic!("papers/{}.toml has no value {id:?}", self.name))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::{ALL, Read};
    use super::*;

    #[test]
    fn every_file_is_understood_and_its_ids_are_unique() {
        for paper in ALL {
            let ids: BTreeSet<&str> = paper.values().iter().map(Value::id).collect();
            assert_eq!(ids.len(), paper.values().len(), "{}", paper.name());
            assert!(!ids.is_empty() && !paper.unusable().is_empty(), "{}", paper.name());
            assert!(![paper.title(), paper.authors(), paper.published()].contains(&""), "{}", paper.name());
        }
    }

    #[test]
    fn every_value_from_a_plot_has_a_tolerance_and_the_readme_knows_whether_there_are_any() {
        let values = || ALL.into_iter().flat_map(Paper::values);
        let plots: Vec<&Value> = values().filter(|value| value.read() == Read::Plot).collect();
        for value in &plots {
            assert!(value.tolerance().is_some_and(|tolerance| tolerance > 0.0), "{}", value.id());
        }
        let says_none = include_str!("../../papers/README.md").contains("no value is from a plot now");
        assert_eq!(plots.is_empty(), says_none, "{} values from plots", plots.len());
    }

    #[test]
    fn a_field_that_nobody_knows_is_refused() {
        let written = "paper = { authors = \"a\", title = \"b\", published = \"c\", pages = 7 }\nvalue = []\nunusable = []";
        assert!(toml::from_str::<Register>(written).unwrap_err().to_string().contains("pages"));
    }
}
