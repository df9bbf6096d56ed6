//! The index of a cache's directory.

use crate::Seed;
use webcache::semantics::freshness::Freshness;
use webcache::store::chunk::ChunkId;
use webcache::store::journal::{Record, Stored, emit, parse};

/// A record that is read writes itself again and reads the same.
pub fn check(bytes: &[u8]) -> bool {
    let Some(record) = parse(bytes) else { return false };
    let mut out = Vec::new();
    emit(&record, &mut out);
    assert_eq!(parse(&out), Some(record));
    true
}

/// One of each kind.
pub fn seeds() -> Vec<Seed> {
    let freshness = Freshness {
        received: 1_700_000_000,
        initial_age: 2,
        lifetime: 3600,
        stale_while_revalidate: 0,
        stale_if_error: None,
        must_revalidate: false,
        always_validate: false,
    };
    let stored = Stored {
        object: 7,
        key: "http://a/".to_owned(),
        nominated: vec![("accept".to_owned(), "text/html".to_owned())],
        status: 200,
        headers: vec![("etag".to_owned(), "\"x\"".to_owned())],
        freshness,
        length: Some(9),
    };
    vec![
        Seed::of("object", |out| emit(&Record::Object(stored), out)),
        Seed::of("chunk", |out| {
            emit(&Record::Chunk { object: 7, number: 1, length: 9, id: ChunkId::of(b"x") }, out);
        }),
        Seed::of("length", |out| emit(&Record::Length { object: 7, length: 9 }, out)),
        Seed::of("removed", |out| emit(&Record::Removed { object: 7 }, out)),
    ]
}
