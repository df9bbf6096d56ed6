//! The test vectors of docs/wire-format.md that need keys, and those of hashes, chunks and literals.

use crate::config::Config;
use crate::elimination::reduce::Shape;
use crate::elimination::restore::Restore;
use crate::peer::pack::unit_number;
use crate::session::challenge::{self, Asked};
use crate::session::handshake::{Identity, Keys, Network, derive, keyed_mark};
use crate::session::seal::{Cipher, Seal, TrafficKey};
use crate::session::transport::mac_key;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use overhear::address::Addresses;
use overhear::boundaries::Boundaries;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha12Rng;
use re::Form;
use re::literals::Expander;
use re::mac::PacketMac;
use recovery::buffer::digest;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use wire::hello::Hello;
use wire::inner::Inner;
use wire::unit::{Kind, TAG_BYTES, emit_header, parse};

fn bytes(hex: &Value) -> Vec<u8> {
    let hex = hex.as_str().unwrap();
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn key(hex: &Value) -> [u8; 32] {
    bytes(hex).try_into().unwrap()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

/// A key of the product's types.
fn typed<Key: std::str::FromStr<Err: std::fmt::Debug>>(hex: &Value) -> Key {
    STANDARD.encode(key(hex)).parse().unwrap()
}

/// The node with this private key, and the peers with which it shares a key.
fn identity(private_key: &Value, network_key: &Value, pairs: &[(&Value, &Value)]) -> Identity {
    let mut config = Config::new(typed(private_key), typed(network_key), Vec::new());
    for (peer, pair_key) in pairs.iter().filter(|(_, pair_key)| !pair_key.is_null()) {
        config.preshared_keys.insert(typed::<crate::PrivateKey>(peer).public(), typed(pair_key));
    }
    Identity::of(&config)
}

/// The generator from which a handshake takes this ephemeral key.
fn generator_of(ephemeral_key: &Value) -> ChaCha12Rng {
    let generator = |byte: u8| ChaCha12Rng::from_seed([byte; 32]);
    let gives = |byte: &u8| {
        let (mut seed, mut drawn) = ([0; 32], [0; 32]);
        generator(*byte).fill_bytes(&mut seed);
        ChaCha12Rng::from_seed(seed).fill_bytes(&mut drawn);
        drawn == key(ephemeral_key)
    };
    generator((0..=u8::MAX).find(gives).expect("no seed gives the ephemeral key"))
}

/// Both ends of a handshake: the initiation, and the value that the vector states.
fn shake_hands(value: &Value) -> (Vec<u8>, Value) {
    let [initiator, responder] = ["initiator", "responder"].map(|side| &value[side]);
    let [alice, bob] = [(initiator, responder), (responder, initiator)].map(|(own, other)| {
        let pair = (&other["private_key"], &value["pair_key"]);
        identity(&own["private_key"], &value["network_key"], &[pair])
    });
    let hello = |side: &Value| Hello::parse(&bytes(&side["hello"])).unwrap();
    let key_id = |side: &Value| number(&side["key_id"]) as u32;
    let peer = typed::<crate::PrivateKey>(&responder["private_key"]).public();
    let network = alice.network_after(None);
    let rng = &mut generator_of(&initiator["ephemeral_key"]);
    let (mut state, noise) = alice.initiate(network, &peer, &hello(initiator), rng).unwrap();
    let (mut first, mut second) = (Vec::new(), Vec::new());
    network.mark_initiation(key_id(initiator), &noise, None, &mut first);

    let unit = parse(&mut &first[..]).unwrap();
    let rng = &mut generator_of(&responder["ephemeral_key"]);
    let heard = bob.hear(&bob.check_initiation(&unit).unwrap(), rng).unwrap();
    assert_eq!(heard.hello, hello(initiator));
    let state_of_bob = (heard.state, &*heard.network);
    let ids = (key_id(responder), unit.key_id);
    let bobs = bob.respond(state_of_bob, ids.0, ids.1, &hello(responder), &mut second).unwrap();

    let unit = parse(&mut &second[..]).unwrap();
    let (id, said, alices) = alice.finish((&mut state, network), &unit).unwrap();
    assert_eq!((id, said), (key_id(responder), hello(responder)));
    let Keys { send, receive } = alices;
    assert_eq!((bobs.receive, bobs.send), (send, receive));
    let mut stated = value.clone();
    stated["response"] = hex(&second).into();
    stated["traffic_keys"] = json!([hex(&send), hex(&receive)]);
    stated["mac_keys"] = json!([hex(&mac_key(&send)), hex(&mac_key(&receive))]);
    (first, stated)
}

fn sealed(value: &Value, expected: &[u8]) -> Vec<u8> {
    let (counter, plaintext) = (number(&value["counter"]), bytes(&value["plaintext"]));
    let (key, unit) = (key(&value["key"]), parse(&mut &expected[..]).unwrap());
    let Kind::Sealed { counter: on_the_air, .. } = unit.kind else { panic!("{:?}", unit.kind) };
    assert_eq!(u64::from(on_the_air), counter & 0xff_ffff);
    let mut body = unit.body.to_vec();
    let cipher = match value["cipher"].as_str() {
        Some("AES-256-GCM") => Cipher::Aes256Gcm,
        Some(other) => panic!("{other}"),
        None => Cipher::ChaCha20Poly1305,
    };
    let length = TrafficKey::of(cipher, &key).open(counter, unit.header, &mut body).unwrap();
    assert_eq!(body[..length], plaintext);
    let mut datagram = Vec::new();
    if unit.header.len() > wire::unit::SEALED_HEADER_BYTES {
        // the product reads units that others follow, and sends none
        let length = (plaintext.len() + TAG_BYTES) as u16;
        emit_header(unit.kind, unit.key_id, Some(length), &mut datagram);
        assert_eq!(datagram, unit.header);
        return expected.to_vec();
    }
    emit_header(unit.kind, unit.key_id, None, &mut datagram);
    datagram.extend_from_slice(&plaintext);
    Seal::new(Arc::new(TrafficKey::of(cipher, &key)), counter).apply(&mut datagram);
    datagram
}

fn group_unit(value: &Value) -> Vec<u8> {
    let [key_id, counter] = ["key_id", "counter"].map(|name| number(&value[name]));
    let version = number(&value["session_version"]) as u8;
    let plaintext = bytes(&value["plaintext"]);
    let mac = PacketMac::new(&mac_key(&key(&value["session_key"])));
    let mut datagram = Vec::new();
    emit_header(Kind::Group { counter: counter as u32 }, key_id as u32, None, &mut datagram);
    datagram.push(number(&value["member"]) as u8);
    datagram.extend_from_slice(&mac.of(unit_number(version, key_id as u32, counter), &plaintext));
    datagram.extend_from_slice(&plaintext);
    Seal::new(Arc::new(TrafficKey::new(&key(&value["group_key"]))), counter).apply(&mut datagram);
    datagram
}

/// The length, slot and tag of each chunk.
fn chunks(value: &Value, text: &[u8]) -> Value {
    let addresses = Addresses::new(&key(&value["address_key"]));
    let slot_bits = number(&value["slot_bits"]) as u8;
    let name = |chunk: std::ops::Range<usize>| {
        let address = addresses.of(&text[chunk.clone()]);
        json!([chunk.len(), address.slot(slot_bits), address.tag()])
    };
    Boundaries::default().chunks(text).map(name).collect()
}

/// A short packet as it was.
fn lengthened(value: &Value, body: &[u8]) -> Vec<u8> {
    let mut restore = Restore::new(16, 4, 1 << 20, false, Form::Compact);
    for _ in 0..number(&value["generation"]) {
        restore.forget();
    }
    for (sequence, packet) in value["proved"].as_object().unwrap() {
        let packet = bytes(packet);
        restore.store(sequence.parse().unwrap(), &packet, &Inner::parse(&packet).unwrap());
    }
    let mac = PacketMac::new(&mac_key(&key(&value["traffic_key"])));
    let mut packet = Vec::new();
    restore.restore(number(&value["sequence"]), Shape::Short, body, &mac, &mut packet).unwrap();
    packet
}

fn challenge(value: &Value, expected: &[u8]) -> Option<Asked> {
    let unit = parse(&mut &expected[..]).unwrap();
    let (key, mark) = (key(&value["key"]), bytes(&value["mark"]).try_into().unwrap());
    challenge::open(&key, &key, mark, &unit)
}

/// What the product writes for a vector; `None`: another crate reads those of its format.
fn written(format: &str, value: &Value, expected: &[u8]) -> Option<Vec<u8>> {
    Some(match format {
        "derive" => derive(&key(&value["key"]), value["label"].as_str().unwrap().as_bytes()).to_vec(),
        "reset token" => {
            let identity = identity(&value["private_key"], &value["private_key"], &[]);
            identity.reset_token(number(&value["key_id"]) as u32).to_vec()
        }
        "preshared key" => {
            let network = Network::new(typed(&value["network_key"]));
            network.noise_key(Some(&typed(&value["pair_key"]))).to_vec()
        }
        "pair" => {
            let public_key = crate::PublicKey::from_bytes(key(&value["public_key"]));
            identity(&value["private_key"], &value["private_key"], &[])
                .pair_key(&public_key)
                .unwrap()
                .to_vec()
        }
        "handshake" => {
            let (initiation, stated) = shake_hands(value);
            assert_eq!(&stated, value);
            initiation
        }
        "initiation with a cookie" => {
            let (cookie, mut unit) = (bytes(&value["cookie"]).try_into().unwrap(), Vec::new());
            let (network, key_id) = (Network::new(typed(&value["network_key"])), number(&value["key_id"]));
            network.mark_initiation(key_id as u32, &bytes(&value["noise"]), Some(&cookie), &mut unit);
            unit
        }
        "cookie mark" => {
            let parts = [bytes(&value["header"]), bytes(&value["noise"])];
            keyed_mark(&bytes(&value["cookie"]), &[&parts[0], &parts[1]]).to_vec()
        }
        "challenge" => {
            let asked = match value["number"].as_u64() {
                Some(newest) => Asked::NumberAbove(newest),
                None => Asked::Cookie(bytes(&value["cookie"]).try_into().unwrap()),
            };
            assert_eq!(challenge(value, expected), Some(asked));
            expected.to_vec() // its salt is random
        }
        "sealed" => sealed(value, expected),
        "group unit" => group_unit(value),
        "packet mac" => {
            let mac = PacketMac::new(&mac_key(&key(&value["traffic_key"])));
            mac.of(number(&value["sequence"]), &bytes(&value["packet"])).to_vec()
        }
        "digest" => digest(&bytes(&value["packet"]), &[]).to_vec(),
        "repair sum" => {
            let (mut encoder, sources) = (recovery::sliding::Encoder::default(), value["sources"].as_array());
            for source in sources.unwrap().iter().rev() {
                encoder.push(Duration::ZERO, number(&source["number"]), &bytes(&source["frames"]));
            }
            let mut sum = Vec::new();
            encoder.write_sum(number(&value["counter"]), encoder.len(), &mut sum);
            sum
        }
        "chunks" => {
            assert_eq!(chunks(value, expected), value["chunks"]);
            expected.to_vec()
        }
        "short packet" => {
            assert_eq!(hex(&lengthened(value, expected)), value["packet"]);
            expected.to_vec()
        }
        "literals" => {
            let mut literals = Vec::new();
            Expander::new().expand(expected, usize::MAX, &mut literals).unwrap();
            assert_eq!(hex(&literals), value["literals"]);
            expected.to_vec()
        }
        _ => return None,
    })
}

#[test]
fn keys_seals_hashes_chunks_and_literals_are_those_of_the_specification() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/wire-format-vectors.json");
    let vectors: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let mut checked = 0;
    for vector in &vectors {
        let (format, expected) = (vector["format"].as_str().unwrap(), bytes(&vector["hex"]));
        let Some(written) = written(format, &vector["value"], &expected) else { continue };
        assert_eq!(hex(&written), hex(&expected), "{format}: {}", vector["about"]);
        checked += 1;
    }
    assert_eq!(checked, 37);
}
