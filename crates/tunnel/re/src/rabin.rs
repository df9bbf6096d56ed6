//! Rabin fingerprints: the window's bytes as a polynomial over GF(2), modulo an irreducible one.
//!
//! M. O. Rabin, "Fingerprinting by random polynomials", Harvard TR-15-81, 1981. The polynomial has degree 64,
//! so a fingerprint has 64 bits. Sliding the window by one byte takes two table look-ups. The new byte shifts
//! the polynomial by x^8, and one table reduces the overflow. The other table removes the byte that leaves.

/// The lower 64 coefficients of the irreducible polynomial x^64 + ...: the first one at or above the first 64
/// bits of pi's fraction. Sampling uses the low bits. With a sparse polynomial these would depend on few bits
/// of the window.
pub const POLYNOMIAL: u64 = 0x243f_6a88_85a3_0907;

/// Rabin fingerprints of windows of one size.
#[derive(Debug, Clone)]
pub struct Rabin {
    window_bytes: usize,
    /// For each byte that overflows at the top: the byte times x^64, reduced.
    reduce: Box<[u64; 256]>,
    /// For each byte that leaves the window: the byte times x^(8 w), reduced.
    leave: Box<[u64; 256]>,
}

/// Multiplies by x.
const fn times_x(value: u64) -> u64 {
    (value << 1) ^ if value >> 63 == 1 { POLYNOMIAL } else { 0 }
}

impl Rabin {
    /// Tables for windows of `window_bytes` bytes.
    #[must_use]
    pub fn new(window_bytes: usize) -> Self {
        let mut power = 1;
        let mut power_of = |exponent_step: usize| {
            for _ in 0..exponent_step {
                power = times_x(power);
            }
            power
        };
        // Both tables are linear: a byte's entry is the sum of its bits' entries.
        let table = |mut of_bit: u64| {
            let mut bits = [0; 8];
            for entry in &mut bits {
                *entry = of_bit;
                of_bit = times_x(of_bit);
            }
            let mut table = Box::new([0; 256]);
            for (byte, entry) in table.iter_mut().enumerate() {
                *entry = bits
                    .iter()
                    .enumerate()
                    .filter(|(bit, _)| byte >> bit & 1 == 1)
                    .fold(0, |sum, (_, b)| sum ^ b);
            }
            table
        };
        let leave = table(power_of(8 * window_bytes));
        let x64 = POLYNOMIAL;
        Rabin { window_bytes, reduce: table(x64), leave }
    }

    fn shift_in(&self, fingerprint: u64, byte: u8) -> u64 {
        (fingerprint << 8 | u64::from(byte)) ^ self.reduce[(fingerprint >> 56) as usize]
    }

    /// The fingerprint of a byte string of any length.
    #[must_use]
    pub fn fingerprint(&self, bytes: &[u8]) -> u64 {
        bytes.iter().fold(0, |fingerprint, &byte| self.shift_in(fingerprint, byte))
    }

    /// The fingerprint of every window in `bytes`, with the window's start, from front to back.
    pub fn windows<'a>(&'a self, bytes: &'a [u8]) -> impl Iterator<Item = (usize, u64)> + 'a {
        let first_end = self.window_bytes.min(bytes.len());
        let first = (bytes.len() >= self.window_bytes).then(|| self.fingerprint(&bytes[..first_end]));
        let pairs = bytes.iter().zip(&bytes[first_end..]);
        let rest = pairs.scan(first.unwrap_or(0), move |fingerprint, (&out, &byte)| {
            *fingerprint = self.shift_in(*fingerprint, byte) ^ self.leave[usize::from(out)];
            Some(*fingerprint)
        });
        first.into_iter().chain(rest).enumerate()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn multiply(mut a: u64, mut b: u64) -> u64 {
        let mut product = 0;
        while b != 0 {
            if b & 1 == 1 {
                product ^= a;
            }
            a = times_x(a);
            b >>= 1;
        }
        product
    }

    fn degree(value: u128) -> u32 {
        127 - value.leading_zeros()
    }

    fn greatest_common_divisor(mut a: u128, mut b: u128) -> u128 {
        while b != 0 {
            while a != 0 && degree(a) >= degree(b) {
                a ^= b << (degree(a) - degree(b));
            }
            std::mem::swap(&mut a, &mut b);
        }
        a
    }

    #[test]
    fn the_polynomial_is_irreducible() {
        // Rabin's test for degree 64 = 2^6: x^(2^64) = x, and x^(2^32) - x shares no factor with it.
        let x = 2;
        let mut power = x;
        for squarings in 1..=64 {
            power = multiply(power, power);
            if squarings == 32 {
                let whole = 1u128 << 64 | u128::from(POLYNOMIAL);
                assert_eq!(greatest_common_divisor(whole, u128::from(power ^ x)), 1);
            }
        }
        assert_eq!(power, x);
    }

    #[test]
    fn a_fingerprint_is_the_remainder_of_long_division() {
        // 16 bytes: a polynomial of degree below 128, divided bit by bit.
        let bytes: [u8; 16] = *b"byte caching, 12";
        let mut remainder = u128::from_be_bytes(bytes);
        let whole = 1u128 << 64 | u128::from(POLYNOMIAL);
        while remainder >> 64 != 0 {
            remainder ^= whole << (degree(remainder) - 64);
        }
        assert_eq!(u128::from(Rabin::new(16).fingerprint(&bytes)), remainder);
    }

    proptest! {
        #[test]
        fn rolling_gives_what_each_window_gives_alone(
            bytes in proptest::collection::vec(any::<u8>(), 0..200),
            window_bytes in 8usize..40,
        ) {
            let rabin = Rabin::new(window_bytes);
            let rolled: Vec<_> = rabin.windows(&bytes).collect();
            let alone: Vec<_> = bytes.windows(window_bytes).map(|w| rabin.fingerprint(w)).enumerate().collect();
            prop_assert_eq!(rolled, alone);
        }
    }
}
