//! The files of the demo.

use anyhow::{Context, bail};
use lab::Content;
use std::fs;
use std::path::{Path, PathBuf};

/// The most files and bytes that are taken of a folder.
const MAX_FILES: usize = 32;
const MAX_BYTES: u64 = 32 << 20;
/// Files that a Debian machine has: a program, a list of packages, a licence, a table, a certificate store.
const USUAL: [&str; 6] = [
    "/bin/bash",
    "/var/lib/dpkg/status",
    "/usr/share/common-licenses/GPL-3",
    "/etc/services",
    "/etc/ssl/certs/ca-certificates.crt",
    "/usr/share/perl5/Debconf/DbDriver.pm",
];
/// Sufficient length of each usual file.
const USUAL_BYTES: u64 = 1_200_000;

/// The files of `folder`, smallest first, or the usual ones.
pub fn choose(folder: Option<&Path>) -> anyhow::Result<Vec<Content>> {
    let contents = match folder {
        Some(folder) => of_folder(folder)?,
        None => USUAL.iter().filter_map(|path| content(Path::new(path), USUAL_BYTES)).collect(),
    };
    if contents.is_empty() {
        bail!("there is nothing to fetch: name a folder with files by --content");
    }
    Ok(contents)
}

fn of_folder(folder: &Path) -> anyhow::Result<Vec<Content>> {
    let list = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut paths = list.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<PathBuf>>>()?;
    paths.sort();
    let mut contents: Vec<Content> =
        paths.iter().filter_map(|path| content(path, MAX_BYTES)).take(MAX_FILES).collect();
    let mut left = MAX_BYTES;
    contents.retain(|content| {
        let bytes = content.length_bytes.unwrap_or(0);
        let fits = bytes <= left;
        left -= if fits { bytes } else { 0 };
        fits
    });
    Ok(contents)
}

/// At most `limit` bytes of a file, under a name that needs no quoting in a URL; `None` if it is no file that
/// can be read, or empty.
fn content(path: &Path, limit: u64) -> Option<Content> {
    let file = fs::File::open(path).ok()?;
    let metadata = file.metadata().ok().filter(|metadata| metadata.is_file() && metadata.len() > 0)?;
    let plain =
        |letter: char| if letter.is_ascii_alphanumeric() || "-._".contains(letter) { letter } else { '_' };
    let name: String = path.file_name()?.to_string_lossy().chars().map(plain).collect();
    Some(Content {
        name,
        file: path.to_owned(),
        skip_bytes: 0,
        length_bytes: Some(metadata.len().min(limit)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_taken_without_what_cannot_be_fetched() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [("b c.txt", "text"), ("a", "text"), ("empty", "")] {
            fs::write(folder.path().join(name), text).unwrap();
        }
        fs::create_dir(folder.path().join("folder")).unwrap();
        let contents = choose(Some(folder.path())).unwrap();
        let names: Vec<_> = contents.iter().map(|content| content.name.as_str()).collect();
        assert_eq!(names, ["a", "b_c.txt"]);
        assert!(choose(Some(&folder.path().join("folder"))).is_err());
    }

    #[test]
    fn every_machine_has_some_of_the_usual_files() {
        assert!(choose(None).is_ok());
    }
}
