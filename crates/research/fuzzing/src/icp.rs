//! ICP, which other caches speak.

use crate::Seed;
use webcache::icp::message::{LONGEST_BYTES, Message, Opcode};

/// A message that is read is about a URL that a cache could hold, and reads the same when it is written.
pub fn check(bytes: &[u8]) -> bool {
    let Some(message) = Message::parse(bytes) else { return false };
    let scheme = message.url.get(..4).unwrap_or_default();
    assert!(bytes.len() <= LONGEST_BYTES && scheme.eq_ignore_ascii_case("http"));
    let written = message.emit().expect("what was read can be written");
    assert_eq!(written.len(), bytes.len());
    assert_eq!(Message::parse(&written), Some(message));
    true
}

/// A question and its answers.
pub fn seeds() -> Vec<Seed> {
    let said = |name, opcode| {
        let message = Message { opcode, number: 7, url: "http://a/x".to_owned() };
        Seed { name, bytes: message.emit().expect("it is short") }
    };
    vec![said("query", Opcode::Query), said("hit", Opcode::Hit), said("miss", Opcode::Miss)]
}
