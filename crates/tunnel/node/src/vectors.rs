//! The test vectors of docs/wire-format.md that speak of keys.

use crate::challenge::{self, Asked};
use crate::config::Config;
use crate::handshake::{Identity, Network, derive, keyed_mark};
use crate::seal::{Seal, TrafficKey};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use wire::unit::{Kind, emit_header, parse};

fn bytes(hex: &Value) -> Vec<u8> {
    let hex = hex.as_str().unwrap();
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

fn key(hex: &Value) -> [u8; 32] {
    bytes(hex).try_into().unwrap()
}

#[test]
fn keys_tokens_and_seals_are_those_of_the_specification() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/wire-format-vectors.json");
    let vectors: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let mut checked = 0;
    for vector in &vectors {
        let (expected, value) = (bytes(&vector["hex"]), &vector["value"]);
        match vector["format"].as_str().unwrap() {
            "derive" => {
                let label = value["label"].as_str().unwrap().as_bytes();
                assert_eq!(derive(&key(&value["key"]), label).as_slice(), expected);
            }
            "reset token" => {
                let private_key = STANDARD.encode(key(&value["private_key"])).parse().unwrap();
                let network_key = STANDARD.encode([0; 32]).parse().unwrap();
                let identity = Identity::of(&Config::new(private_key, network_key, Vec::new()));
                let key_id = value["key_id"].as_u64().unwrap() as u32;
                assert_eq!(identity.reset_token(key_id).as_slice(), expected);
            }
            "preshared key" => {
                let network_key = STANDARD.encode(key(&value["network_key"])).parse().unwrap();
                let pair = STANDARD.encode(key(&value["pair_key"])).parse().unwrap();
                assert_eq!(Network::new(network_key).noise_key(Some(&pair)).as_slice(), expected);
            }
            "sealed" => {
                let counter = value["counter"].as_u64().unwrap();
                let unit = parse(&mut expected.as_slice()).unwrap();
                assert_eq!(unit.kind, Kind::Sealed { version: 1, counter: counter as u32 & 0xff_ffff });
                let mut datagram = Vec::new();
                emit_header(unit.kind, unit.key_id, None, &mut datagram);
                datagram.extend_from_slice(&bytes(&value["plaintext"]));
                Seal::new(Arc::new(TrafficKey::new(&key(&value["key"]))), counter).apply(&mut datagram);
                assert_eq!(datagram, expected);
            }
            "cookie mark" => {
                let cookie = bytes(&value["cookie"]);
                let parts = [bytes(&value["header"]), bytes(&value["noise"])];
                assert_eq!(keyed_mark(&cookie, &[&parts[0], &parts[1]]).as_slice(), expected);
            }
            "challenge" => {
                let unit = parse(&mut expected.as_slice()).unwrap();
                let (key, mark) = (key(&value["key"]), bytes(&value["mark"]).try_into().unwrap());
                let asked = match value["number"].as_u64() {
                    Some(newest) => Asked::NumberAbove(newest),
                    None => Asked::Cookie(bytes(&value["cookie"]).try_into().unwrap()),
                };
                assert_eq!(challenge::open(&key, &key, mark, &unit), Some(asked));
            }
            _ => continue,
        }
        checked += 1;
    }
    assert_eq!(checked, 9);
}
