//! Packets with chunks named by slots.

use crate::Seed;
use wire::shim::MAX_RESTORED_BYTES;
use wire::shim::slots::{Encoded, Run, Slots, Stretch};

/// The lengths in a shim agree with each other and with the input.
pub fn check(bytes: &[u8]) -> bool {
    let Ok(encoded) = Encoded::parse(bytes) else { return false };
    let runs: Vec<Run> = encoded.runs().collect();
    let slots: Vec<u32> = encoded.slots().collect();
    assert_eq!(slots.len(), encoded.slot_count);
    assert_eq!(runs.iter().map(|run| run.slots as usize).sum::<usize>(), slots.len());
    assert!(slots.iter().all(|slot| slot >> encoded.slot_bits == 0));
    assert!(slots.len() + encoded.literals.len() <= MAX_RESTORED_BYTES);
    let (mut literal_bytes, mut named) = (0, 0);
    for stretch in encoded.stretches() {
        match stretch {
            Stretch::Literals(literals) => literal_bytes += literals.len(),
            Stretch::Slot(slot, _) => {
                assert_eq!(slot, slots[named]);
                named += 1;
            }
        }
    }
    assert_eq!((literal_bytes, named), (encoded.literals.len(), slots.len()));
    let shim = Slots { slot_bits: encoded.slot_bits, mac: encoded.mac, runs: &runs, slots: &slots };
    let mut out = Vec::new();
    shim.emit(&mut out);
    assert_eq!(out.len(), shim.encoded_len());
    out.extend_from_slice(encoded.literals);
    assert!(out.len() <= bytes.len(), "numbers are written in their shortest form");
    let again = Encoded::parse(&out).expect("what was read and written is read again");
    assert!(again.runs().eq(runs) && again.references().eq(encoded.references()));
    assert_eq!(
        (again.literals, again.mac, again.slot_bits),
        (encoded.literals, encoded.mac, encoded.slot_bits)
    );
    true
}

/// No slot, some with a MAC, and more runs than the first byte can say.
pub fn seeds() -> Vec<Seed> {
    let run = Run::of_whole(3, 2);
    let of_parts = Run { end: 1, beginning: 7, ..run };
    let many: Vec<u32> = (0..20).map(|at| at * 52_000).collect();
    let seed = |name, slot_bits, mac, runs: &[Run], slots: &[u32]| {
        Seed::of(name, |out| {
            Slots { slot_bits, mac, runs, slots }.emit(out);
            out.extend_from_slice(&[0x33; 60]);
        })
    };
    vec![
        seed("no-slot", 20, None, &[], &[]),
        seed("with-mac", 20, Some([7; 8]), &[run, run], &many[..4]),
        seed("parts", 20, None, &[of_parts, run], &many[..4]),
        seed("many-runs", 24, None, &[run; 10], &many),
    ]
}
