//! The documents and their machine-readable parts.

use std::fs;
use std::path::{Path, PathBuf};

/// Documents with commands for users and developers.
pub const DOCUMENTS: [&str; 18] = [
    "README.md",
    "CONTRIBUTING.md",
    "ARCHITECTURE.md",
    "docs/index.md",
    "docs/install.md",
    "docs/operations.md",
    "docs/experiments.md",
    "docs/features/overhearing.md",
    "docs/guides/radios.md",
    "docs/features/tcp.md",
    "docs/features/web-cache.md",
    "docs/reference/commands.md",
    "docs/reference/configuration.md",
    "docs/performance.md",
    "docs/keys.md",
    "docs/results.md",
    "docs/threat-model.md",
    "docs/wire-format.md",
];

/// Documents to follow from the first command to the last.
pub const GUIDES: [&str; 7] = [
    "docs/guides/access-point.md",
    "docs/guides/content-server.md",
    "docs/guides/mesh-cache.md",
    "docs/guides/mesh.md",
    "docs/guides/point-to-point.md",
    "docs/guides/relays.md",
    "docs/guides/several-gateways.md",
];

/// The folder of the documents.
pub fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

/// A document's text.
pub fn read(document: &str) -> String {
    fs::read_to_string(workspace().join(document)).unwrap()
}

/// The contents of a document's fenced blocks of one language.
pub fn blocks(document: &str, language: &str) -> Vec<String> {
    let fence = format!("```{language}\n");
    let begin = |block: &str| block.split_once("```").expect("every block ends").0.to_owned();
    read(document).split(&fence).skip(1).map(begin).collect()
}

/// The commands in a document, in order.
pub fn commands(document: &str) -> Vec<String> {
    let commands = |block: String| -> Vec<String> {
        block.lines().filter_map(|line| line.strip_prefix("$ ")).map(str::to_owned).collect()
    };
    blocks(document, "console").into_iter().flat_map(commands).collect()
}
