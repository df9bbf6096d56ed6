//! Renamed keys. The old name is an alias for one release, and a log line gives the new one.

use toml::{Table, Value};

/// A key under its former name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the key {old} is called {new} now; write the new name, since the old one goes with the next release"
)]
pub struct OldKey {
    /// The former name with its table.
    old: &'static str,
    /// The current name.
    new: &'static str,
}

/// Each former name: the table, if any, the key, and both written names.
const RENAMED: [(Option<&str>, &str, OldKey); 3] = [
    (None, "recover", OldKey { old: "recover", new: "snoop" }),
    (Some("overhear"), "code", OldKey { old: "[overhear] code", new: "[overhear] network_coding" }),
    (
        Some("peers"),
        "network_key_file",
        OldKey { old: "[peers] network_key_file", new: "[peers] cache_key_file" },
    ),
];

/// The former names in a configuration.
pub fn old_keys(text: &str) -> Vec<OldKey> {
    let Ok(file) = text.parse::<Table>() else { return Vec::new() };
    let is_used = |(table, key, _): &(Option<&str>, &str, OldKey)| match table {
        None => file.contains_key(*key),
        Some(table) => file.get(*table).and_then(Value::as_table).is_some_and(|it| it.contains_key(*key)),
    };
    RENAMED.into_iter().filter(is_used).map(|(.., key)| key).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::file::{File, Switched};

    const NODE: &str = "[node]\nrole = \"gateway\"\nprivate_key_file = \"a\"\nnetwork_key_file = \"b\"\n\
                        [tunnel]\ninterface = \"oh0\"\naddresses = []\n";

    #[test]
    fn former_names_mean_what_the_new_ones_do_and_are_told() {
        let read = |text: &str| toml::from_str::<File>(text).unwrap();
        let (old, new) = (format!("recover = true\n{NODE}"), format!("snoop = true\n{NODE}"));
        assert!(matches!(read(&old).snoop, Some(Switched::Switch(true))));
        assert!(matches!(read(&new).snoop, Some(Switched::Switch(true))));
        assert_eq!(old_keys(&old).iter().map(|key| key.new).collect::<Vec<_>>(), ["snoop"]);
        let (old, new) = (
            format!("{NODE}[overhear]\ncode = false\n"),
            format!("{NODE}[overhear]\nnetwork_coding = false\n"),
        );
        assert!([&old, &new].iter().all(|text| !read(text).overhear.unwrap().network_coding));
        assert_eq!(old_keys(&old)[0].to_string().split_whitespace().nth(2), Some("[overhear]"));
        assert!(old_keys(&new).is_empty() && old_keys(NODE).is_empty());
    }
}
