//! The test vectors of docs/wire-format.md, which were encoded by hand from its text: what is read of each is
//! what stands beside it, and what is written again is the same bytes.

#![allow(clippy::unwrap_used)] // a test fails by panicking

use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::Path;
use wire::chunk_reply::{self, ChunkReply};
use wire::chunk_request::{self, ChunkRequest};
use wire::coded::Coded;
use wire::frame::{self, FrameType, Frames, Reduced};
use wire::group::{Heard, HeardOfOther, Joined, Membership, OtherGroup, Shared};
use wire::headers;
use wire::hello::Hello;
use wire::named_chunks::{self, NamedChunks};
use wire::natives::{Component, Natives};
use wire::neighbours::{Message, Said};
use wire::notice::Notice;
use wire::receipt::Receipt;
use wire::record::Record;
use wire::repair::{MAX_SPAN, Repair};
use wire::request::{self, Request};
use wire::shim::compact::{self, Compact};
use wire::shim::slots::{self, Slots};
use wire::short::Outline;
use wire::store_bounds::{Bounds, StoreBounds};
use wire::stream;
use wire::unit::{self, Kind};
use wire::varint;

/// Those that this crate does not read: `node` reads those of cryptography, `published` those of experiments.
const OF_OTHERS: [&str; 17] = [
    "derive",
    "reset token",
    "preshared key",
    "pair",
    "handshake",
    "initiation with a cookie",
    "challenge",
    "cookie mark",
    "sealed",
    "group unit",
    "packet mac",
    "digest",
    "repair sum",
    "chunks",
    "literals",
    "short packet",
    "hashed",
];

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(hex: &str) -> Vec<u8> {
    assert!(hex.len().is_multiple_of(2));
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

fn regions(shim: &Compact<'_>) -> Value {
    let numbers = |it: compact::Region| json!([it.literal_bytes, it.distance, it.offset, it.length]);
    shim.regions().map(numbers).collect()
}

/// The values of a frame of a stream.
fn named(name: stream::Name, mut values: Value) -> Value {
    values["number"] = name.number.into();
    values["own"] = name.is_own.into();
    values
}

/// The values in the bytes, and the bytes of these values where the crate writes this form whole.
fn read(format: &str, input: &[u8]) -> (Value, Option<Vec<u8>>) {
    let mut out = Vec::new();
    match format {
        "varint" => {
            let mut rest = input;
            let number = varint::parse(&mut rest).unwrap();
            assert!(rest.is_empty());
            varint::emit(number, &mut out);
            (json!({ "number": number }), Some(out))
        }
        "unit" => {
            let mut rest = input;
            let unit = unit::parse(&mut rest).unwrap();
            let name = match unit.kind {
                Kind::Sealed { .. } => "sealed",
                Kind::Initiation => "initiation",
                Kind::Response => "response",
                Kind::Reset => "reset",
                Kind::Group { .. } => "group",
                Kind::InitiationWithCookie => "initiation with a cookie",
                Kind::Challenge => "challenge",
            };
            let mut value = json!({
                "kind": name,
                "key_id": unit.key_id,
                "header_bytes": unit.header.len(),
                "body_bytes": unit.body.len(),
            });
            if let Kind::Sealed { version, .. } = unit.kind {
                value["version"] = version.into();
            }
            if let Kind::Sealed { counter, .. } | Kind::Group { counter } = unit.kind {
                value["counter"] = counter.into();
            }
            let followed_by = if rest.is_empty() { None } else { Some(unit.body.len() as u16) };
            unit::emit_header(unit.kind, unit.key_id, followed_by, &mut out);
            out.extend_from_slice(unit.body);
            out.extend_from_slice(rest);
            (value, Some(out))
        }
        "plaintext" => {
            let mut rest = input;
            let sequence = frame::parse_sequence(&mut rest).unwrap();
            let number = |at: usize| input[at] & 0x7f;
            // where each frame begins, to tell the type also of one that is not known
            let mut frames = Vec::new();
            let mut at = 3;
            for read in Frames::new(rest) {
                let read = read.unwrap();
                assert_eq!(read.frame_type, FrameType::from_number(number(at)));
                frames.push(json!({ "type": number(at), "body": hex(read.body) }));
                let length_bytes =
                    if input[at] & 0x80 == 0 { varint::encoded_len(read.body.len() as u32) } else { 0 };
                at += 1 + length_bytes + read.body.len();
            }
            assert_eq!(at, input.len());
            (json!({ "sequence": sequence, "frames": frames }), None)
        }
        "receipt" => {
            let it = Receipt::parse(input).unwrap();
            it.emit(&mut out);
            let value = json!({
                "newest": it.newest,
                "generation": it.generation,
                "received": it.received,
                "delay_64us": it.delay_64us,
                "settled": it.settled,
                "runs": it.runs().map(|(run, state)| {
                    json!([run.end - run.start, format!("{state:?}").to_lowercase()])
                }).collect::<Value>(),
            });
            (value, Some(out))
        }
        "request" => {
            let sequences: Vec<u64> = Request::parse(input).unwrap().sequences().map(u64::from).collect();
            request::emit(&sequences, &mut out);
            (json!({ "sequences": sequences }), Some(out))
        }
        "repair" => {
            let repair = Repair::parse(input).unwrap();
            Repair::emit_front(repair.numbers(MAX_SPAN), &mut out);
            out.extend_from_slice(repair.sum);
            let back: Vec<u64> = repair.numbers(MAX_SPAN).map(|number| MAX_SPAN - number).collect();
            (json!({ "sources_back": back, "sum": hex(repair.sum) }), Some(out))
        }
        "stream open" => {
            let it = stream::Open::parse(input).unwrap();
            it.emit(&mut out);
            let end = |end: std::net::SocketAddr| json!([end.ip().to_string(), end.port()]);
            let ends = json!({ "source": end(it.source), "destination": end(it.destination) });
            (named(it.name, ends), Some(out))
        }
        "stream data" => {
            let it = stream::Data::parse(input).unwrap();
            stream::Data::emit_front(it.name, it.offset.into(), &mut out);
            out.extend_from_slice(it.bytes);
            (named(it.name, json!({ "offset": it.offset, "bytes": hex(it.bytes) })), Some(out))
        }
        "stream end" => {
            let it = stream::End::parse(input).unwrap();
            stream::End::emit(it.name, it.offset.into(), &mut out);
            (named(it.name, json!({ "offset": it.offset })), Some(out))
        }
        "stream credit" => {
            let it = stream::Credit::parse(input).unwrap();
            stream::Credit::emit(it.name, it.limit.into(), &mut out);
            (named(it.name, json!({ "offset": it.limit })), Some(out))
        }
        "stream abort" => {
            let it = stream::Abort::parse(input).unwrap();
            it.emit(&mut out);
            (named(it.name, json!({ "cause": it.cause as u8 })), Some(out))
        }
        "stream stored" => {
            let it = stream::Stored::parse(input).unwrap();
            it.emit(&mut out);
            (json!({ "first": it.first, "count": it.count }), Some(out))
        }
        "store bounds" => {
            let it = StoreBounds::parse(input).unwrap();
            it.emit(&mut out);
            let bounds = |it: Bounds| json!({ "wishes": it.wishes, "uses": it.uses, "keeps": it.keeps });
            let value = json!({
                "number": it.number,
                "seen": it.seen,
                "packets": bounds(it.packets),
                "records": it.records.map(bounds),
            });
            (value, Some(out))
        }
        "record" => {
            let it = Record::parse(input).unwrap();
            it.emit(&mut out);
            let regions =
                it.regions.map(|(mac, regions)| json!({ "mac": hex(&mac), "regions": hex(regions) }));
            let value = json!({
                "stored": it.is_stored,
                "compressed": it.is_compressed,
                "number": it.number,
                "regions": regions,
                "literals": hex(it.literals),
            });
            (value, Some(out))
        }
        "reduced" => {
            let it = Reduced::parse(input).unwrap();
            let shim = Compact::parse(it.shim).unwrap();
            let mut written = Vec::new();
            compact::emit(&shim.regions().collect::<Vec<_>>(), &mut written);
            written.extend_from_slice(shim.literals);
            Reduced { shim: &written, ..it }.emit(&mut out);
            let value = json!({
                "generation": it.generation,
                "mac": hex(&it.mac),
                "regions": regions(&shim),
                "literals": hex(shim.literals),
                "restored_bytes": shim.restored_bytes,
            });
            (value, Some(out))
        }
        "short" => {
            let it = Outline::parse(input).unwrap();
            let value = json!({
                "header_distance": it.header_distance,
                "regions": it.regions.map(|written| regions(&Compact::parse(written).unwrap())),
                "compressed": it.is_compressed,
                "literals": hex(it.literals),
            });
            (value, None)
        }
        "slots" => {
            let it = slots::Encoded::parse(input).unwrap();
            let (runs, places): (Vec<_>, Vec<_>) = (it.runs().collect(), it.slots().collect());
            Slots { slot_bits: it.slot_bits, mac: it.mac, runs: &runs, slots: &places }.emit(&mut out);
            out.extend_from_slice(it.literals);
            let run = |it: &slots::Run| json!([it.literal_bytes, it.slots, it.end, it.beginning]);
            let value = json!({
                "slot_bits": it.slot_bits,
                "mac": it.mac.map(|mac| hex(&mac)),
                "runs": runs.iter().map(run).collect::<Value>(),
                "slots": places,
            });
            (value, Some(out))
        }
        "shared" => {
            let it = Shared::parse(input).unwrap();
            let at = Shared::emit_front(it.frame_type, it.front, &mut out);
            out.extend_from_slice(it.rest);
            Shared::set_number(it.number.into(), at, &mut out);
            if it.is_compressed {
                Shared::set_compressed(at, &mut out);
            }
            let value = json!({
                "number": it.number,
                "frame": it.frame_type as u8,
                "compressed": it.is_compressed,
                "front": hex(it.front),
                "rest": hex(it.rest),
            });
            (value, Some(out))
        }
        "heard" => {
            let it = Heard::parse(input).unwrap();
            Heard::emit(it.newest.into(), &input[3..], &mut out);
            (json!({ "newest": it.newest, "back": it.back().collect::<Vec<_>>() }), Some(out))
        }
        "heard of other" => {
            let it = HeardOfOther::parse(input).unwrap();
            HeardOfOther::emit_front(it.key_id, &mut out);
            Heard::emit(it.newest.into(), it.bitmap, &mut out);
            (json!({ "key_id": it.key_id, "newest": it.newest, "bitmap": hex(it.bitmap) }), Some(out))
        }
        "natives" => {
            let it = Natives::parse(3, input).unwrap();
            let component = |it: Component<'_>| {
                json!({
                    "member": it.member,
                    "sequence": it.sequence,
                    "from": it.name.from,
                    "its_sequence": it.name.sequence,
                    "overheard": it.name.overheard.map(|name| json!([name.key_id, name.number])),
                    "frame": it.frame_type as u8,
                    "number": it.number,
                    "front": hex(it.front),
                    "bytes": it.bytes,
                    "removed": it.removed.is_some(),
                })
            };
            let components: Vec<Value> = it.components().map(component).collect();
            let macs: Vec<String> = (1..it.count).filter_map(|at| Some(hex(&it.mac(at)?))).collect();
            (json!({ "components": components, "macs": macs, "xor": hex(it.xor) }), None)
        }
        "neighbour" => {
            let it = Message::parse(input).unwrap();
            it.emit(&mut out);
            let mut value = json!({ "boot": it.boot, "station": format!("{:016x}", it.station) });
            match it.said {
                Said::Overhears { rate_kilobits_per_second } => {
                    value["overhears_at_kilobits_per_second"] = rate_kilobits_per_second.into();
                }
                Said::Heard { boot, newest, bitmap } => {
                    value["heard_of_boot"] = boot.into();
                    value["newest"] = newest.into();
                    value["bitmap"] = hex(bitmap).into();
                }
                Said::Named(chunks) => {
                    let named = NamedChunks::parse(chunks).unwrap();
                    value["slot_bits"] = named.slot_bits.into();
                    value["chunks"] = named.chunks().map(|chunk| json!([chunk.slot, chunk.tag])).collect();
                    let mut again = Vec::new();
                    named_chunks::emit(named.slot_bits, &mut named.chunks().collect(), &mut again);
                    assert_eq!(hex(&again), hex(chunks));
                }
                Said::Gone => value["is"] = "gone".into(),
                Said::Has => value["is"] = "here".into(),
                Said::Group(group) => {
                    value["key_id"] = group.key_id.into();
                    value["traffic_key"] = hex(&group.traffic_key).into();
                }
            }
            (value, Some(out))
        }
        "joined" => {
            let it = Joined::parse(input).unwrap();
            it.emit(&mut out);
            let value =
                json!({ "key_id": it.key_id, "slot_bits": it.slot_bits, "keeps_cache": it.keeps_cache });
            (value, Some(out))
        }
        "membership" => {
            let it = Membership::parse(input).unwrap();
            it.emit(&mut out);
            let value = json!({
                "member": it.member,
                "slot_bits": it.slot_bits,
                "key_id": it.key_id,
                "traffic_key": hex(&it.traffic_key),
                "address_key": hex(&it.address_key),
                "mac_key": hex(&it.mac_key),
            });
            (value, Some(out))
        }
        "other group" => {
            let it = OtherGroup::parse(input).unwrap();
            it.emit(&mut out);
            (json!({ "key_id": it.key_id, "traffic_key": hex(&it.traffic_key) }), Some(out))
        }
        "chunk request" => {
            let it = ChunkRequest::parse(input).unwrap();
            chunk_request::emit(it.number.into(), it.missing(), &mut out);
            (json!({ "number": it.number, "missing": it.missing().collect::<Vec<_>>() }), Some(out))
        }
        "chunk reply" => {
            let it = ChunkReply::parse(input).unwrap();
            chunk_reply::emit(it.number.into(), it.chunks(), &mut out);
            (json!({ "number": it.number, "chunks": it.chunks().map(hex).collect::<Vec<_>>() }), Some(out))
        }
        "coded" => {
            let it = Coded::parse(input).unwrap();
            let offsets: Vec<i32> = it.offsets().collect();
            let terms: Vec<(i32, u8)> = it.terms().collect();
            let is_scaled = it.scale() != 1 || terms.iter().any(|term| term.1 != 1);
            if is_scaled {
                let terms = terms.iter().copied();
                Coded::emit_scaled(it.digest, it.header, it.scale(), terms, it.payload, &mut out);
            } else {
                Coded::emit(it.digest, it.header, offsets.iter().copied(), it.payload, &mut out);
            }
            let mut value = json!({
                "digest": hex(&it.digest),
                "header": hex(it.header),
                "offsets": offsets,
                "payload": hex(it.payload),
            });
            if is_scaled {
                let scales = [it.scale()].into_iter().chain(terms.iter().map(|term| term.1));
                value["scales"] = json!(scales.collect::<Vec<_>>());
            }
            (value, Some(out))
        }
        "notice" => {
            let it = Notice::parse(input).unwrap();
            let stretches: Vec<(u32, u32)> = it.stretches().collect();
            Notice::emit(&it.flow, stretches.iter().copied(), &mut out);
            let value = json!({
                "source": SocketAddr::new(it.flow.source, it.flow.source_port).to_string(),
                "destination": SocketAddr::new(it.flow.destination, it.flow.destination_port).to_string(),
                "stretches": stretches,
            });
            (value, Some(out))
        }
        "hello" => {
            let it = Hello::parse(input).unwrap();
            it.emit(&mut out);
            let mut value = json!({
                "oldest_version": it.oldest_version,
                "newest_version": it.newest_version,
                "boot": it.boot,
                "number": it.number,
                "store_kib": it.store_kib,
                "capabilities": it.capabilities,
                "window_bytes": it.window_bytes,
                "sample_bits": it.sample_bits,
                "reset_token": hex(&it.reset_token),
            });
            if let Some(second) = it.second {
                value["draft"] = second.draft.into();
                value["across_boots"] = second.across_boots.into();
            }
            (value, Some(out))
        }
        _ => panic!("no form is called {format:?}"),
    }
}

/// Whether the bytes are not of this form.
fn is_refused(format: &str, mut input: &[u8]) -> bool {
    match format {
        "varint" => varint::parse(&mut input).is_err(),
        "unit" => unit::parse(&mut input).is_err(),
        "hello" => Hello::parse(input).is_err(),
        "receipt" => Receipt::parse(input).is_err(),
        "request" => Request::parse(input).is_err(),
        "repair" => Repair::parse(input).is_err(),
        "stream open" => stream::Open::parse(input).is_err(),
        "stream data" => stream::Data::parse(input).is_err(),
        "stream abort" => stream::Abort::parse(input).is_err(),
        "stream stored" => stream::Stored::parse(input).is_err(),
        "record" => Record::parse(input).is_err(),
        "reduced" => Compact::parse(Reduced::parse(input).unwrap().shim).is_err(),
        "slots" => slots::Encoded::parse(input).is_err(),
        "shared" => Shared::parse(input).is_err(),
        "heard" => Heard::parse(input).is_err(),
        "chunk request" => ChunkRequest::parse(input).is_err(),
        "chunk reply" => ChunkReply::parse(input).is_err(),
        "coded" => Coded::parse(input).is_err(),
        "notice" => Notice::parse(input).is_err(),
        "natives" => Natives::parse(3, input).is_err(),
        "neighbour" => match Message::parse(input) {
            Ok(Message { said: Said::Named(chunks), .. }) => NamedChunks::parse(chunks).is_err(),
            message => message.is_err(),
        },
        "membership" => Membership::parse(input).is_err(),
        "store bounds" => StoreBounds::parse(input).is_err(),
        _ => panic!("no form is called {format:?}"),
    }
}

#[test]
fn what_the_specification_refuses_is_refused() {
    let vectors = vectors();
    let refused: Vec<&Value> = vectors.iter().filter(|vector| vector["value"].is_null()).collect();
    assert_eq!(refused.len(), 48);
    for vector in refused {
        let (format, input) = (vector["format"].as_str().unwrap(), bytes(vector["hex"].as_str().unwrap()));
        assert!(is_refused(format, &input), "{format}: {}", vector["about"]);
    }
}

fn vectors() -> Vec<Value> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/wire-format-vectors.json");
    serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
}

#[test]
fn header_deltas_become_the_packets_of_the_specification_and_are_made_of_them() {
    let (vectors, mut checked) = (vectors(), 0);
    for vector in vectors.iter().filter(|vector| vector["format"] == "header delta") {
        let value = &vector["value"];
        let field = |name: &str| bytes(value[name].as_str().unwrap());
        let (header, packet) = (field("context"), field("packet"));
        let distance = value["distance"].as_u64().unwrap() as u32;
        let context = headers::Context { header: &header, distance };
        let delta = bytes(vector["hex"].as_str().unwrap());
        let (mut rest, mut restored, mut written) = (&delta[..], Vec::new(), Vec::new());
        headers::expand(&context, &mut rest, &field("payload"), &mut restored).unwrap();
        assert!(rest.is_empty());
        assert_eq!(hex(&restored), hex(&packet), "{}", vector["about"]);
        headers::compress(&context, &headers::split(&packet).unwrap(), &mut written).unwrap();
        assert_eq!(hex(&written), hex(&delta), "{}", vector["about"]);
        checked += 1;
    }
    assert_eq!(checked, 5);
}

#[test]
fn the_vectors_of_the_specification_are_read_and_written_as_it_says() {
    let mut formats = BTreeSet::new();
    let is_read_here = |vector: &&Value| {
        let format = vector["format"].as_str().unwrap();
        !vector["value"].is_null() && format != "header delta" && !OF_OTHERS.contains(&format)
    };
    for vector in vectors().iter().filter(is_read_here) {
        let (format, input) = (vector["format"].as_str().unwrap(), bytes(vector["hex"].as_str().unwrap()));
        let (value, written) = read(format, &input);
        assert_eq!(value, vector["value"], "{format}: {}", vector["about"]);
        if let Some(written) = written {
            assert_eq!(hex(&written), hex(&input), "{format}: {}", vector["about"]);
        }
        formats.insert(format.to_owned());
    }
    assert_eq!(formats.len(), 30, "{formats:?}");
}
