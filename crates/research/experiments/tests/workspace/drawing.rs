//! The picture of the graph in ARCHITECTURE.md.

use std::fmt::Write as _;
use std::fs;

use crate::graph::{FOLDERS, Graph};
use crate::workspace;

const BEGIN: &str = "<!-- The graph of crates: begin. -->\n";
const END: &str = "<!-- The graph of crates: end. -->\n";
/// Set to draw the picture anew.
const VARIABLE: &str = "OVERHEARD_DRAW";

/// A box for each folder, an arrow for each dependency that does not follow from others.
fn mermaid(graph: &Graph) -> String {
    let mut picture = String::from("```mermaid\nflowchart RL\n");
    for folder in FOLDERS {
        writeln!(picture, "    subgraph {folder}_folder [{folder}]").unwrap();
        let crates: Vec<&str> = graph.in_folder(folder).collect();
        writeln!(picture, "        {}", crates.join("; ")).unwrap();
        picture.push_str("    end\n");
    }
    for name in FOLDERS.iter().flat_map(|folder| graph.in_folder(folder)) {
        let nearest = graph.nearest(name);
        if !nearest.is_empty() {
            writeln!(picture, "    {name} --> {}", nearest.join(" & ")).unwrap();
        }
    }
    picture.push_str("```\n");
    picture
}

#[test]
fn the_map_draws_the_graph_of_crates_as_it_is() {
    let path = workspace().join("ARCHITECTURE.md");
    let text = fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(BEGIN).expect("the map has the graph's beginning");
    let (drawn, after) = rest.split_once(END).expect("the map has the graph's end");
    let picture = mermaid(&Graph::of_workspace());
    if std::env::var_os(VARIABLE).is_some() {
        fs::write(&path, format!("{before}{BEGIN}{picture}{END}{after}")).unwrap();
    } else {
        let mend = "OVERHEARD_DRAW=1 cargo test -p overheard-experiments --test workspace";
        assert!(drawn == picture, "the graph in ARCHITECTURE.md is stale, draw it: {mend}\n{picture}");
    }
}
