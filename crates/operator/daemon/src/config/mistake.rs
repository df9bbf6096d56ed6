//! A mistake in the user's input: one sentence with the file, the key and the remedy.

use std::path::Path;

/// A mistake of the user. The program ends with exit code 2 and has started nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Mistake(String);

impl Mistake {
    /// A mistake with this sentence.
    pub fn new(sentence: impl Into<String>) -> Self {
        Mistake(sentence.into())
    }

    /// A mistake in `file` at `key`.
    pub fn at(file: &Path, key: &str, sentence: impl std::fmt::Display) -> Self {
        Mistake(format!("{}: {key}: {sentence}", file.display()))
    }
}

/// Rephrases an error of the TOML reader: line, table, and the probably intended key.
pub fn from_toml(file: &Path, text: &str, error: &toml::de::Error) -> Mistake {
    let before = error.span().and_then(|span| text.get(..span.start));
    let mut place = file.display().to_string();
    if let Some(before) = before {
        place = format!("{place}:{}", before.matches('\n').count() + 1);
    }
    let message = error.message().trim_end().replace('\n', ", ");
    let mut quoted = message.split('`').skip(1).step_by(2);
    if let Some(rest) = message.strip_prefix("unknown field `")
        && let Some(unknown) = rest.split('`').next()
    {
        quoted.next();
        let known: Vec<&str> = quoted.collect();
        // The name of a table is in no table.
        let is_header =
            before.and_then(|before| before.rsplit('\n').next()).is_some_and(|line| line.starts_with('['));
        let table = before.filter(|_| !is_header).and_then(table_of);
        let table = table.map_or_else(String::new, |table| format!(" in {table}"));
        let mend = match nearest(unknown, &known) {
            Some(meant) => format!("did you mean {meant:?}?"),
            None => format!("there are {}", known.join(", ")),
        };
        return Mistake(format!("{place}: unknown key {unknown:?}{table}; {mend}"));
    }
    if let Some(missing) = message.strip_prefix("missing field `") {
        let missing = missing.trim_end_matches('`');
        let table = table_at(text, error.span()).map_or_else(String::new, |table| format!(" in {table}"));
        return Mistake(format!("{place}: {missing:?} is missing{table}; add it"));
    }
    // The line's own key is the subject of a type error.
    let line_start = before.map_or(0, |before| before.rfind('\n').map_or(0, |at| at + 1));
    let key = text.get(line_start..).and_then(|line| line.split(['=', '\n']).next()).map_or("", str::trim);
    let key = if key.is_empty() || key.starts_with('[') { "" } else { key };
    let wants_text = message.ends_with("expected a string");
    if let Some(bare) = error.span().and_then(|span| bare_value(text, span.start))
        && (wants_text || is_no_value(bare))
    {
        let key = if key.is_empty() { String::new() } else { format!("{key}: ") };
        return Mistake(format!("{place}: {key}{bare} stands without quotes; put it into quotes: {bare:?}"));
    }
    let key = if key.is_empty() { String::new() } else { format!("{key}: ") };
    Mistake(format!("{place}: {key}{message}"))
}

/// The value without quotes around byte `at`: alone behind `=`, or one of a list.
fn bare_value(text: &str, at: usize) -> Option<&str> {
    let line_start = text.get(..at)?.rfind('\n').map_or(0, |end| end + 1);
    let line = text.get(line_start..)?.lines().next()?;
    let mut value_start = line.find('=')? + 1;
    // An error behind the value is of the value before it.
    let within = line.get(..(at - line_start).min(line.len()))?;
    value_start = within.rfind(['[', ',']).map_or(value_start, |before| value_start.max(before + 1));
    let value = line.get(value_start..)?;
    let is_list = line.get(..value_start)?.contains('[');
    let end = if is_list { value.find(['#', ',', ']']) } else { value.find('#') };
    let value = value.get(..end.unwrap_or(value.len()))?.trim();
    let is_bare = !value.is_empty() && !value.contains(['"', '\'', '[', ']', '{', '}', '=']);
    is_bare.then_some(value)
}

/// Whether TOML knows no value of this form, so that text was meant.
fn is_no_value(bare: &str) -> bool {
    toml::from_str::<toml::Table>(&format!("value = {bare}")).is_err()
}

/// The header of the table at the end of `text`.
fn table_of(text: &str) -> Option<&str> {
    text.lines().rev().find_map(header)
}

/// The header of the table that begins at `span` or contains it.
fn table_at(text: &str, span: Option<std::ops::Range<usize>>) -> Option<&str> {
    let start = span?.start;
    text.get(start..)?.lines().next().and_then(header).or_else(|| table_of(text.get(..start)?))
}

/// The header of a table in this line, without a trailing comment.
fn header(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let end = line.rfind(']').filter(|_| line.starts_with('['))?;
    line.get(..=end)
}

/// The member of `known` that `unknown` is probably a misspelling of.
pub fn nearest<'a>(unknown: &str, known: &[&'a str]) -> Option<&'a str> {
    let close = known.iter().map(|known| (strsim::jaro_winkler(unknown, known), *known));
    close.filter(|(likeness, _)| *likeness > 0.8).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code)] // only the errors are read
    struct Names {
        name: String,
        #[serde(default)]
        list: Vec<String>,
        #[serde(default)]
        on: bool,
    }

    #[test]
    fn a_misspelling_finds_the_key_that_was_meant_and_nonsense_finds_none() {
        let known = ["name", "public_key", "endpoint", "allowed_ips", "keepalive_seconds"];
        assert_eq!(nearest("allowed_ip", &known), Some("allowed_ips"));
        assert_eq!(nearest("AllowedIPs", &known), None);
        assert_eq!(nearest("keepalive", &known), Some("keepalive_seconds"));
        assert_eq!(nearest("colour", &known), None);
    }

    #[test]
    fn text_without_quotes_is_told_to_take_quotes() {
        let told = |text: &str| {
            let error = toml::from_str::<Names>(text).unwrap_err();
            from_toml(Path::new("a.toml"), text, &error).to_string()
        };
        for bare in ["third", "10.9.0.1/24", "192.0.2.1:4780", "keys/private.key", "/run/a.sock", "3"] {
            let expected =
                format!("a.toml:2: name: {bare} stands without quotes; put it into quotes: {bare:?}");
            assert_eq!(told(&format!("\nname = {bare} # a name\n")), expected);
        }
        for list in ["[10.9.0.1/24]", "[\"a\", 10.9.0.1/24]", "[10.9.0.1/24, \"a\"]"] {
            let expected =
                "a.toml:2: list: 10.9.0.1/24 stands without quotes; put it into quotes: \"10.9.0.1/24\"";
            assert_eq!(told(&format!("name = \"a\"\nlist = {list}\n")), expected);
        }
        for other in [
            "name = \"third",
            "name = ",
            "name = \"a\"\non = 3",
            "name = \"a\"\nlist = [\"b\" \"c\"]",
            "name = [\"a\"]",
        ] {
            assert!(!told(other).contains("quotes:"), "{}", told(other));
        }
    }
}
