//! Compact shims with their literals.

use crate::Seed;
use wire::shim::MAX_RESTORED_BYTES;
use wire::shim::compact::{self, Compact, Region};

/// The lengths in a shim agree with each other and with the input.
pub fn check(bytes: &[u8]) -> bool {
    let Ok(shim) = Compact::parse(bytes) else { return false };
    let regions: Vec<Region> = shim.regions().collect();
    let literal_bytes: usize = regions.iter().map(|region| region.literal_bytes as usize).sum();
    let region_bytes: usize = regions.iter().map(|region| region.length as usize).sum();
    assert!(literal_bytes <= shim.literals.len());
    assert_eq!(shim.restored_bytes, region_bytes + shim.literals.len());
    assert!(shim.restored_bytes <= MAX_RESTORED_BYTES);
    assert!(regions.iter().all(|region| region.distance > 0 && region.length > 0));
    assert!(regions.len() * Region::MIN_BYTES <= bytes.len());
    let mut out = Vec::new();
    compact::emit(&regions, &mut out);
    out.extend_from_slice(shim.literals);
    assert!(out.len() <= bytes.len(), "numbers are written in their shortest form");
    let again = Compact::parse(&out).expect("what was read and written is read again");
    assert!(again.regions().eq(regions));
    assert_eq!((again.literals, again.restored_bytes), (shim.literals, shim.restored_bytes));
    true
}

/// No region, one, and several.
pub fn seeds() -> Vec<Seed> {
    let region = Region { literal_bytes: 40, distance: 1, offset: 40, length: 1000 };
    let several = [
        region,
        Region { literal_bytes: 0, distance: 300, offset: 0, length: 16 },
        Region { literal_bytes: 7, distance: 70_000, offset: 1400, length: 100 },
    ];
    [("no-region", &several[..0]), ("one-region", &several[..1]), ("several-regions", &several[..])]
        .into_iter()
        .map(|(name, regions)| {
            Seed::of(name, |out| {
                compact::emit(regions, out);
                out.extend_from_slice(&[0x33; 60]);
            })
        })
        .collect()
}
