//! Loss notices.

use crate::Seed;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::inner::{Flow, TCP};
use wire::notice::{MAX_BYTES, MAX_STRETCHES, Notice};

/// A notice names a bounded number of stretches that are not empty, and reads the same when it is written
/// again.
pub fn check(bytes: &[u8]) -> bool {
    let Ok(notice) = Notice::parse(bytes) else { return false };
    let stretches: Vec<(u32, u32)> = notice.stretches().collect();
    assert!(stretches.len() <= MAX_STRETCHES && stretches.iter().all(|&(_, length)| length > 0));
    let mut out = Vec::new();
    Notice::emit(&notice.flow, stretches.iter().copied(), &mut out);
    assert!(out.len() <= bytes.len().min(MAX_BYTES), "numbers are written in their shortest form");
    let again = Notice::parse(&out).expect("it was written");
    assert_eq!((again.flow, again.stretches().collect::<Vec<_>>()), (notice.flow, stretches));
    true
}

/// One stretch of either family, and as many as may be.
pub fn seeds() -> Vec<Seed> {
    let flow = |source: IpAddr, destination: IpAddr| Flow {
        source,
        destination,
        protocol: TCP,
        source_port: 4242,
        destination_port: 80,
    };
    let ipv4 = flow(Ipv4Addr::new(10, 0, 0, 2).into(), Ipv4Addr::new(10, 0, 0, 1).into());
    let ipv6 = flow(Ipv6Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into());
    vec![
        Seed::of("ipv4", |out| Notice::emit(&ipv4, [(1000, 1448)], out)),
        Seed::of("ipv6", |out| Notice::emit(&ipv6, [(u32::MAX, 1), (5, u32::MAX)], out)),
        Seed::of("most", |out| Notice::emit(&ipv4, [(7, 300); MAX_STRETCHES], out)),
    ]
}
