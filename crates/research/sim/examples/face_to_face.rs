//! Two nodes face to face, for a profiler: sends the same packets through them repeatedly.
//!
//! `cargo build --release -p overheard-sim --example face_to_face`, then for instance
//! `valgrind --tool=callgrind target/release/examples/face_to_face 50 2 acked`: 50% of the bytes repeat, 2
//! passes. A fourth argument is the number of different packets, and a fifth how many of them are sent:
//! `scripts/router-instructions` counts the difference of two such numbers. With `aes` in front of them, the
//! nodes have instructions for AES.

use sim::Tunnel;
use sim::workload::{FaceToFace, packets};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1).peekable();
    let computes_aes = arguments.next_if(|first| first == "aes").is_some();
    let percent: f64 = arguments.next().unwrap_or_else(|| "50".to_owned()).parse()?;
    let passes: usize = arguments.next().unwrap_or_else(|| "2".to_owned()).parse()?;
    let policy = published::policy::named(&arguments.next().unwrap_or_else(|| "acked".to_owned()))?;
    let different: usize = arguments.next().unwrap_or_else(|| "12000".to_owned()).parse()?;
    let sent: usize = arguments.next().map_or(Ok(different), |sent| sent.parse())?;
    let mut packets = packets(percent / 100.0, different);
    packets.truncate(sent);
    let mut pair = FaceToFace::new(1, &Tunnel { computes_aes, ..Tunnel::from(policy) })?;
    let mut right = 0;
    for _ in 0..passes {
        for batch in packets.chunks(32) {
            pair.pack(batch);
            pair.seal();
            pair.unpack();
            right += pair.deliver_unread(batch);
            pair.answer();
        }
    }
    println!("{right} packets of {} came out as they went in", passes * packets.len());
    Ok(())
}
