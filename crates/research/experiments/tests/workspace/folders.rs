//! Dependencies between folders of crates point one way: tunnel, cache, operator, research.

use serde_json::json;

use crate::graph::Graph;

/// The crate of the program that is shipped.
const PROGRAM: &str = "overheard";

#[test]
fn dependencies_between_folders_point_one_way() {
    let graph = Graph::of_workspace();
    assert!(graph.elsewhere().is_empty(), "{:?} stand in no folder that is known", graph.elsewhere());
    let against = graph.against_the_order();
    assert!(against.is_empty(), "{against:?} depend on a later folder");
}

#[test]
fn the_shipped_program_reaches_nothing_of_research() {
    let graph = Graph::of_workspace();
    let reached = graph.reached_from(PROGRAM).into_iter();
    let research: Vec<&str> = reached.filter(|name| graph.folder(name) == "research").collect();
    assert!(research.is_empty(), "{PROGRAM} reaches {research:?}");
}

#[test]
fn a_dependency_the_other_way_is_found_and_one_of_tests_is_not() {
    let dependency =
        |path: &str, kind: Option<&str>| json!({ "path": format!("/w/crates/{path}"), "kind": kind });
    let package = |path: &str, dependencies: &[serde_json::Value]| {
        let manifest = format!("/w/crates/{path}/Cargo.toml");
        json!({ "manifest_path": manifest, "dependencies": dependencies })
    };
    let on_lab = |kind| dependency("research/lab", kind);
    let graph = Graph::from_metadata(&json!({ "packages": [
        package("tunnel/wire", &[on_lab(Some("dev")), json!({ "name": "serde", "kind": null })]),
        package("tunnel/io", &[dependency("tunnel/wire", None), on_lab(Some("build"))]),
        package("operator/overheard", &[dependency("tunnel/io", None), dependency("tunnel/wire", None)]),
        package("research/lab", &[]),
    ]}));
    assert_eq!(graph.against_the_order(), [("io", "lab")]);
    assert!(graph.reached_from("overheard").contains("lab"));
    assert_eq!(graph.nearest("overheard"), ["io"]);
}
