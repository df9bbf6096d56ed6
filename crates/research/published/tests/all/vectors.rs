//! Test vectors of docs/wire-format.md for the forms of experiments.

#![allow(clippy::unwrap_used)] // a test fails by panicking

use published::shim::hashed::{self, Hashed};
use serde_json::{Value, json};
use std::path::Path;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(hex: &str) -> Vec<u8> {
    assert!(hex.len().is_multiple_of(2));
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

#[test]
fn the_vectors_of_the_hashed_form_are_read_and_written_as_it_says() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/wire-format-vectors.json");
    let vectors: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let of_form: Vec<&Value> = vectors.iter().filter(|vector| vector["format"] == "hashed").collect();
    assert!(!of_form.is_empty());
    for vector in of_form {
        let input = bytes(vector["hex"].as_str().unwrap());
        let it = Hashed::parse(&input).unwrap();
        let fields: Vec<_> = it.fields().collect();
        let mut out = Vec::new();
        hashed::emit(&fields, &mut out);
        out.extend_from_slice(it.literals);
        let chunk = |field: &hashed::Field| json!([field.literal_bytes, field.length, hex(&field.hash)]);
        let value = json!({
            "chunks": fields.iter().map(chunk).collect::<Value>(),
            "literals": hex(it.literals),
            "restored_bytes": it.restored_bytes,
        });
        assert_eq!(value, vector["value"], "{}", vector["about"]);
        assert_eq!(hex(&out), hex(&input), "{}", vector["about"]);
    }
}
