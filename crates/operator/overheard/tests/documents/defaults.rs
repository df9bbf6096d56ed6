//! Comments with defaults that the code determines after reading a file, compared with the code.

#![allow(clippy::unwrap_used)] // a test fails by panicking

use crate::reference;
use crate::support::documents::read;
use std::collections::{BTreeMap, BTreeSet};

/// A key of a node, the source of its default, and the text before the value there. An ellipsis matches any
/// text.
const OF_NODES: [(&str, &str, &str); 34] = [
    ("[node] listen", RESOLVE, "const PORT: u16 = "),
    ("[node] source_ports", RESOLVE, "source_ports.unwrap_or("),
    ("[node] threads", RESOLVE, "threads.unwrap_or("),
    ("[node] revoked_file", RESOLVE, "const STATE_DIRECTORY: &str = "),
    ("[node] status_socket", "crates/operator/daemon/src/sockets.rs", "const SOCKET_DIRECTORY: &str = "),
    ("[[peer]] keepalive_seconds", RESOLVE, "const KEEPALIVE: Duration = Duration::from_secs("),
    ("[[gateway]] keepalive_seconds", GATEWAYS, "STATION_KEEPALIVE: Duration = Duration::from_secs("),
    ("[[gateway]] keepalive_seconds", GATEWAYS, "GATEWAY_KEEPALIVE: Duration = Duration::from_secs("),
    ("[routing] refresh_seconds", "crates/operator/daemon/src/config/destinations.rs", "SECONDS: u32 = "),
    ("[link] fec", "crates/operator/daemon/src/config/file.rs", "pub enum Correction…#[default]\n    "),
    ("[link] control", "crates/operator/daemon/src/config/file.rs", "pub enum Control…#[default]\n    "),
    ("[reduce] policy", PARAMETERS, "pub enum Policy…#[default]\n    "),
    ("[reduce] form", PARAMETERS, "pub enum Form…#[default]\n    "),
    ("[reduce] sharing", "crates/tunnel/re/src/sharing.rs", "pub enum Sharing…#[default]\n    "),
    ("[reduce] spare_processor", "crates/tunnel/node/src/config.rs", "            spares_processor: "),
    ("[reduce] window_bytes", PARAMETERS, "            window_bytes: "),
    ("[reduce] sample_bits", PARAMETERS, "            sample_bits: "),
    ("[memory] mib", MEMORY, "const LEAST_DEFAULT_MIB: u64 = "),
    ("[memory] mib", MEMORY, "const MOST_DEFAULT_MIB: u64 = "),
    ("[snoop] buffer_packets", "crates/tunnel/recovery/src/settings.rs", "Settings { buffer_packets: "),
    ("[snoop] replacement", "crates/tunnel/recovery/src/settings.rs", ", replacement: Replacement::"),
    ("[snoop] distance", "crates/operator/daemon/src/config/snoop.rs", "distance.unwrap_or("),
    ("[streams] memory_mib", STREAMS, "const MEMORY_MIB: usize = "),
    ("[streams] answer_early", STREAMS, "answer_early.unwrap_or("),
    ("[streams] connections", STREAMS, "const CONNECTIONS: usize = "),
    ("[split] connections", SPLIT, "const CONNECTIONS: usize = "),
    ("[split] idle_seconds", SPLIT, "const IDLE_SECONDS: u64 = "),
    ("[split] port", SPLIT, "const PORT: u16 = "),
    ("[split] mark", SPLIT, "const MARK: u32 = "),
    ("[split] table", SPLIT, "const TABLE: u32 = "),
    ("[split] rules", SPLIT, "rules.unwrap_or("),
    ("[overhear] slot_bits", "crates/tunnel/node/src/config.rs", "Group { slot_bits: "),
    ("[overhear] rate_mbps", "crates/tunnel/node/src/config.rs", ", rate_bits_per_second: "),
    ("[dashboard] listen", "crates/operator/daemon/src/config/dashboard.rs", "const PORT: u16 = "),
];
const OF_CACHES: [(&str, &str, &str); 2] = [
    (
        "[cache] stale_if_unreachable_seconds",
        "crates/operator/daemon/src/cache/config/resolve.rs",
        "const STALE_SECONDS: u32 = ",
    ),
    (
        "[management] listen",
        "crates/operator/daemon/src/cache/config/file.rs",
        "SocketAddr::from(([127, 0, 0, 1], ",
    ),
];
const RESOLVE: &str = "crates/operator/daemon/src/config/resolve.rs";
const GATEWAYS: &str = "crates/operator/daemon/src/config/gateways.rs";
const SPLIT: &str = "crates/operator/daemon/src/config/split.rs";
const MEMORY: &str = "crates/operator/daemon/src/config/memory.rs";
const STREAMS: &str = "crates/operator/daemon/src/config/streams.rs";
const PARAMETERS: &str = "crates/tunnel/re/src/parameters.rs";

/// Defaults that depend on other keys.
const BY_OTHER_KEYS: [&str; 6] = [
    "[reduce] store_mib",
    "[shorten] headers",
    "[shorten] literals",
    "[shorten] packing",
    "[snoop] adaptive",
    "[snoop] reed_solomon",
];

/// The value behind a text of a source, in a file's form.
fn value(source: &str, before: &str) -> String {
    let text = read(source);
    let mut rest = text.as_str();
    for part in before.split('…') {
        rest = rest.split_once(part).unwrap_or_else(|| panic!("{source} has no {part:?}")).1;
    }
    let value = rest.split([';', ',', ')', ' ']).next().unwrap();
    value.replace(['_', '"'], "").to_lowercase()
}

#[test]
fn defaults_in_comments_are_those_of_the_code() {
    for (chapter, settled) in [&OF_NODES[..], &OF_CACHES].into_iter().enumerate() {
        let keys = reference::configuration(chapter).keys();
        let said: BTreeMap<String, &str> = keys
            .iter()
            .filter(|key| key.is_default_said && key.default.contains('`'))
            .map(|key| (format!("{} {}", key.table, key.name), key.default.as_str()))
            .collect();
        for (key, source, before) in settled {
            let value = value(source, before);
            let value =
                if *key == "[overhear] rate_mbps" { value.trim_end_matches("000000") } else { &value };
            let default = said.get(*key).unwrap_or_else(|| panic!("the comment of {key} says a default"));
            let words = |letter: char| !letter.is_alphanumeric() && !"/.".contains(letter);
            let is_said =
                default.split(words).any(|word| word == value || word.starts_with(&format!("{value}/")));
            assert!(is_said, "{key}: the comment says {default}, the code {value}");
        }
        let known: BTreeSet<&str> = settled.iter().map(|(key, ..)| *key).chain(BY_OTHER_KEYS).collect();
        for key in said.keys() {
            assert!(known.contains(key.as_str()), "no test compares the default of {key} with the code");
        }
    }
}

/// Numbers of the handshake and of sessions in docs/wire-format.md: the source, the text before the value
/// there, and the words of the page, with `N` for the value.
const OF_SESSIONS: [(&str, &str, &str); 9] = [
    (
        "session/transport.rs",
        "REKEY_AFTER: Duration = Duration::from_secs(",
        "begins a new handshake at an age of N seconds",
    ),
    (
        "session/transport.rs",
        "REJECT_AFTER: Duration = Duration::from_secs(",
        "From N seconds on, keys neither seal nor open",
    ),
    (
        "session/initiator.rs",
        "const EAGER_WAIT: Duration = Duration::from_millis(",
        "| wait before the next repetition | N ms |",
    ),
    (
        "session/initiator.rs",
        "const WAITS: [Duration; 2] = [Duration::from_millis(600), Duration::from_secs(",
        "to N seconds |",
    ),
    (
        "session/initiator.rs",
        "const ATTEMPT_LASTS: [Duration; 2] = [Duration::from_secs(",
        "gives way to a new one | N seconds |",
    ),
    (
        "session/initiator.rs",
        "const GIVE_UP_AFTER: Duration = Duration::from_secs(",
        "gives up after N seconds",
    ),
    ("session/admission/mod.rs", "const WITHOUT_COOKIE_PER_SECOND: u32 = ", "It has decrypted N initiations"),
    (
        "session/admission/cookies.rs",
        "SECRET_LIFETIME: Duration = Duration::from_secs(",
        "must be accepted for at least N seconds",
    ),
    ("session/admission/answers.rs", "const MARKS: usize = ", "remembers at least the last N"),
];

#[test]
fn the_wire_formats_page_has_the_numbers_of_the_code() {
    let page = read("docs/wire-format.md").split_whitespace().collect::<Vec<_>>().join(" ").replace(',', "");
    for (source, before, words) in OF_SESSIONS {
        let value = value(&format!("crates/tunnel/node/src/{source}"), before);
        assert!(
            page.contains(&words.replace(',', "").replace('N', &value)),
            "{source}: the code has {value}: {words}"
        );
    }
    let words: u64 =
        value("crates/tunnel/node/src/session/replay.rs", "const WORDS: usize = ").parse().unwrap();
    let window = (words - 1) * 64;
    assert!(page.contains(&format!("down to h - {}: {window} counters", window - 1)), "{window}");
}
