use super::*;
use crate::semantics::freshness::Freshness;
use chunk::CHUNK_BYTES;
use hyper::StatusCode;
use hyper::header::{ETAG, HeaderValue};
use std::path::Path;

fn limits(directory: Option<(&Path, u64)>, memory_bytes: u64) -> Limits {
    let directory = directory.map(|(path, bytes)| (path.to_owned(), bytes));
    Limits { memory_bytes, directory, objects: 1000, object_bytes: 1 << 40, policy: Policy::Lru }
}

fn head(etag: Option<&'static str>) -> Head {
    let mut headers = HeaderMap::new();
    etag.map(|etag| headers.insert(ETAG, HeaderValue::from_static(etag)));
    let freshness = Freshness::of(StatusCode::OK, &headers, 0, 0);
    Head { status: StatusCode::OK, headers, freshness }
}

fn content(seed: u8, length: usize) -> Bytes {
    use rand::{Rng, SeedableRng};
    let mut bytes = vec![0; length];
    rand_chacha::ChaCha8Rng::seed_from_u64(u64::from(seed)).fill_bytes(&mut bytes);
    bytes.into()
}

fn key(path: &str) -> Key {
    Key::parse(&format!("http://origin/{path}")).unwrap()
}

async fn stored(store: &Arc<Store>, path: &str, bytes: &Bytes, length: Option<u64>) -> Arc<Object> {
    let mut fill = store.insert(key(path), Vec::new(), head(Some("\"a\"")), length, (0, length));
    let object = fill.object().clone();
    for piece in bytes.chunks(70_001) {
        fill.push(Bytes::copy_from_slice(piece)).await.unwrap();
    }
    fill.finish().await.unwrap();
    object
}

async fn read(
    store: &Arc<Store>,
    object: &Arc<Object>,
    range: Option<std::ops::Range<u64>>,
) -> Option<Vec<u8>> {
    let mut reader = Reader::new(store.clone(), object.clone(), range);
    let mut all = Vec::new();
    loop {
        match reader.next().await {
            Next::Bytes(bytes) => all.extend_from_slice(&bytes),
            Next::End => return Some(all),
            Next::Missing(_) => return None,
        }
    }
}

#[tokio::test]
async fn what_went_in_comes_out_whole_and_in_parts() {
    let store = Store::open(limits(None, 64 << 20)).unwrap();
    for (path, length) in
        [("empty", 0), ("small", 10), ("edge", CHUNK_BYTES), ("large", 3 * CHUNK_BYTES + 17)]
    {
        let bytes = content(1, length);
        for declared in [Some(length as u64), None] {
            let object = stored(&store, path, &bytes, declared).await;
            assert!(object.is_whole(), "{path}");
            assert_eq!(read(&store, &object, None).await.unwrap(), bytes, "{path}");
            let (start, end) = (length as u64 / 3, length as u64 / 2);
            let part = read(&store, &object, Some(start..end)).await.unwrap();
            assert_eq!(part, bytes[start as usize..end as usize], "{path}");
        }
    }
    assert_eq!(store.usage().objects, 4, "a later response takes the earlier one's place");
}

#[tokio::test]
async fn readers_follow_a_content_while_it_comes_in() {
    let store = Store::open(limits(None, 64 << 20)).unwrap();
    let bytes = content(2, 2 * CHUNK_BYTES + 5);
    let mut fill = store.insert(key("a"), Vec::new(), head(None), None, (0, None));
    let object = fill.object().clone();
    let mut readers = Vec::new();
    for _ in 0..5 {
        let (store, object) = (store.clone(), object.clone());
        readers.push(tokio::spawn(async move { read(&store, &object, None).await }));
    }
    let mut first = Reader::new(store.clone(), object.clone(), None);
    fill.push(bytes.slice(..3)).await.unwrap();
    assert!(matches!(first.next().await, Next::Bytes(got) if got == bytes[..3]), "before the rest is there");
    fill.push(bytes.slice(3..)).await.unwrap();
    fill.finish().await.unwrap();
    for reader in readers {
        assert_eq!(reader.await.unwrap().unwrap(), bytes);
    }
}

#[tokio::test]
async fn a_fill_that_breaks_is_seen_and_another_goes_on_in_the_middle_of_a_chunk() {
    let store = Store::open(limits(None, 64 << 20)).unwrap();
    let bytes = content(3, CHUNK_BYTES + 100);
    let length = Some(bytes.len() as u64);
    let mut fill = store.insert(key("a"), Vec::new(), head(Some("\"a\"")), length, (0, length));
    let object = fill.object().clone();
    fill.push(bytes.slice(..1000)).await.unwrap();
    assert_eq!(fill.finish().await, Err(Broken::Short));
    assert!(!object.is_whole());
    let mut reader = Reader::new(store.clone(), object.clone(), None);
    assert!(matches!(reader.next().await, Next::Bytes(got) if got == bytes[..1000]));
    let Next::Missing(missing) = reader.next().await else { panic!("nothing is missing") };
    assert_eq!(missing, 1000..bytes.len() as u64);
    let mut fill = Fill::begin(store.clone(), object.clone(), 1000, Some(missing.end));
    fill.push(bytes.slice(1000..)).await.unwrap();
    fill.finish().await.unwrap();
    assert_eq!(read(&store, &object, None).await.unwrap(), bytes);
    assert!(object.is_whole());
}

#[tokio::test]
async fn a_content_that_is_longer_than_declared_is_refused() {
    let store = Store::open(limits(None, 64 << 20)).unwrap();
    let mut fill = store.insert(key("a"), Vec::new(), head(None), Some(10), (0, Some(10)));
    assert_eq!(fill.push(content(4, 11)).await, Err(Broken::Long));
}

#[tokio::test]
async fn equal_bytes_under_three_urls_are_kept_once() {
    let store = Store::open(limits(None, 64 << 20)).unwrap();
    let firmware = content(5, 2 * CHUNK_BYTES + 9);
    for path in ["a", "b", "c"] {
        stored(&store, path, &firmware, None).await;
    }
    let usage = store.usage();
    assert_eq!(
        (usage.memory_bytes, usage.deduplicated_bytes),
        (firmware.len() as u64, 2 * firmware.len() as u64)
    );
    store.invalidate(&key("a"));
    let object = store.lookup(&key("b"), &HeaderMap::new()).unwrap();
    assert_eq!(read(&store, &object, None).await.unwrap(), firmware);
}

#[tokio::test]
async fn memory_and_disk_stay_within_their_limits() {
    let folder = tempfile::tempdir().unwrap();
    let (memory, disk) = (3 * CHUNK_BYTES as u64, 8 * CHUNK_BYTES as u64);
    for limits in [limits(Some((folder.path(), disk)), memory), limits(None, memory)] {
        let store = Store::open(limits).unwrap();
        for round in 0..20 {
            stored(&store, &format!("{round}"), &content(round, CHUNK_BYTES + 1000), None).await;
            let usage = store.usage();
            assert!(usage.memory_bytes <= memory && usage.disk_bytes <= disk, "{usage:?}");
        }
        assert!(store.usage().evicted > 10);
        let last = store.lookup(&key("19"), &HeaderMap::new()).unwrap();
        assert_eq!(read(&store, &last, None).await.unwrap(), content(19, CHUNK_BYTES + 1000));
    }
}

#[tokio::test]
async fn what_is_larger_than_the_store_streams_through_and_is_not_kept() {
    let store = Store::open(limits(None, 4 * CHUNK_BYTES as u64)).unwrap();
    let bytes = content(6, 64 * CHUNK_BYTES);
    let fill = store.insert(key("a"), Vec::new(), head(None), None, (0, None));
    let object = fill.object().clone();
    let reader = Reader::new(store.clone(), object.clone(), None);
    let (writer_bytes, store_seen) = (bytes.clone(), store.clone());
    let writer = tokio::spawn(async move {
        let mut fill = fill;
        for piece in writer_bytes.chunks(50_000) {
            fill.push(Bytes::copy_from_slice(piece)).await.unwrap();
            assert!(store_seen.usage().memory_bytes <= 4 * CHUNK_BYTES as u64);
        }
        fill.finish().await.unwrap();
    });
    let mut reader = reader;
    let mut all = Vec::new();
    while let Next::Bytes(piece) = reader.next().await {
        all.extend_from_slice(&piece);
    }
    drop(reader);
    writer.await.unwrap();
    assert_eq!(all, bytes);
    assert_eq!(store.usage().objects, 0);
}

#[tokio::test]
async fn a_directory_outlives_its_process_and_what_the_disk_changed_is_not_served() {
    let folder = tempfile::tempdir().unwrap();
    let open = || Store::open(limits(Some((folder.path(), 1 << 30)), 1 << 20));
    let bytes = content(7, 3 * CHUNK_BYTES + 1);
    {
        let store = open().unwrap();
        stored(&store, "a", &bytes, None).await;
        stored(&store, "gone", &content(8, 5), None).await;
        store.invalidate(&key("gone"));
        assert!(matches!(open(), Err(NoDirectory::InUse(_))));
    }
    let store = open().unwrap();
    assert!(store.lookup(&key("gone"), &HeaderMap::new()).is_none());
    let object = store.lookup(&key("a"), &HeaderMap::new()).unwrap();
    assert_eq!(object.head().headers[ETAG], "\"a\"");
    assert_eq!(read(&store, &object, None).await.unwrap(), bytes);
    drop((store, object));
    let damaged = ChunkId::of(&bytes[CHUNK_BYTES..2 * CHUNK_BYTES]).to_string();
    let path = folder.path().join("chunks").join(&damaged[..2]).join(&damaged);
    let mut on_disk = std::fs::read(&path).unwrap();
    on_disk[77] ^= 1;
    std::fs::write(&path, on_disk).unwrap();
    let store = open().unwrap();
    let object = store.lookup(&key("a"), &HeaderMap::new()).unwrap();
    let mut reader = Reader::new(store.clone(), object.clone(), None);
    assert!(matches!(reader.next().await, Next::Bytes(_)));
    let Next::Missing(missing) = reader.next().await else { panic!("damage was served") };
    assert_eq!(missing, CHUNK_BYTES as u64..2 * CHUNK_BYTES as u64);
    assert_eq!(store.usage().disk_damaged, 1);
}

#[tokio::test]
async fn a_disk_that_takes_nothing_lets_content_pass() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(limits(Some((folder.path(), 1 << 30)), 1 << 20)).unwrap();
    // A missing directory refuses writes like a full one, even for root.
    std::fs::remove_dir_all(folder.path().join("chunks")).unwrap();
    let bytes = content(9, 1000);
    let mut fill = store.insert(key("a"), Vec::new(), head(None), None, (0, None));
    let mut reader = Reader::new(store.clone(), fill.object().clone(), None);
    fill.push(bytes.clone()).await.unwrap();
    fill.finish().await.unwrap();
    assert!(matches!(reader.next().await, Next::Bytes(got) if got == bytes));
    assert_eq!((store.usage().disk_refused, store.usage().objects), (1, 0));
}

#[tokio::test]
async fn bytes_whose_beginning_was_lost_meanwhile_join_nothing() {
    let store = Store::open(limits(None, 64 << 20)).unwrap();
    let bytes = content(10, 2 * CHUNK_BYTES);
    let length = Some(bytes.len() as u64);
    let object = stored(&store, "a", &bytes, length).await;
    // A second fill is in the middle of a stored chunk when that chunk is lost.
    let mut fill = Fill::begin(store.clone(), object.clone(), 0, length);
    fill.push(bytes.slice(..1000)).await.unwrap();
    object.content().slots[0] = object::Slot::Absent;
    fill.push(bytes.slice(1000..)).await.unwrap();
    fill.finish().await.unwrap();
    assert_eq!(read(&store, &object, None).await, None, "the beginning is missing, and said to be");
    assert_eq!(
        read(&store, &object, Some(CHUNK_BYTES as u64..2 * CHUNK_BYTES as u64)).await.unwrap(),
        bytes[CHUNK_BYTES..]
    );
}

#[tokio::test]
async fn a_small_disk_is_not_filled_by_its_index() {
    let folder = tempfile::tempdir().unwrap();
    let disk = 4 << 20;
    let store = Store::open(limits(Some((folder.path(), disk)), 1 << 20)).unwrap();
    let object = stored(&store, "a", &content(11, 1000), None).await;
    for _ in 0..20_000 {
        store.freshen(&object, head(Some("\"a\"")));
    }
    assert_eq!(store.usage().objects, 1);
    stored(&store, "b", &content(12, 1000), None).await;
    assert_eq!(store.usage().objects, 2, "what is renewed often costs nobody his place");
    let index = folder.path().join("index").metadata().unwrap().len();
    assert!(index < disk / 8, "{index}");
}

#[tokio::test]
async fn of_two_responses_that_a_killed_process_left_for_one_request_the_later_one_counts() {
    let folder = tempfile::tempdir().unwrap();
    let open = || Store::open(limits(Some((folder.path(), 1 << 30)), 1 << 20)).unwrap();
    let (old, new) = (content(13, 700), content(14, 800));
    {
        let store = open();
        stored(&store, "a", &old, None).await;
        stored(&store, "b", &new, None).await;
    }
    // As if the second one replaced the first one and the record of that were lost.
    let path = folder.path().join("index");
    let mut records = Vec::new();
    drop(Journal::open(&path, |record| records.push(record)).unwrap());
    std::fs::remove_file(&path).unwrap();
    let mut journal = Journal::open(&path, |_| {}).unwrap();
    for mut record in records {
        if let Record::Object(stored) = &mut record {
            stored.key = key("a").as_str().to_owned();
        }
        journal.append(&record).unwrap();
    }
    drop(journal);
    let store = open();
    let usage = store.usage();
    assert_eq!((usage.objects, usage.chunks, usage.disk_bytes), (1, 1, 4096));
    let object = store.lookup(&key("a"), &HeaderMap::new()).unwrap();
    assert_eq!(read(&store, &object, None).await.unwrap(), new);
}
