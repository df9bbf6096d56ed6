//! Restart time of a cache with very many responses, after any end of its process.
//!
//! The default is 10,000 responses, because creating them takes time. `OVERHEARD_OBJECTS=100000` and
//! `--release` give the full measurement; the bound is for the installed program.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use hyper::StatusCode;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, DATE, ETAG, HeaderMap, HeaderValue, LAST_MODIFIED};
use std::time::{Duration, Instant};
use webcache::semantics::freshness::Freshness;
use webcache::semantics::key::Key;
use webcache::store::{Head, Limits, Next, Policy, Reader, Store};

const BOUND: Duration = Duration::from_secs(2);

fn head(number: usize) -> Head {
    let date = "Sun, 06 Nov 1994 08:49:37 GMT";
    let mut headers = HeaderMap::new();
    headers.insert(ETAG, HeaderValue::try_from(format!("\"5f3a{number:012x}\"")).unwrap());
    for (name, value) in [
        (DATE, date),
        (LAST_MODIFIED, date),
        (CACHE_CONTROL, "public, max-age=604800"),
        (CONTENT_TYPE, "application/vnd.debian.binary-package"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let freshness = Freshness::of(StatusCode::OK, &headers, 0, 0);
    Head { status: StatusCode::OK, headers, freshness }
}

fn key(number: usize) -> Key {
    Key::parse(&format!("http://deb.example.org/debian/pool/main/p/package/package_{number}.0-1_amd64.deb"))
        .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn very_many_responses_are_known_again_at_once() {
    let objects = std::env::var("OVERHEARD_OBJECTS").map_or(10_000, |objects| objects.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let limits = Limits {
        memory_bytes: 8 << 20,
        directory: Some((folder.path().to_owned(), 8 << 30)),
        objects: 2 * objects,
        object_bytes: 1 << 30,
        policy: Policy::S3Fifo,
    };
    {
        let store = Store::open(limits.clone()).unwrap();
        for number in 0..objects {
            let bytes = number.to_le_bytes();
            let length = bytes.len() as u64;
            let mut fill =
                store.insert(key(number), Vec::new(), head(number), Some(length), (0, Some(length)));
            fill.push(bytes.to_vec().into()).await.unwrap();
            fill.finish().await.unwrap();
        }
        // Nothing is written at the end, as after a kill.
    }
    let took: Vec<Duration> = (0..3)
        .map(|_| {
            let began = Instant::now();
            let store = Store::open(limits.clone()).unwrap();
            let took = began.elapsed();
            assert_eq!(store.usage().objects, objects as u64);
            took
        })
        .collect();
    println!("{objects} responses are known again after {took:?}");
    let store = Store::open(limits).unwrap();
    for number in [0, 4_711, objects - 1] {
        let object = store.lookup(&key(number), &HeaderMap::new()).unwrap();
        let mut reader = Reader::new(store.clone(), object, None);
        assert!(matches!(reader.next().await, Next::Bytes(bytes) if *bytes == number.to_le_bytes()));
    }
    // The best of three, because other programs also load this machine.
    assert!(took.iter().min().is_some_and(|best| *best < BOUND), "{took:?}");
}
