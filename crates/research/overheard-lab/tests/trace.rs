//! `overheard-lab trace compose`: captures that other tools read, and mistakes that are named.

#![allow(clippy::unwrap_used)] // a test may fail by panicking

use std::path::Path;
use std::process::{Command, Output};

fn compose(output: &Path, more: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_overheard-lab"))
        .args(["trace", "compose", "--mix", "medium", "--kind", "whole", "--bytes", "2000000", "--output"])
        .arg(output)
        .args(more)
        .output()
        .unwrap()
}

#[test]
fn a_composed_trace_holds_what_is_printed_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.pcap");
    let composed = compose(&file, &["--json"]);
    assert!(composed.status.success(), "{}", String::from_utf8_lossy(&composed.stderr));
    let composed: serde_json::Value = serde_json::from_slice(&composed.stdout).unwrap();
    let analyzed = Command::new(env!("CARGO_BIN_EXE_overheard-lab"))
        .args(["analyze", "--json", "--method", "chunk"])
        .arg(&file)
        .output()
        .unwrap();
    let analyzed: serde_json::Value = serde_json::from_slice(&analyzed.stdout).unwrap();
    let bytes = composed["payload_bytes"].as_u64().unwrap();
    assert!((2_000_000..2_001_400).contains(&bytes), "{bytes}");
    assert_eq!(analyzed["to_client_bytes"].as_u64(), Some(bytes), "{analyzed}");
    for share in ["inter", "intra"] {
        let share = composed["max_match"][share].as_f64().unwrap();
        assert!((0.15..0.32).contains(&share), "{composed}");
    }
}

#[test]
fn content_that_cannot_be_read_or_only_repeats_is_refused_by_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let (file, zeros) = (folder.path().join("trace.pcap"), folder.path().join("zeros"));
    std::fs::write(&zeros, vec![0; 1 << 20]).unwrap();
    for (content, said) in
        [("/nowhere/at/all", "cannot be read"), (zeros.to_str().unwrap(), "repeat nothing")]
    {
        let refused = compose(&file, &[content]);
        let error = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(2), "{error}");
        assert!(error.contains(said), "{error}");
        assert!(!file.exists(), "nothing is left half made");
    }
}
