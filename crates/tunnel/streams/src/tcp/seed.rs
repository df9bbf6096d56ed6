//! The seed with which smoltcp begins a connection by a given number: it has no other way to set one.

/// The factor of smoltcp's generator, which is an sPCG32.
const FACTOR: u64 = 0xbb2e_fcec_3c39_611d;
const INCREMENT: u64 = 0x7590_ef39;
/// The shift of states whose three highest bits are not set.
const SHIFT: u32 = 29;

/// The seed of an interface whose first connection begins with this number.
///
/// An interface draws 16 bits for itself first, until they are not 0.
pub(super) fn drawing(number: u32) -> u64 {
    let mut state = u64::from(number) << SHIFT;
    while drawn(before(state)) as u16 == (drawn(before(state)) >> 16) as u16 {
        // the lowest bits of a state are not drawn
        state += 1;
    }
    before(before(state))
}

/// The state from which the generator went on to this one.
fn before(state: u64) -> u64 {
    const BACK: u64 = inverse(FACTOR);
    state.wrapping_sub(INCREMENT).wrapping_mul(BACK)
}

/// The number that the generator draws by this state.
fn drawn(state: u64) -> u32 {
    (state >> (SHIFT - (state >> 61) as u32)) as u32
}

/// The inverse of an odd number modulo 2^64. Each step of Newton's method doubles the bits that are right.
const fn inverse(number: u64) -> u64 {
    let mut inverse = number;
    let mut right_bits = 3;
    while right_bits < u64::BITS {
        inverse = inverse.wrapping_mul(2_u64.wrapping_sub(number.wrapping_mul(inverse)));
        right_bits *= 2;
    }
    inverse
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_state_whose_bits_an_interface_draws_again_comes_before_a_number() {
        let after = |state: u64| state.wrapping_mul(FACTOR).wrapping_add(INCREMENT);
        let mut drawn_again = 0;
        for number in (0..1_000_000).chain(u32::MAX - 9..=u32::MAX) {
            let first = after(drawing(number));
            let bits = drawn(first);
            assert_ne!(bits as u16, (bits >> 16) as u16);
            assert_eq!(drawn(after(first)), number);
            drawn_again += u32::from(after(first) != u64::from(number) << SHIFT);
        }
        assert!(drawn_again > 0, "one number in 65,536 has another state");
    }
}
