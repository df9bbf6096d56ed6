//! Every link of the documents leads to an existing file and heading. Pages of the site stay within its
//! folder, and its summary names each one.

#![allow(clippy::unwrap_used)] // a test fails by panicking

use crate::support::documents::{read, workspace};
use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Folders with build results, downloads, or tools' files.
const LEFT_OUT: [&str; 3] = ["target", "node_modules", "build"];

/// Every Markdown file below `folder`, relative to the workspace.
fn markdown_files(folder: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(workspace().join(folder)).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let path = folder.join(&name);
        let kind = entry.file_type().unwrap();
        if kind.is_dir() && !name.starts_with('.') && !LEFT_OUT.contains(&name.as_str()) {
            found.extend(markdown_files(&path));
        } else if kind.is_file() && name.ends_with(".md") {
            found.insert(path);
        }
    }
    found
}

/// The text without fenced blocks.
fn prose(text: &str) -> String {
    let mut is_code = false;
    let mut prose = String::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            prose.push_str(line);
            prose.push('\n');
        }
    }
    prose
}

/// Targets of a text's links: `[text](target)`.
fn targets(text: &str) -> Vec<String> {
    let prose = prose(text);
    let without_code: String = prose.split('`').step_by(2).collect();
    let found = without_code.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    found.map(|target| target.split_whitespace().next().unwrap_or_default().to_owned()).collect()
}

/// The anchors of a page's headings, in the form of GitHub and mdBook.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut times: HashMap<String, usize> = HashMap::new();
    let mut anchors = BTreeSet::new();
    for line in prose(text).lines() {
        let depth = line.chars().take_while(|letter| *letter == '#').count();
        let Some(heading) = (1..=6).contains(&depth).then(|| line[depth..].strip_prefix(' ')).flatten()
        else {
            continue;
        };
        let lower = heading.trim().to_lowercase();
        let kept = lower.chars().filter(|it| it.is_alphanumeric() || matches!(it, ' ' | '-' | '_'));
        let anchor: String = kept.map(|it| if it == ' ' { '-' } else { it }).collect();
        let before = times.entry(anchor.clone()).or_default();
        anchors.insert(if *before == 0 { anchor } else { format!("{anchor}-{before}") });
        *before += 1;
    }
    anchors
}

/// A path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let files = markdown_files(Path::new(""));
    let texts: HashMap<&PathBuf, String> =
        files.iter().map(|file| (file, read(file.to_str().unwrap()))).collect();
    assert!(files.len() > 20, "{files:?}");
    let mut wrong = Vec::new();
    let mut links = 0;
    for file in &files {
        for target in targets(&texts[file]) {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            links += 1;
            let (path, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let folder = file.parent().unwrap();
            let to = if path.is_empty() { file.clone() } else { plain(&folder.join(path)) };
            let page = texts.get(&to);
            let is_there = workspace().join(&to).exists();
            let has_heading = anchor.is_empty() || page.is_some_and(|page| anchors(page).contains(anchor));
            let leaves_the_site = file.starts_with("docs") && !to.starts_with("docs");
            for (holds, why) in [
                (is_there, "there is no such file"),
                (has_heading, "there is no such heading"),
                (!leaves_the_site, "a page of the site leads out of its folder: name the file as code"),
            ] {
                if !holds {
                    wrong.push(format!("{}: {target}: {why}", file.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(links > 50, "{links} links");
}

#[test]
fn the_summary_names_each_page_of_the_site_once() {
    let mut named = targets(&read("docs/SUMMARY.md"));
    named.sort();
    let pages = markdown_files(Path::new("docs"));
    let pages = pages.iter().map(|page| page.strip_prefix("docs").unwrap().to_str().unwrap().to_owned());
    let mut pages: Vec<String> = pages.filter(|page| page != "SUMMARY.md").collect();
    pages.sort();
    assert_eq!(named, pages);
}
