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
    let key = if key.is_empty() || key.starts_with('[') { String::new() } else { format!("{key}: ") };
    Mistake(format!("{place}: {key}{message}"))
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
    use super::nearest;

    #[test]
    fn a_misspelling_finds_the_key_that_was_meant_and_nonsense_finds_none() {
        let known = ["name", "public_key", "endpoint", "allowed_ips", "keepalive_seconds"];
        assert_eq!(nearest("allowed_ip", &known), Some("allowed_ips"));
        assert_eq!(nearest("AllowedIPs", &known), None);
        assert_eq!(nearest("keepalive", &known), Some("keepalive_seconds"));
        assert_eq!(nearest("colour", &known), None);
    }
}
