//! Receipts.

use crate::Seed;
use wire::receipt::{MAX_BITMAP_BYTES, Receipt};

/// A receipt says of every sequence within its span whether it is held, and of none beyond.
pub fn check(bytes: &[u8]) -> bool {
    let Ok(receipt) = Receipt::parse(bytes) else { return false };
    let mut out = Vec::new();
    receipt.emit(&mut out);
    assert!(out.len() <= bytes.len(), "numbers are written in their shortest form");
    assert_eq!(Receipt::parse(&out), Ok(receipt));
    assert!(receipt.span() <= 8 * MAX_BITMAP_BYTES as u64);
    let held = (0..receipt.span()).filter(|&back| receipt.holds(back) == Some(true)).count();
    assert_eq!(held, receipt.held.iter().map(|byte| byte.count_ones() as usize).sum::<usize>());
    for beyond in [receipt.span(), receipt.span() + 7, u64::MAX] {
        assert_eq!(receipt.holds(beyond), None);
    }
    true
}

/// A usual receipt, the largest one, and one that holds nothing.
pub fn seeds() -> Vec<Seed> {
    let usual = Receipt {
        newest: 0x0001_0203,
        generation: 1,
        received: 500,
        delay_64us: 40,
        held: &[0xfd, 0xff],
        parked: &[],
    };
    vec![
        Seed::of("usual", |out| usual.emit(out)),
        Seed::of("largest", |out| {
            Receipt { newest: 0x00ff_ffff, delay_64us: u32::MAX, held: &[0xff; MAX_BITMAP_BYTES], ..usual }
                .emit(out);
        }),
        Seed::of("parked", |out| Receipt { parked: &[2], ..usual }.emit(out)),
        Seed::of("nothing-held", |out| Receipt { held: &[], ..usual }.emit(out)),
    ]
}
