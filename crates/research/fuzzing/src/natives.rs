//! The bytes behind the front of a unit with natives for several members.

use crate::Seed;
use wire::frame::FrameType;
use wire::natives::{Name, Natives, Overheard, Part};

/// The member that the unit is for.
const FIRST: u8 = 3;

/// A parsed frame is equal after it is emitted again.
pub fn check(bytes: &[u8]) -> bool {
    let Ok(natives) = Natives::parse(FIRST, bytes) else { return false };
    assert!(Natives::are_in(bytes));
    let longest = natives.components().map(|it| it.bytes).max();
    assert_eq!((natives.components().count(), longest), (natives.count, Some(natives.xor.len())));
    for component in natives.components() {
        // For any native, its part in the XOR comes from it.
        let mut given = 0;
        if component.literals(bytes, |stretch| given += stretch.len()).is_some() {
            assert!(given <= bytes.len());
        }
    }
    let zeros = vec![0; natives.xor.len()];
    let parts: Vec<Part<'_>> = natives
        .components()
        .filter(|it| it.removed.is_none())
        .map(|it| Part {
            to: (it.member, it.sequence.into()),
            name: it.name,
            frame_type: it.frame_type,
            number: it.number.into(),
            front: it.front,
            literals: &zeros[..it.bytes],
            removed: &[],
        })
        .collect();
    if parts.len() == natives.count {
        let mut out = Vec::new();
        Natives::emit(&parts, |at, _| natives.mac(at).unwrap_or_default(), &mut out);
        // numbers of bytes can be written longer than they need be
        let again = Natives::parse(FIRST, &out);
        assert!(again.is_ok_and(|again| again.components().eq(natives.components())));
    }
    true
}

/// Two natives, one of which could be overheard.
pub fn seeds() -> Vec<Seed> {
    let part = |to: (u8, u64), from: u8, overheard: Option<Overheard>, literals: &'static [u8]| Part {
        to,
        name: Name { from, sequence: 9, overheard },
        frame_type: FrameType::Short,
        number: 17,
        front: b"front",
        literals,
        removed: &[],
    };
    let overheard = Some(Overheard { key_id: 9, number: 500 });
    let parts = [part((FIRST, 7), 5, overheard, b"a native"), part((5, 8), FIRST, None, b"a longer native")];
    vec![Seed::of("two", |out| {
        Natives::emit(&parts, |at, _| [at as u8; 8], out);
    })]
}
