//! The sources' references to papers: existing ids, and no numbers of their own.

use std::fs;
use std::path::{Path, PathBuf};

use super::{ALL, named};

/// Prefixes of ids, and the end of the first part.
const PLACES: [&str; 4] = ["abstract/", "section-", "table-", "figure-"];
/// Calls that take nothing but what a paper states, or what its formula gives.
const CALLS: [&str; 2] = [".paper(", ".formula("];

/// The Rust files of the crates that may know papers.
fn files() -> Vec<PathBuf> {
    let research = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for name in ["experiments", "overheard-lab", "published"] {
        collect(&research.join(name).join("src"), &mut files);
    }
    files.retain(|file| !file.ends_with("papers/sources.rs"));
    files
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
}

/// The literals that have the form of an id: a place, a stroke, and no space.
fn ids(source: &str) -> impl Iterator<Item = &str> {
    source.split('"').filter(|literal| {
        let is_id = PLACES.iter().any(|place| literal.starts_with(place)) && literal.contains('/');
        is_id && !literal.contains(char::is_whitespace)
    })
}

/// The arguments of each call, of any form.
fn arguments<'a>(source: &'a str, call: &'a str) -> impl Iterator<Item = &'a str> {
    source.match_indices(call).map(move |(at, _)| {
        let rest = &source[at + call.len()..];
        let mut depth = 1;
        let end = rest.find(|letter| {
            depth += i32::from(letter == '(') - i32::from(letter == ')');
            depth == 0
        });
        &rest[..end.unwrap_or(rest.len())]
    })
}

/// Whether code, apart from its strings and its names, has a number.
fn has_number(code: &str) -> bool {
    let outside: String = code.split('"').step_by(2).collect::<Vec<_>>().join(" ");
    let words = outside.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    words.into_iter().any(|word| word.starts_with(|letter: char| letter.is_ascii_digit()))
}

#[test]
fn every_id_in_the_sources_is_in_the_register_of_a_paper_that_its_file_names() {
    let mut count = 0;
    for file in files() {
        let source = fs::read_to_string(&file).unwrap();
        let constant = |paper: &super::Paper| paper.name().replace('-', "_").to_uppercase();
        let of_file: Vec<_> = ALL
            .into_iter()
            .filter(|paper| source.contains(&format!("papers::{}", constant(paper))))
            .collect();
        for id in ids(&source) {
            count += 1;
            let is_known = of_file.iter().any(|paper| paper.find(id).is_some());
            assert!(is_known, "{}: {id:?} is in no register that the file names", file.display());
        }
    }
    assert!(count > 100, "only {count} ids were found");
}

#[test]
fn no_source_gives_a_number_of_its_own_for_a_papers() {
    let mut count = 0;
    for file in files() {
        let source = fs::read_to_string(&file).unwrap();
        for argument in CALLS.iter().flat_map(|call| arguments(&source, call)) {
            count += 1;
            assert!(!has_number(argument), "{}: {argument}", file.display());
        }
    }
    assert!(count > 20, "only {count} calls were found");
}

/// Whether code takes the distance of a value from a paper's by itself.
fn takes_distance(code: &str) -> bool {
    let squeezed: String = code.split_whitespace().collect();
    ["-paper).abs()", "-paper.get()).abs()"].iter().any(|distance| squeezed.contains(distance))
}

#[test]
fn claims_judge_equality_with_a_papers_value_by_its_band() {
    let claims = files().into_iter().filter(|file| !file.ends_with("claim/band.rs"));
    for file in claims {
        let source = fs::read_to_string(&file).unwrap();
        assert!(!takes_distance(&source), "{}: use claim::Band, which knows the tolerance", file.display());
    }
    assert!(takes_distance("(share\n - paper).abs() < 1.0") && !takes_distance("(a - b).abs()"));
}

#[test]
fn numbers_and_ids_that_are_written_are_found() {
    let source = "row.paper(Some(0.55)).note(\"7\"); rows.paper(at(\"table-2/k\")); it.paper(x2.left())";
    let found: Vec<bool> = arguments(source, ".paper(").map(has_number).collect();
    assert_eq!(found, [true, false, false]);
    assert_eq!(ids(source).collect::<Vec<_>>(), ["table-2/k"]);
    assert!(named("byte-caching").is_some() && named("table-2").is_none());
}
