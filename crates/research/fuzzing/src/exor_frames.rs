//! Frames of batches that are forwarded opportunistically.

use crate::Seed;
use published::exor::Batch;
use published::exor::frame::Frame;

/// A parsed and emitted frame parses equally, and a node that has heard of a batch sends no more than it
/// holds.
pub fn check(bytes: &[u8]) -> bool {
    let Ok(frame) = Frame::parse(bytes) else { return false };
    let forwarders: Vec<u16> = frame.forwarders().collect();
    let map: Vec<u8> = frame.map().collect();
    let mut again = Vec::new();
    let fragment = frame.fragment.map(|number| (number, frame.payload));
    Frame::emit(frame.batch, fragment, frame.place, frame.to_come, &forwarders, &map, &mut again);
    assert_eq!(again, bytes);
    for node in forwarders.iter().copied() {
        let Some(mut batch) = Batch::heard_of(node, bytes) else { continue };
        assert!(batch.handle_frame(bytes).is_ok());
        let held = batch.held().filter(Option::is_some).count();
        assert!(batch.to_send().len() <= held);
        assert!((0.0..=1.0).contains(&batch.arrived_share()));
    }
    true
}

/// A fragment, and a map alone.
pub fn seeds() -> Vec<Seed> {
    vec![
        Seed::of("fragment", |out| {
            Frame::emit(5, Some((1, b"a fragment")), 2, 4, &[30, 20, 10], &[2, 1, 0], out);
        }),
        Seed::of("map", |out| Frame::emit(5, None, 0, 0, &[30, 10], &[1; 64], out)),
    ]
}
