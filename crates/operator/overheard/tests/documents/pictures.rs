//! Each picture is drawn from its source as it is now, and a document shows it. `make pictures` draws them.

#![allow(clippy::unwrap_used)] // a test fails by panicking

use crate::support::documents::{DOCUMENTS, GUIDES, read, workspace};
use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

const FOLDER: &str = "docs/pictures";

/// The names of the files with this extension, without it.
fn names(extension: &str) -> BTreeSet<String> {
    let files = fs::read_dir(workspace().join(FOLDER)).unwrap();
    let paths = files.map(|file| file.unwrap().path());
    let of_extension = paths.filter(|path| path.extension().is_some_and(|it| it == extension));
    of_extension.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect()
}

/// The text of a label, or of a part of a picture, without marks of lines and entities.
fn plain(text: &str) -> String {
    let text = text.replace("&#45;", "-").replace("&#160;", " ").replace("&quot;", "\"");
    text.trim().to_owned()
}

/// Why a picture is not that of its source, if so.
fn differs(source: &str, hash: &str, picture: &str) -> Option<String> {
    if !picture.contains(&format!("<!-- source: {hash} -->")) {
        return Some("it was drawn from another source".to_owned());
    }
    let shown: BTreeSet<String> = picture
        .split("<text ")
        .skip(1)
        .map(|text| plain(text.split_once('>').unwrap().1.split('<').next().unwrap()))
        .collect();
    let labels = source.split("label=\"").skip(1).map(|label| label.split('"').next().unwrap());
    let lines = labels.flat_map(|label| label.split("\\n")).map(plain).filter(|line| !line.is_empty());
    let absent: Vec<String> = lines.filter(|line| !shown.contains(line)).collect();
    (!absent.is_empty()).then(|| format!("it does not show {absent:?}"))
}

#[test]
fn pictures_are_drawn_from_their_sources() {
    let (sources, pictures) = (names("dot"), names("svg"));
    assert_eq!(sources, pictures);
    assert!(sources.len() > 3, "{sources:?}");
    for name in sources {
        let source = format!("{FOLDER}/{name}.dot");
        let told = Command::new("sha256sum").arg(workspace().join(&source)).output().unwrap();
        let told = String::from_utf8(told.stdout).unwrap();
        let hash = told.split_whitespace().next().unwrap();
        let why = differs(&read(&source), hash, &read(&format!("{FOLDER}/{name}.svg")));
        assert_eq!(why, None, "{name}: draw it again by `make pictures`");
    }
}

#[test]
fn a_changed_source_and_a_changed_picture_are_noticed() {
    let source = "digraph { a [label=\"one\\ntwo\"] }";
    let picture = "<text x=\"1\">one</text><text x=\"1\">two</text></svg>\n<!-- source: 12ab -->\n";
    assert_eq!(differs(source, "12ab", picture), None);
    assert!(differs(source, "12ac", picture).is_some());
    assert!(differs(source, "12ab", &picture.replace("two", "too")).is_some());
}

#[test]
fn each_picture_is_shown_by_a_document() {
    let texts: Vec<String> = DOCUMENTS.into_iter().chain(GUIDES).map(read).collect();
    let is_shown = |name: &String| texts.iter().any(|text| text.contains(&format!("pictures/{name}.svg)")));
    let hidden: Vec<String> = names("svg").into_iter().filter(|name| !is_shown(name)).collect();
    assert!(hidden.is_empty(), "no document shows {hidden:?}");
}
