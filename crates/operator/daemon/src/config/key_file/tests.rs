//! Files of each kind, with and without their kind, in place of each other.

use super::*;
use std::fs;

/// Keys that no test compares with others.
struct Keys {
    private: PrivateKey,
    network: NetworkKey,
    pair: PresharedKey,
}

impl Keys {
    fn new() -> Self {
        let key = "dwdtCnMYpX08FsFyUbJmRd9ML4frwJkqsXf7pR25LCo=";
        let other = "XasIfmJKikt54X+Lg4AO5m87sSkmGLb9HC+LJ/+I4Os=";
        let third = "gwdtCnMYpX08FsFyUbJmRd9ML4frwJkqsXf7pR25LCo=";
        Keys { private: key.parse().unwrap(), network: other.parse().unwrap(), pair: third.parse().unwrap() }
    }

    fn lines(&self) -> [(Kind, String); 4] {
        [
            (Kind::Private, self.private.line().to_string()),
            (Kind::Public, self.private.public().line().to_string()),
            (Kind::Network, self.network.line().to_string()),
            (Kind::Pair, self.pair.line().to_string()),
        ]
    }
}

/// Whether the file can be read as each kind.
fn readings(file: &Path) -> [(Kind, Option<String>); 4] {
    fn why<K: Key>(file: &Path) -> (Kind, Option<String>) {
        (K::KIND, read_key::<K>(file).err().map(|why| why.to_string()))
    }
    [why::<PrivateKey>(file), why::<PublicKey>(file), why::<NetworkKey>(file), why::<PresharedKey>(file)]
}

#[test]
fn a_line_with_its_kind_is_read_as_that_kind_and_as_no_other() {
    let folder = tempfile::TempDir::new().unwrap();
    let file = folder.path().join("key");
    for (kind, line) in Keys::new().lines() {
        fs::write(&file, format!("{line}\n")).unwrap();
        for (wanted, why) in readings(&file) {
            match why {
                None => assert_eq!(wanted, kind),
                Some(why) => {
                    assert_ne!(wanted, kind);
                    let expected = format!("holds {kind}, and {wanted} belongs here; {}", wanted.mend());
                    assert_eq!(why, format!("{} {expected}", file.display()));
                }
            }
        }
    }
}

#[test]
fn a_key_alone_is_read_unless_its_name_or_its_neighbour_says_another_kind() {
    let keys = Keys::new();
    let folder = tempfile::TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("mine"), keys.private.to_string()).unwrap();
    assert!(readings(&at("mine")).iter().all(|(_, why)| why.is_none()), "nothing says its kind");
    // Names.
    fs::write(at("network.key"), keys.network.to_string()).unwrap();
    assert_eq!(read_key::<NetworkKey>(&at("network.key")).unwrap(), keys.network);
    let said = read_key::<PrivateKey>(&at("network.key")).unwrap_err().to_string();
    assert!(said.contains("has the name of a file with a network's key"), "{said}");
    // Pairs: whatever they are called.
    fs::write(at("public.key"), keys.private.public().to_string()).unwrap();
    let said = read_key::<NetworkKey>(&at("mine")).unwrap_err().to_string();
    assert!(said.contains("holds a private key, and a network's key belongs here"), "{said}");
    assert_eq!(read_key::<PrivateKey>(&at("mine")).unwrap().to_string(), keys.private.to_string());
    fs::write(at("private.key"), keys.private.to_string()).unwrap();
    fs::copy(at("public.key"), at("theirs")).unwrap();
    for name in ["public.key", "theirs"] {
        let said = read_key::<PrivateKey>(&at(name)).unwrap_err().to_string();
        assert!(said.contains("holds a public key, and a private key belongs here"), "{said}");
    }
    assert_eq!(read_key::<PrivateKey>(&at("private.key")).unwrap().to_string(), keys.private.to_string());
}

#[test]
fn the_refusal_shows_no_secret() {
    let keys = Keys::new();
    let said = PublicKey::from_line(&keys.private.line()).unwrap_err().to_string();
    assert_eq!(said, "holds a private key, and a public key belongs here; write the other node's public key");
}
