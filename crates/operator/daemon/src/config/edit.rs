//! Changes of the peers in a configuration's text. Comments, order and all other tables stay.

use super::key_file::Kind;
use super::{Mistake, mistake};
use serde::{Deserialize, Serialize};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, chown};
use std::path::{Path, PathBuf};
use toml_edit::{Array, ArrayOfTables, DocumentMut, Item, Table, TomlError, value};

/// The most bytes of a configuration that is changed.
const MAX_BYTES: usize = 4 << 20;

/// The `[[peer]]` table of a new peer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewPeer {
    /// Its name.
    pub name: String,
    /// Its public key.
    pub public_key: String,
    /// Its address or name, and its port.
    pub endpoint: Option<String>,
    /// The inner addresses behind it.
    pub allowed_ips: Vec<String>,
    /// The file with the key of the two nodes.
    pub preshared_key_file: Option<PathBuf>,
    /// The time before a keepalive, in seconds.
    pub keepalive_seconds: Option<u16>,
}

/// A change of the peers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    /// A new peer.
    Add(NewPeer),
    /// The peer with this name or public key goes.
    Remove(String),
}

impl Change {
    /// The text of the configuration at `path` after this change.
    ///
    /// # Errors
    ///
    /// If the text is no TOML, or has a peer of the new name, or none of the old one.
    pub fn apply(&self, path: &Path, text: &str) -> Result<String, Mistake> {
        let wrong = |what: String| Mistake::at(path, "[[peer]]", what);
        if text.len() > MAX_BYTES {
            return Err(wrong(format!("the file has more than {MAX_BYTES} bytes; change it by hand")));
        }
        toml::from_str::<toml::Table>(text).map_err(|error| mistake::from_toml(path, text, &error))?;
        let mut document: DocumentMut =
            text.parse().map_err(|why: TomlError| wrong(format!("{why}; change it by hand")))?;
        let peers = document.entry("peer").or_insert(Item::ArrayOfTables(ArrayOfTables::new()));
        let Some(peers) = peers.as_array_of_tables_mut() else {
            return Err(wrong("is a list in one value; write one table [[peer]] for each peer".to_owned()));
        };
        let text_of = |peer: &Table, key: &str| peer.get(key).and_then(Item::as_str).unwrap_or("").to_owned();
        match self {
            Change::Add(new) => {
                if peers.iter().any(|peer| text_of(peer, "name") == new.name) {
                    let what = format!(
                        "one is called {:?} already; remove it first, or choose another name",
                        new.name
                    );
                    return Err(wrong(what));
                }
                peers.push(new.table());
            }
            Change::Remove(wanted) => {
                let key = bare(wanted);
                let is_wanted = |peer: &Table| {
                    text_of(peer, "name") == *wanted || bare(&text_of(peer, "public_key")) == key
                };
                let Some(at) = peers.iter().position(is_wanted) else {
                    let names: Vec<String> = peers.iter().map(|peer| text_of(peer, "name")).collect();
                    let names = names.join(", ");
                    return Err(wrong(format!(
                        "none has the name or the public key {wanted:?}; there are {names}"
                    )));
                };
                peers.remove(at);
            }
        }
        Ok(document.to_string())
    }

    /// Changes the file at `path`, whose text after the change is `text`.
    ///
    /// # Errors
    ///
    /// If the system refuses. The file is then as before.
    pub fn write(path: &Path, text: &str) -> io::Result<()> {
        // A link stays a link.
        let file = fs::canonicalize(path)?;
        let before = fs::metadata(&file)?;
        let mut draft = file.clone().into_os_string();
        draft.push(".new");
        let mode = before.mode() & 0o777;
        let mut new = OpenOptions::new().write(true).create_new(true).mode(mode).open(&draft)?;
        let written = new
            .write_all(text.as_bytes())
            .and_then(|()| chown(&draft, Some(before.uid()), Some(before.gid())))
            .and_then(|()| new.sync_all())
            .and_then(|()| fs::rename(&draft, &file));
        written.inspect_err(|_| drop(fs::remove_file(&draft)))
    }
}

impl NewPeer {
    fn table(&self) -> Table {
        let mut table = Table::new();
        table.decor_mut().set_prefix("\n");
        table.insert("name", value(&self.name));
        table.insert("public_key", value(&self.public_key));
        if let Some(endpoint) = &self.endpoint {
            table.insert("endpoint", value(endpoint));
        }
        table.insert("allowed_ips", value(self.allowed_ips.iter().collect::<Array>()));
        if let Some(file) = &self.preshared_key_file {
            table.insert("preshared_key_file", value(file.to_string_lossy().into_owned()));
        }
        if let Some(seconds) = self.keepalive_seconds {
            table.insert("keepalive_seconds", value(i64::from(seconds)));
        }
        table
    }
}

/// A public key without the beginning of its file's line.
fn bare(key: &str) -> &str {
    key.trim().strip_prefix(Kind::Public.prefix()).unwrap_or(key.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "# The gateway on the roof.\n[node]\nrole = \"gateway\" # it waits\n\n# Ada's\n[[peer]]\nname = \"ada\"\n\
                        public_key = \"overheard-public-key:AAAA\"\nallowed_ips = [\"10.9.0.2/32\"] # one\n\n[[peer]]\nname = \"bob\"\npublic_key = \"BBBB\"\n\n\
                        [reduce]\n  store_mib = 8 # small\n";

    fn new() -> NewPeer {
        NewPeer {
            name: "cleo".to_owned(),
            public_key: "CCCC".to_owned(),
            allowed_ips: vec!["10.9.0.4/32".to_owned(), "10.1.0.0/16".to_owned()],
            ..NewPeer::default()
        }
    }

    fn applied(change: &Change, text: &str) -> Result<String, String> {
        change.apply(Path::new("a.toml"), text).map_err(|why| why.to_string())
    }

    #[test]
    fn a_peer_comes_behind_the_others_and_goes_again_and_nothing_else_changes() {
        let table = "\n[[peer]]\nname = \"cleo\"\npublic_key = \"CCCC\"\nallowed_ips = [\"10.9.0.4/32\", \"10.1.0.0/16\"]\n";
        let with = applied(&Change::Add(new()), FILE).unwrap();
        assert_eq!(with, FILE.replace("\n[reduce]", &format!("{table}\n[reduce]")));
        assert_eq!(applied(&Change::Remove("cleo".to_owned()), &with).unwrap(), FILE);
        assert_eq!(applied(&Change::Remove("CCCC".to_owned()), &with).unwrap(), FILE);
        let without = applied(&Change::Remove("AAAA".to_owned()), FILE).unwrap();
        assert!(!without.contains("ada") && without.starts_with("# The gateway on the roof.\n"), "{without}");
        assert!(without.ends_with("\n[reduce]\n  store_mib = 8 # small\n"), "{without}");
        let all = NewPeer {
            endpoint: Some("192.0.2.1:4780".to_owned()),
            preshared_key_file: Some("pair.key".into()),
            keepalive_seconds: Some(5),
            ..new()
        };
        let with: toml::Table = applied(&Change::Add(all), "[node]\n").unwrap().parse().unwrap();
        let peer = with["peer"][0].as_table().unwrap();
        assert_eq!(peer.keys().count(), 6, "{peer}");
        assert_eq!(peer["keepalive_seconds"].as_integer(), Some(5));
    }

    #[test]
    fn what_cannot_be_changed_is_said() {
        let twice = Change::Add(NewPeer { name: "bob".to_owned(), ..new() });
        let said = "a.toml: [[peer]]: one is called \"bob\" already; remove it first, or choose another name";
        assert_eq!(applied(&twice, FILE).unwrap_err(), said);
        let said = "a.toml: [[peer]]: none has the name or the public key \"dora\"; there are ada, bob";
        assert_eq!(applied(&Change::Remove("dora".to_owned()), FILE).unwrap_err(), said);
        assert!(applied(&Change::Add(new()), "peer = []").unwrap_err().contains("write one table [[peer]]"));
        let said = applied(&Change::Add(new()), "nonsense").unwrap_err();
        assert!(said.starts_with("a.toml:1: ") && said.lines().count() == 1, "{said}");
    }

    #[test]
    fn a_written_file_keeps_its_mode_and_a_link_stays_one() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::TempDir::new().unwrap();
        let (file, link) = (folder.path().join("real.toml"), folder.path().join("link.toml"));
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        symlink(&file, &link).unwrap();
        Change::write(&link, "new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
