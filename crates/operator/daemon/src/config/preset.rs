//! Presets: defaults by the kind of the link. A key that the file sets wins over its preset.

use super::Mistake;
use super::file::{File, Kind, Role, Switched};
use std::fmt;
use std::path::Path;
use std::str::FromStr;

const KINDS: [(Kind, &str); 4] =
    [(Kind::Satellite, "satellite"), (Kind::Lte, "lte"), (Kind::Mesh, "mesh"), (Kind::Wifi, "wifi")];

impl Kind {
    /// The default of `streams`. docs/features/presets.md has the figures.
    fn has_streams(self) -> bool {
        match self {
            // TCP needs many round trips to fill a long path.
            Kind::Satellite => true,
            // At 100 ms, streams are faster at each loss.
            Kind::Lte => true,
            // At 20 ms, streams are faster where the air loses packets, and send fewer bytes.
            Kind::Wifi => true,
            // Stations that overhear, relays and several gateways work on packets alone.
            Kind::Mesh => false,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        KINDS.iter().filter(|(kind, _)| kind == self).try_for_each(|(_, name)| f.write_str(name))
    }
}

impl FromStr for Kind {
    type Err = Mistake;

    fn from_str(text: &str) -> Result<Self, Mistake> {
        let known = KINDS.iter().find(|(_, name)| *name == text).map(|(kind, _)| *kind);
        known.ok_or_else(|| {
            let names = KINDS.map(|(_, name)| name).join(", ");
            Mistake::new(format!("{text:?} is no kind of link; write one of {names}"))
        })
    }
}

/// The preset of a node, for the log. It displays as the place that names it, and the keys that it sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preset {
    of_command_line: Option<Kind>,
    sentence: String,
}

impl Preset {
    /// Sets the keys of its preset that `file` leaves open. `of_command_line` is the kind of `--preset`.
    pub fn apply(
        path: &Path,
        file: &mut File,
        of_command_line: Option<Kind>,
    ) -> Result<Option<Self>, Mistake> {
        let (kind, place) = match (of_command_line, file.link.kind) {
            (None, None) => return Ok(None),
            (Some(told), Some(written)) if told != written => {
                let what = format!(
                    "is \"{written}\", and the command line has --preset {told}; take one of the two out"
                );
                return Err(Mistake::at(path, "[link] kind", what));
            }
            (_, Some(written)) => (written, format!("[link] kind = \"{written}\"")),
            (Some(told), None) => (told, format!("--preset {told}")),
        };
        let sentence = format!("{place} {}", set_streams(kind, file));
        Ok(Some(Preset { of_command_line, sentence }))
    }

    /// The kind that the command line has.
    #[must_use]
    pub fn of_command_line(&self) -> Option<Kind> {
        self.of_command_line
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

/// Sets `streams` where the file leaves it open. Returns the effect in words.
fn set_streams(kind: Kind, file: &mut File) -> String {
    if file.streams.is_some() {
        return "sets nothing: the file sets streams".to_owned();
    }
    match against_streams(file).filter(|_| kind.has_streams()) {
        Some(key) => format!("sets nothing: streams stay off beside {key}"),
        None => {
            file.streams = Some(Switched::Switch(kind.has_streams()));
            format!("sets: streams = {}", kind.has_streams())
        }
    }
}

/// The first key of `file` beside which no connection becomes a stream.
fn against_streams(file: &File) -> Option<&'static str> {
    let splits = !matches!(file.split, None | Some(Switched::Switch(false)));
    let keys = [
        (file.overhear.is_some(), "[overhear]"),
        (file.node.role == Role::Relay, "[node] role = \"relay\""),
        (file.peer.iter().any(|peer| peer.relays), "[[peer]] relays = true"),
        (!file.gateway.is_empty(), "[[gateway]]"),
        (splits, "[split]"),
    ];
    keys.into_iter().find(|(is_there, _)| *is_there).map(|(_, key)| key)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODE: &str = "[node]\nrole = \"station\"\nprivate_key_file = \"a\"\nnetwork_key_file = \"b\"\n\
                        [tunnel]\ninterface = \"oh0\"\naddresses = [\"10.9.0.2/24\"]\n";

    /// The value of `streams` and the sentence of the log, for a file with these texts around the node's.
    fn applied(top: &str, tables: &str, told: Option<Kind>) -> (Option<bool>, Option<String>) {
        let mut file = toml::from_str(&format!("{top}\n{NODE}\n{tables}\n")).unwrap();
        let preset = Preset::apply(Path::new("a.toml"), &mut file, told).unwrap();
        let is_on = file.streams.map(|streams| !matches!(streams, Switched::Switch(false)));
        (is_on, preset.map(|preset| preset.to_string()))
    }

    fn linked(kind: &str) -> String {
        format!("[link]\nkind = \"{kind}\"")
    }

    #[test]
    fn each_kind_sets_streams_and_says_so() {
        for (kind, name) in KINDS {
            let on = name != "mesh";
            let from_file = format!("[link] kind = \"{name}\" sets: streams = {on}");
            assert_eq!(applied("", &linked(name), None), (Some(on), Some(from_file.clone())));
            let from_line = format!("--preset {name} sets: streams = {on}");
            assert_eq!(applied("", "", Some(kind)), (Some(on), Some(from_line)));
            assert_eq!(applied("", &linked(name), Some(kind)), (Some(on), Some(from_file)));
        }
        assert_eq!(applied("", "", None), (None, None));
    }

    #[test]
    fn a_key_of_the_file_wins() {
        let said = |name: &str| Some(format!("[link] kind = \"{name}\" sets nothing: the file sets streams"));
        for (_, name) in KINDS {
            assert_eq!(applied("streams = false", &linked(name), None), (Some(false), said(name)));
            assert_eq!(applied("streams = true", &linked(name), None), (Some(true), said(name)));
            let table = format!("{}\n[streams]\nconnections = 9", linked(name));
            assert_eq!(applied("", &table, None), (Some(true), said(name)));
        }
    }

    #[test]
    fn streams_stay_off_where_none_could_be() {
        let peer = "[[peer]]\nname = \"b\"\npublic_key = \"c\"\nrelays = true";
        let gateway = "[[gateway]]\nname = \"b\"\npublic_key = \"c\"";
        for (tables, key) in [
            ("[overhear]", "[overhear]"),
            (peer, "[[peer]] relays = true"),
            (gateway, "[[gateway]]"),
            ("[split]", "[split]"),
        ] {
            for (kind, name) in KINDS.into_iter().filter(|(kind, _)| kind.has_streams()) {
                let said = format!("--preset {name} sets nothing: streams stay off beside {key}");
                assert_eq!(applied("", tables, Some(kind)), (None, Some(said)));
            }
            let said = "--preset mesh sets: streams = false".to_owned();
            assert_eq!(applied("", tables, Some(Kind::Mesh)), (Some(false), Some(said)));
        }
        assert_eq!(applied("split = false", "", Some(Kind::Lte)).0, Some(true));
        let mut file: File = toml::from_str(&NODE.replace("station", "relay")).unwrap();
        let preset = Preset::apply(Path::new("a.toml"), &mut file, Some(Kind::Wifi)).unwrap().unwrap();
        let said = "--preset wifi sets nothing: streams stay off beside [node] role = \"relay\"";
        assert_eq!((file.streams.is_some(), preset.to_string()), (false, said.to_owned()));
    }

    #[test]
    fn two_kinds_are_one_mistake_and_names_are_those_of_the_file() {
        let mut file: File = toml::from_str(&format!("{NODE}\n{}", linked("mesh"))).unwrap();
        let told = Preset::apply(Path::new("a.toml"), &mut file, Some(Kind::Satellite)).unwrap_err();
        let expected = "a.toml: [link] kind: is \"mesh\", and the command line has --preset satellite; take one of the two out";
        assert_eq!(told.to_string(), expected);
        for (kind, name) in KINDS {
            assert_eq!((name.parse(), kind.to_string()), (Ok(kind), name.to_owned()));
        }
        let unknown = "cable".parse::<Kind>().unwrap_err().to_string();
        assert_eq!(unknown, "\"cable\" is no kind of link; write one of satellite, lte, mesh, wifi");
    }
}
