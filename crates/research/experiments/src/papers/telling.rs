//! Sentences with papers' values.

use super::named;

/// A text with the papers' values in the place of `{paper/id}`, as in `{xbc/section-5.d/gain}`.
///
/// # Panics
///
/// If there is no such paper or value. A test checks every figure's remark.
#[must_use]
pub fn told(text: &str) -> String {
    let mut parts = text.split('{');
    let mut told = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once('}').unwrap_or((part, ""));
        let value = name.split_once('/').and_then(|(paper, id)| named(paper)?.find(id));
        let value = value.unwrap_or_else(|| panic!("no paper says {name:?}: {text}"));
        told.push_str(&value.to_string());
        told.push_str(rest);
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_in_their_places() {
        let text = "From {xbc/section-5.d/gain} with {xbc/section-5.d/flows} flows.";
        assert_eq!(told(text), "From 5 to 20% with 9 flows.");
        assert_eq!(told("Nothing."), "Nothing.");
    }

    #[test]
    #[should_panic(expected = "no paper says")]
    fn what_no_paper_says_is_not_told() {
        let _ = told("{xbc/nowhere/none}");
    }
}
