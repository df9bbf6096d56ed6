//! Two nodes face to face, for a profiler: sends the same packets through them repeatedly.
//!
//! `cargo build --release -p overheard-sim --example face_to_face`, then for instance
//! `valgrind --tool=callgrind target/release/examples/face_to_face 50 2 acked`: 50% of the bytes repeat, 2
//! passes.

use sim::Tunnel;
use sim::workload::{FaceToFace, packets};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let percent: f64 = arguments.next().unwrap_or_else(|| "50".to_owned()).parse()?;
    let passes: usize = arguments.next().unwrap_or_else(|| "2".to_owned()).parse()?;
    let policy = published::policy::named(&arguments.next().unwrap_or_else(|| "acked".to_owned()))?;
    let packets = packets(percent / 100.0, 12_000);
    let mut pair = FaceToFace::new(1, &Tunnel::from(policy))?;
    let mut right = 0;
    for _ in 0..passes {
        for batch in packets.chunks(32) {
            pair.pack(batch);
            pair.seal();
            pair.unpack();
            right += pair.deliver(batch);
            pair.answer();
        }
    }
    println!("{right} packets of {} came out as they went in", passes * packets.len());
    Ok(())
}
