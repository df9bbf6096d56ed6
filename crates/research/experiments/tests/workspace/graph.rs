//! The crates of the workspace and their dependencies, from cargo.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// The folders below `crates`, in their order: each may depend on those before it.
pub const FOLDERS: [&str; 4] = ["tunnel", "cache", "operator", "research"];

/// Normal and build dependencies between our crates. Tests may reach further.
pub struct Graph {
    crates: BTreeMap<String, Crate>,
}

struct Crate {
    folder: String,
    depends_on: BTreeSet<String>,
}

impl Graph {
    /// The workspace's own.
    pub fn of_workspace() -> Self {
        let output = Command::new(env!("CARGO"))
            .args(["metadata", "--format-version=1", "--no-deps", "--locked"])
            .current_dir(super::workspace())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Self::from_metadata(&serde_json::from_slice(&output.stdout).unwrap())
    }

    /// From what `cargo metadata --no-deps` prints. A crate is called by its folder's name.
    pub fn from_metadata(metadata: &Value) -> Self {
        let mut graph = Graph { crates: BTreeMap::new() };
        for package in metadata["packages"].as_array().unwrap() {
            let manifest = Path::new(package["manifest_path"].as_str().unwrap());
            let place = manifest.parent().unwrap();
            let folder = name(place.parent().unwrap());
            let dependencies = package["dependencies"].as_array().unwrap().iter();
            let needed = dependencies.filter(|it| it["kind"] != "dev").filter_map(|it| it["path"].as_str());
            let depends_on = needed.map(|path| name(Path::new(path))).collect();
            graph.crates.insert(name(place), Crate { folder, depends_on });
        }
        graph
    }

    /// All crates of a folder, in the order of their names.
    pub fn in_folder<'a>(&'a self, folder: &'a str) -> impl Iterator<Item = &'a str> {
        self.crates.iter().filter(move |(_, it)| it.folder == folder).map(|(name, _)| name.as_str())
    }

    /// Crates outside [`FOLDERS`].
    pub fn elsewhere(&self) -> Vec<&str> {
        let elsewhere = self.crates.iter().filter(|(_, it)| rank(&it.folder).is_none());
        elsewhere.map(|(name, _)| name.as_str()).collect()
    }

    /// The dependencies on a later folder: who, and on what.
    pub fn against_the_order(&self) -> Vec<(&str, &str)> {
        let is_later =
            |one: &str, other: &str| rank(&self.crates[one].folder) > rank(&self.crates[other].folder);
        let all = self.crates.iter().flat_map(|(name, it)| it.depends_on.iter().map(move |on| (name, on)));
        all.map(|(name, on)| (name.as_str(), on.as_str())).filter(|(name, on)| is_later(on, name)).collect()
    }

    /// Everything that a crate reaches, through others too.
    pub fn reached_from<'a>(&'a self, name: &str) -> BTreeSet<&'a str> {
        let mut reached = BTreeSet::new();
        let mut ahead: Vec<&str> = self.crates[name].depends_on.iter().map(String::as_str).collect();
        while let Some(next) = ahead.pop() {
            if reached.insert(next) {
                ahead.extend(self.crates[next].depends_on.iter().map(String::as_str));
            }
        }
        reached
    }

    /// The dependencies of a crate that do not follow from its other ones.
    pub fn nearest(&self, name: &str) -> Vec<&str> {
        let all = &self.crates[name].depends_on;
        let follows = |on: &str| all.iter().any(|other| other != on && self.reached_from(other).contains(on));
        all.iter().map(String::as_str).filter(|on| !follows(on)).collect()
    }

    /// The folder of a crate.
    pub fn folder(&self, name: &str) -> &str {
        &self.crates[name].folder
    }
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}

fn rank(folder: &str) -> Option<usize> {
    FOLDERS.iter().position(|known| *known == folder)
}
