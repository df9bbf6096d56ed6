//! Encoder and decoder face to face, with nothing lost between them.

mod link;

use link::{Arrival, Link, all_parameters, pseudo_random, tcp_packet};
use re::Policy;

#[test]
fn a_repeated_file_is_reduced_and_restored_under_every_policy_and_form() {
    let file = pseudo_random(1, 100_000);
    for parameters in all_parameters(1 << 20) {
        let mut link = Link::new(parameters);
        // The second time the file is cut elsewhere.
        for chunk in file.chunks(1460).chain(file.chunks(1200)) {
            let packet = tcp_packet(80, link.originals.len() as u32 * 1460, chunk);
            let frame = link.send(&packet);
            assert_eq!(link.receive(&frame), Arrival::Delivered(packet));
            link.receipt(1);
        }
        let removed = link.encoder.statistics().removed_bytes;
        match parameters.policy {
            Policy::Off => assert_eq!(removed, 0),
            Policy::KDistance { .. } => assert!(removed < 1000),
            _ => assert!(removed > 80_000, "{parameters:?}: {removed} bytes removed"),
        }
    }
}
