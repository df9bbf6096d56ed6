//! Revoked keys: a file that outlives the node, with one public key a line.

use node::PublicKey;
use rustix::fs::{Mode, OFlags};
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The most keys in a file.
const MAX_KEYS: usize = 4096;
/// The longest file.
const MAX_BYTES: u64 = 1 << 20;

/// The file of one node.
#[derive(Debug, Clone)]
pub struct Revocations {
    file: PathBuf,
}

/// Reason why the file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    /// The system refuses.
    #[error("cannot read {}: {why}; let this user read it, or take it away", .file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// The system's error.
        why: io::Error,
    },
    /// A line is not a key.
    #[error("line {line} of {} is no public key; write one a line, or take it out", .file.display())]
    NotAKey {
        /// The file.
        file: PathBuf,
        /// The line's number, from 1.
        line: usize,
    },
    /// The file is too long.
    #[error("{} holds more than {MAX_KEYS} keys; take out those of nodes that are no peers any more", .0.display())]
    TooMany(PathBuf),
}

impl Revocations {
    /// Revocations in `file`, which may be absent.
    #[must_use]
    pub fn at(file: PathBuf) -> Self {
        Revocations { file }
    }

    /// The file.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The keys in the file. The first word of each line counts; text behind a `#` is a comment.
    ///
    /// # Errors
    ///
    /// If the file cannot be read completely: a damaged line must not restore a revoked key.
    pub fn read(&self) -> Result<BTreeSet<PublicKey>, Unusable> {
        let file = || self.file.clone();
        let text = self.text()?;
        let keys = text.lines().enumerate().filter_map(|(at, line)| {
            let key = line.split('#').next().unwrap_or_default().trim();
            (!key.is_empty())
                .then(|| key.parse().map_err(|_| Unusable::NotAKey { file: file(), line: at + 1 }))
        });
        let keys: BTreeSet<PublicKey> = keys.collect::<Result<_, _>>()?;
        if keys.len() > MAX_KEYS { Err(Unusable::TooMany(file())) } else { Ok(keys) }
    }

    fn text(&self) -> Result<String, Unusable> {
        let mut text = String::new();
        let read = File::open(&self.file).and_then(|file| file.take(MAX_BYTES + 1).read_to_string(&mut text));
        match read {
            Ok(bytes) if bytes as u64 > MAX_BYTES => Err(Unusable::TooMany(self.file.clone())),
            Err(why) if why.kind() != ErrorKind::NotFound => {
                Err(Unusable::Unreadable { file: self.file.clone(), why })
            }
            _ => Ok(text),
        }
    }

    /// Adds the key of a peer. The file is replaced atomically: even after a power cut it is either the new
    /// or the old one.
    ///
    /// # Errors
    ///
    /// A fault of the file, or the system's error while writing.
    pub fn add(&self, key: &PublicKey, name: &str) -> anyhow::Result<()> {
        let keys = self.read()?;
        if keys.contains(key) {
            return Ok(());
        }
        if keys.len() == MAX_KEYS {
            return Err(Unusable::TooMany(self.file.clone()).into());
        }
        let mut text = self.text()?;
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        // A name is one line here, whatever it contains.
        let name: String = name.chars().filter(|letter| !letter.is_control()).collect();
        text.push_str(&format!("{key} # {name}\n"));
        self.replace(&text).map_err(|why| anyhow::anyhow!("cannot write {}: {why}", self.file.display()))
    }

    fn replace(&self, text: &str) -> io::Result<()> {
        let folder = self.file.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        let mut draft = self.file.clone().into_os_string();
        draft.push(".new");
        let mut new = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
        new.write_all(text.as_bytes())?;
        new.sync_all()?;
        fs::rename(&draft, &self.file)?;
        let folder =
            rustix::fs::open(folder, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(rustix::fs::fsync(folder)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use node::PrivateKey;
    use tempfile::TempDir;

    fn key(seed: u8) -> PublicKey {
        PublicKey::from_bytes([seed; 32])
    }

    #[test]
    fn what_is_added_is_read_again_once_each_and_lines_of_others_stay() {
        let folder = TempDir::new().unwrap();
        let revocations = Revocations::at(folder.path().join("oh0.revoked"));
        assert!(revocations.read().unwrap().is_empty());
        fs::write(revocations.file(), format!("# stolen in May\n\n{}", key(1))).unwrap();
        for seed in [2, 3, 2] {
            revocations.add(&key(seed), "a station\nof two lines").unwrap();
        }
        assert_eq!(revocations.read().unwrap(), [key(1), key(2), key(3)].into());
        let text = fs::read_to_string(revocations.file()).unwrap();
        assert!(text.starts_with("# stolen in May\n") && text.lines().count() == 5, "{text}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left");
    }

    #[test]
    fn a_file_that_cannot_be_taken_as_a_whole_is_not_taken_at_all() {
        let folder = TempDir::new().unwrap();
        let revocations = Revocations::at(folder.path().join("revoked"));
        fs::write(revocations.file(), format!("{}\nnonsense\n", key(1))).unwrap();
        let why = revocations.read().unwrap_err().to_string();
        assert!(why.starts_with("line 2 of ") && why.ends_with("write one a line, or take it out"), "{why}");
        assert!(revocations.add(&key(2), "x").is_err());
    }

    #[test]
    fn the_file_is_bounded() {
        let folder = TempDir::new().unwrap();
        let revocations = Revocations::at(folder.path().join("revoked"));
        let rng = &mut rand::rng();
        let mut text = String::new();
        for _ in 0..MAX_KEYS {
            text.push_str(&format!("{}\n", PrivateKey::generate(rng).public()));
        }
        fs::write(revocations.file(), &text).unwrap();
        assert_eq!(revocations.read().unwrap().len(), MAX_KEYS);
        assert!(revocations.add(&key(1), "one too many").is_err());
        fs::write(revocations.file(), "#".repeat(2 << 20)).unwrap();
        assert!(matches!(revocations.read(), Err(Unusable::TooMany(_))));
    }
}
