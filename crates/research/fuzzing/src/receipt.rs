//! Receipts.

use crate::Seed;
use wire::receipt::{MAX_SPAN, Receipt, Runs, State};

/// A receipt's runs follow one another without gaps, and a parsed receipt is emitted equally.
pub fn check(bytes: &[u8]) -> bool {
    let Ok(receipt) = Receipt::parse(bytes) else { return false };
    let mut out = Vec::new();
    receipt.emit(&mut out);
    assert!(out.len() <= bytes.len(), "numbers are written in their shortest form");
    assert_eq!(Receipt::parse(&out), Ok(receipt));
    let mut end = 0;
    for (run, _) in receipt.runs() {
        assert_eq!(run.start, end);
        assert!(run.end > end);
        end = run.end;
    }
    assert!(end <= u64::from(MAX_SPAN));
    true
}

/// A usual receipt, one with every number at its largest, one of each state, and one that tells of nothing.
pub fn seeds() -> Vec<Seed> {
    let runs = |runs: &[(State, u32)], out: &mut Vec<u8>| {
        let mut written = Runs::default();
        for &(state, length) in runs {
            written.push(state, length, usize::MAX);
        }
        let runs = written.finish();
        Receipt { newest: 0x0001_0203, generation: 1, received: 500, delay_64us: 40, settled: 16, runs }
            .emit(out);
    };
    let largest = |out: &mut Vec<u8>| {
        let most = Receipt {
            newest: 0x00ff_ffff,
            generation: u8::MAX,
            received: u32::MAX,
            delay_64us: u32::MAX,
            settled: u32::MAX,
            runs: &[],
        };
        most.emit(out);
        wire::varint::emit(MAX_SPAN << 2 | 1, out);
    };
    let states =
        [(State::Held, 1), (State::Missing, 2), (State::Parked, 3), (State::Untold, 400), (State::Held, 70)];
    vec![
        Seed::of("usual", |out| runs(&[(State::Held, 1), (State::Missing, 1), (State::Held, 14)], out)),
        Seed::of("largest", largest),
        Seed::of("parked", |out| runs(&states, out)),
        Seed::of("nothing-held", |out| runs(&[], out)),
    ]
}
