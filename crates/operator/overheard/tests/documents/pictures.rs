//! Each picture is drawn from its source as it is now, and a document shows it. `make pictures` draws them.
//! `make recording` records the terminal of the demonstration.

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

/// The lines of a drawn terminal.
fn recorded_lines(picture: &str) -> BTreeSet<String> {
    let texts = picture.split("<text ").skip(1).map(|text| text.split_once('>').unwrap().1);
    texts.map(|text| plain(text.split('<').next().unwrap())).collect()
}

/// Why a picture is not that of its source, if so.
fn differs(source: &str, hash: &str, picture: &str) -> Option<String> {
    if !picture.contains(&format!("<!-- source: {hash} -->")) {
        return Some("it was drawn from another source".to_owned());
    }
    let shown = recorded_lines(picture);
    let labels = source.split("label=\"").skip(1).map(|label| label.split('"').next().unwrap());
    let lines = labels.flat_map(|label| label.split("\\n")).map(plain).filter(|line| !line.is_empty());
    let absent: Vec<String> = lines.filter(|line| !shown.contains(line)).collect();
    (!absent.is_empty()).then(|| format!("it does not show {absent:?}"))
}

#[test]
fn pictures_are_drawn_from_their_sources() {
    let (drawings, recordings) = (names("dot"), names("cast"));
    assert_eq!(&drawings | &recordings, names("svg"));
    assert!(drawings.len() > 3, "{drawings:?}");
    let drawings = drawings.into_iter().map(|name| (name, "dot"));
    for (name, extension) in drawings.chain(recordings.into_iter().map(|name| (name, "cast"))) {
        let source = format!("{FOLDER}/{name}.{extension}");
        let told = Command::new("sha256sum").arg(workspace().join(&source)).output().unwrap();
        let told = String::from_utf8(told.stdout).unwrap();
        let hash = told.split_whitespace().next().unwrap();
        let why = differs(&read(&source), hash, &read(&format!("{FOLDER}/{name}.svg")));
        assert_eq!(why, None, "{name}: draw it again by `make pictures`");
    }
}

#[test]
fn the_readme_shows_lines_of_the_recorded_demonstration() {
    let (readme, recording) = (read("README.md"), read("docs/pictures/demo.svg"));
    let shown: BTreeSet<String> = recorded_lines(&recording);
    let (_, output) = readme.split_once("```console\n$ make demo\n").expect("README shows the demonstration");
    let output = output.split("```").next().unwrap();
    let absent: Vec<&str> = output
        .lines()
        .filter(|line| *line != "…" && !line.is_empty() && !shown.contains(line.trim()))
        .collect();
    assert!(absent.is_empty(), "no line of docs/pictures/demo.svg: {absent:#?}");
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
