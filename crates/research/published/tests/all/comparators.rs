//! What the comparators find, restore and send.

#![allow(clippy::unwrap_used)] // a harness fails by panicking

#[allow(dead_code, reason = "the content of another crate's tests, of which these take a part")]
#[path = "../../../../tunnel/overhear/tests/all/content.rs"]
mod content;

use content::Content;
use overhear::boundaries::{Boundaries, Method, MinChunk};
use proptest::prelude::*;
use published::comparators::{
    Counted, Cut, HashedChunks, HashedChunksReceiver, Hashes, Ideal, LongestMatch, MaxMatch,
};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

fn packets(count: usize) -> Vec<Vec<u8>> {
    let (mut content, mut rng) = (Content::new(21), ChaCha8Rng::seed_from_u64(22));
    (0..count).map(|_| content.packet(&mut rng)).collect()
}

#[test]
fn hashed_chunks_restore_what_was_sent_however_hashes_travel() {
    let packets = packets(1500);
    for cut in [Cut::Chunks(Boundaries::default()), Cut::Packets] {
        for hashes in [Hashes::Reckoned, Hashes::Shipped] {
            let mut encoder = HashedChunks::new(cut, hashes, 300_000);
            let mut decoder = HashedChunksReceiver::new(300_000);
            let mut counted = Counted::default();
            let repeated: Vec<&Vec<u8>> = packets.iter().flat_map(|packet| [packet, packet]).collect();
            for packet in repeated {
                let (mut air, mut restored) = (Vec::new(), Vec::new());
                counted += encoder.encode(packet, &mut air);
                decoder.decode(&air, &mut restored).unwrap();
                assert_eq!(&restored, packet);
            }
            assert!(counted.detected() >= 0.5 && counted.effective() > 0.2, "{cut:?} {hashes:?} {counted:?}");
        }
    }
}

#[test]
fn each_finds_what_the_paper_says_it_finds() {
    let mut found = std::collections::HashMap::new();
    let boundaries = Boundaries { method: Method::Maxp, min_chunk: MinChunk::Bytes32 };
    let mut max_match = MaxMatch::new(64 << 20);
    let mut ideal = Ideal::new(boundaries, 20, &[1; 32], false);
    let mut with_parts = Ideal::new(boundaries, 20, &[1; 32], true);
    let mut reckoned = HashedChunks::new(Cut::Chunks(boundaries), Hashes::Reckoned, 64 << 20);
    let mut shipped = HashedChunks::new(Cut::Chunks(boundaries), Hashes::Shipped, 64 << 20);
    let mut whole = HashedChunks::new(Cut::Packets, Hashes::Reckoned, 64 << 20);
    for packet in packets(4000) {
        let mut count =
            |name, counted: Counted| *found.entry(name).or_insert_with(Counted::default) += counted;
        count("max-match", max_match.encode(&packet));
        count("ideal", ideal.encode(&packet, false));
        count("with parts", with_parts.encode(&packet, false));
        count("reckoned", reckoned.encode(&packet, &mut Vec::new()));
        count("shipped", shipped.encode(&packet, &mut Vec::new()));
        count("whole", whole.encode(&packet, &mut Vec::new()));
    }
    let detected = |name| found[name].detected();
    let effective = |name| found[name].effective();
    assert!(detected("max-match") > detected("reckoned"));
    assert!((detected("ideal") - detected("reckoned")).abs() < 0.01);
    assert!(detected("with parts") > detected("ideal") + 0.05, "{found:?}");
    assert!(detected("whole") < 0.01, "pieces at other offsets make no whole packets");
    assert!(effective("ideal") > effective("reckoned") && effective("reckoned") > effective("shipped"));
}

#[test]
fn the_ceiling_finds_more_than_any_other_and_nothing_in_fresh_bytes() {
    let boundaries = Boundaries { method: Method::Maxp, min_chunk: MinChunk::Bytes32 };
    let (mut ceiling, mut max_match) = (LongestMatch::new(20), MaxMatch::new(64 << 20));
    let mut ideal = Ideal::new(boundaries, 20, &[1; 32], true);
    let mut found = [Counted::default(); 3];
    for packet in packets(2000) {
        found[0] += ceiling.encode(&packet);
        found[1] += max_match.encode(&packet);
        found[2] += ideal.encode(&packet, false);
    }
    assert!(found[0].detected() > found[1].detected().max(found[2].detected()), "{found:?}");
    assert!(found[0].effective() > found[1].effective().max(found[2].effective()), "{found:?}");
    let mut fresh = vec![0; 1400];
    ChaCha8Rng::seed_from_u64(9).fill_bytes(&mut fresh);
    assert_eq!(ceiling.encode(&fresh).found_bytes, 0);
}

#[test]
fn the_ceiling_finds_each_stretch_of_32_bytes_wherever_it_stood_and_no_shorter_one() {
    let mut heard = vec![0; 1000];
    ChaCha8Rng::seed_from_u64(10).fill_bytes(&mut heard);
    for start in 0..20 {
        for length in [31, 32, 33, 200] {
            let mut ceiling = LongestMatch::new(20);
            ceiling.keep(&heard);
            let packet = [&[1; 50], &heard[start..start + length], &[2; 50]].concat();
            let found = ceiling.encode(&packet).found_bytes as usize;
            // one more where the byte beside it happens to be the same
            assert!(
                if length < 32 { found <= 33 && found != 31 } else { found >= length },
                "{start} {length}"
            );
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_are_decoded_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let mut out = Vec::new();
        let _ = HashedChunksReceiver::new(1000).decode(&bytes, &mut out);
        prop_assert!(out.len() <= 65_535 + 300);
    }
}
