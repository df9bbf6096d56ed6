//! Modules of the node: none leads back to itself.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::workspace;

const NODE: &str = "crates/tunnel/node/src";
const TESTS: &str = "#[cfg(test)]\nmod tests {";

/// A module's path, such as `session::keyring`, by its file.
fn module(file: &Path) -> String {
    let path = file.with_extension("");
    let path = if path.ends_with("mod") { path.parent().unwrap() } else { &path };
    let parts = path.components().map(|part| part.as_os_str().to_str().unwrap());
    parts.collect::<Vec<_>>().join("::")
}

/// The modules of a folder of sources, with the text of each but for its tests.
fn modules(root: &Path) -> BTreeMap<String, String> {
    let (mut folders, mut all) = (vec![root.to_owned()], BTreeMap::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let text = fs::read_to_string(&path).unwrap();
                let code = text.split_once(TESTS).map_or(text.as_str(), |(code, _)| code);
                let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
                let name = module(path.strip_prefix(root).unwrap());
                all.insert(name, lines.collect::<Vec<_>>().join("\n"));
            }
        }
    }
    all.retain(|name, _| name != "lib" && name != "vectors" && !name.ends_with("tests"));
    all
}

/// For each module, the modules that it names.
fn uses(modules: &BTreeMap<String, String>) -> BTreeMap<&str, BTreeSet<&str>> {
    let named = |name: &str, text: &str| {
        let paths = text.split("crate::").skip(1).map(|rest| {
            let end = rest.find(|it: char| !it.is_ascii_lowercase() && it != '_' && it != ':');
            &rest[..end.unwrap_or(rest.len())]
        });
        let longest = |path: &str| {
            let fits = |it: &str| path == it || path.strip_prefix(it).is_some_and(|it| it.starts_with("::"));
            modules.keys().map(String::as_str).filter(|it| fits(it)).max_by_key(|it| it.len())
        };
        paths.filter_map(longest).filter(|it| *it != name).collect()
    };
    modules.iter().map(|(name, text)| (name.as_str(), named(name, text))).collect()
}

/// The modules that lead to no circle are taken away, until the rest has nothing but circles and what leads
/// to them.
fn circles<'a>(uses: &BTreeMap<&'a str, BTreeSet<&'a str>>) -> BTreeSet<&'a str> {
    let mut left: BTreeSet<&str> = uses.keys().copied().collect();
    loop {
        let before = left.len();
        let names = left.clone();
        left.retain(|name| uses[name].iter().any(|used| names.contains(used)));
        if left.len() == before {
            return left;
        }
    }
}

fn floor(name: &str) -> &str {
    name.split("::").next().unwrap()
}

#[test]
fn no_module_of_the_node_leads_back_to_itself() {
    let modules = modules(&workspace().join(NODE));
    let uses = uses(&modules);
    assert!(uses["peer::pack::packets"].contains("peer"), "the search finds what modules name: {uses:?}");
    assert_eq!(circles(&uses), BTreeSet::new());
    let mut floors: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (name, used) in &uses {
        let others = used.iter().map(|it| floor(it)).filter(|it| *it != floor(name));
        floors.entry(floor(name)).or_default().extend(others);
    }
    assert_eq!(circles(&floors), BTreeSet::new(), "{floors:#?}");
}

#[test]
fn circles_are_found() {
    let uses =
        BTreeMap::from([("a", BTreeSet::from(["b"])), ("b", BTreeSet::from(["c"])), ("c", BTreeSet::new())]);
    assert!(circles(&uses).is_empty());
    let uses =
        BTreeMap::from([("a", BTreeSet::from(["b"])), ("b", BTreeSet::from(["a"])), ("c", BTreeSet::new())]);
    assert_eq!(circles(&uses), BTreeSet::from(["a", "b"]));
}
