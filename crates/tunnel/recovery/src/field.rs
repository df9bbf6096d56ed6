//! GF(2^8): payloads are scaled and combined so that any n rows restore n lost packets (XBC, section III-E).
//!
//! Rows and packets have numbers. A row's factor for a packet follows from both numbers as in a Cauchy
//! matrix, in which every square submatrix is invertible. Any n rows therefore restore any n lost packets.
//! (The paper's Vandermonde matrix guarantees that only for its first rows.) Columns are scaled so that row 0
//! is plain XOR.

use crate::xor;
use fearless_simd::prelude::*;
use fearless_simd::{Level, dispatch, u8x64};

/// x^8 + x^4 + x^3 + x^2 + 1 without its highest term.
const POLYNOMIAL: u8 = 0x1d;
/// The largest number of rows.
pub const MAX_ROWS: usize = 16;
/// Number of packets that rows distinguish: by packet number modulo this.
pub const PLACES: u64 = 256 - MAX_ROWS as u64;

/// Doubles an element.
const fn double(number: u8) -> u8 {
    // The sign bit as a mask over all bits.
    (number << 1) ^ (POLYNOMIAL & ((number as i8) >> 7) as u8)
}

/// The product of two elements.
#[must_use]
pub const fn multiply(mut one: u8, other: u8) -> u8 {
    let (mut product, mut bit) = (0, 0);
    while bit < 8 {
        product ^= one & (other >> bit & 1).wrapping_neg();
        one = double(one);
        bit += 1;
    }
    product
}

/// The inverse of an element; 0 for 0.
#[must_use]
pub const fn inverse(number: u8) -> u8 {
    // The 254th power.
    let (mut power, mut inverse, mut bit) = (number, 1, 1);
    while bit < 8 {
        power = multiply(power, power);
        inverse = multiply(inverse, power);
        bit += 1;
    }
    inverse
}

/// The factor of a row (below [`MAX_ROWS`]) for the packet with this number. It is never 0, and always 1 in
/// row 0.
#[must_use]
pub const fn scale(row: usize, number: u64) -> u8 {
    let place = (number % PLACES) as u8;
    let [first, own] = [PLACES as u8 ^ place, (PLACES as u8 + row as u8) ^ place];
    multiply(first, inverse(own))
}

/// Adds `other`, scaled, to `sum`, which grows to the longer length.
pub fn add_scaled(sum: &mut Vec<u8>, other: &[u8], scale: u8) {
    if scale == 1 {
        return xor::into(sum, other);
    }
    if sum.len() < other.len() {
        sum.resize(other.len(), 0);
    }
    over_scaled(sum, other, scale);
}

/// Adds `other`, scaled, to the front of `sum`, up to the shorter length.
pub fn over_scaled(sum: &mut [u8], other: &[u8], scale: u8) {
    // Bit by bit without tables, so that the compiler vectorizes it.
    let bits: [u8; 8] = std::array::from_fn(|bit| (scale >> bit & 1).wrapping_neg());
    sum.iter_mut().zip(other).for_each(|(sum, &number)| {
        let mut power = number;
        for bit in bits {
            *sum ^= power & bit;
            power = double(power);
        }
    });
}

/// Bytes of a sum that are made at once.
const BLOCK_BYTES: usize = 64;
/// Terms that are summed at once.
const MOST_TERMS: usize = 128;

/// Adds scaled terms to the front of `sum`, up to its length.
///
/// It follows Horner's scheme over the bits of the factors: a block of the sum is doubled eight times in all,
/// and not eight times for each term. Each term is added as often as its factor has bits.
pub fn over_all<'a>(sum: &mut [u8], terms: impl IntoIterator<Item = (u8, &'a [u8])>) {
    let mut terms = terms.into_iter();
    let mut group: [&[u8]; MOST_TERMS] = [&[]; MOST_TERMS];
    loop {
        let mut by_bit = [([0; MOST_TERMS], 0); u8::BITS as usize];
        let mut count = 0;
        for (scale, bytes) in terms.by_ref().take(MOST_TERMS) {
            for (bit, (numbers, count_of_bit)) in by_bit.iter_mut().enumerate() {
                if scale >> bit & 1 == 1 {
                    numbers[*count_of_bit] = count as u8;
                    *count_of_bit += 1;
                }
            }
            group[count] = bytes;
            count += 1;
        }
        if count == 0 {
            return;
        }
        let by_bit = by_bit.each_ref().map(|(numbers, count)| &numbers[..*count]);
        dispatch!(Level::new(), simd => over_group(simd, sum, &group[..count], &by_bit));
        if count < MOST_TERMS {
            return;
        }
    }
}

/// Adds terms; `by_bit`: which of them have that bit in their factor.
#[inline(always)]
fn over_group<S: Simd>(simd: S, sum: &mut [u8], terms: &[&[u8]], by_bit: &[&[u8]; u8::BITS as usize]) {
    const ZEROS: [u8; BLOCK_BYTES] = [0; BLOCK_BYTES];
    let mut ends = [ZEROS; MOST_TERMS];
    for (number, sum) in sum.chunks_mut(BLOCK_BYTES).enumerate() {
        let rest_of = |term: &'_ &[u8]| term.len().saturating_sub(number * BLOCK_BYTES);
        for (end, term) in ends.iter_mut().zip(terms) {
            let rest = rest_of(term);
            if (1..BLOCK_BYTES).contains(&rest) {
                end[..rest].copy_from_slice(&term[term.len() - rest..]);
            }
        }
        let mut blocks = [&ZEROS; MOST_TERMS];
        for (block, (end, term)) in blocks.iter_mut().zip(ends.iter().zip(terms)) {
            let whole = term.get(number * BLOCK_BYTES..).and_then(<[u8]>::first_chunk);
            *block = whole.unwrap_or(if rest_of(term) > 0 { end } else { &ZEROS });
        }
        let polynomial = u8x64::splat(simd, POLYNOMIAL);
        let mut total = u8x64::splat(simd, 0);
        for with_bit in by_bit.iter().rev() {
            let high = total.simd_ge(0x80);
            total = (total + total) ^ high.select(polynomial, u8x64::splat(simd, 0));
            for &term in *with_bit {
                total ^= u8x64::from_slice(simd, blocks[usize::from(term)]);
            }
        }
        xor::over(sum, total.as_slice());
    }
}

/// Scales all bytes.
pub fn multiply_all(bytes: &mut [u8], scale: u8) {
    if scale != 1 {
        bytes.iter_mut().for_each(|byte| *byte = multiply(*byte, scale));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_number_but_zero_has_an_inverse() {
        for number in 1..=255 {
            assert_eq!(multiply(number, inverse(number)), 1, "{number}");
        }
        assert_eq!(multiply(0x80, 2), POLYNOMIAL);
    }

    #[test]
    fn the_first_row_is_plain_xor() {
        assert!((0..PLACES).all(|number| scale(0, number) == 1));
        assert!((1..MAX_ROWS).all(|row| (0..PLACES).all(|number| scale(row, number) != 0)));
    }

    /// Whether these rows distinguish these packets (Gaussian elimination).
    fn is_invertible(rows: &[usize], numbers: &[u64]) -> bool {
        let mut matrix: Vec<Vec<u8>> =
            rows.iter().map(|&row| numbers.iter().map(|&number| scale(row, number)).collect()).collect();
        for column in 0..numbers.len() {
            let Some(pivot) = (column..rows.len()).find(|&row| matrix[row][column] != 0) else {
                return false;
            };
            matrix.swap(column, pivot);
            let by = inverse(matrix[column][column]);
            multiply_all(&mut matrix[column], by);
            let (above, below) = matrix.split_at_mut(column + 1);
            for row in below {
                let by = row[column];
                over_scaled(row, &above[column], by);
            }
        }
        true
    }

    proptest! {
        #[test]
        fn multiplication_distributes_over_xor(a: u8, b: u8, c: u8) {
            prop_assert_eq!(multiply(a, b), multiply(b, a));
            prop_assert_eq!(multiply(a, b ^ c), multiply(a, b) ^ multiply(a, c));
            prop_assert_eq!(multiply(a, multiply(b, c)), multiply(multiply(a, b), c));
        }

        #[test]
        fn a_buffer_is_scaled_number_by_number(mut sum: Vec<u8>, other: Vec<u8>, scale: u8) {
            let before = sum.clone();
            add_scaled(&mut sum, &other, scale);
            for (at, &now) in sum.iter().enumerate() {
                let [before, other] = [&before, &other].map(|it| it.get(at).copied().unwrap_or(0));
                prop_assert_eq!(now, before ^ multiply(other, scale));
            }
        }

        #[test]
        fn many_terms_are_added_as_one_by_one(
            terms in proptest::collection::vec((any::<u8>(), proptest::collection::vec(any::<u8>(), 0..300)), 0..300),
            mut sum in proptest::collection::vec(any::<u8>(), 0..300),
        ) {
            let mut expected = sum.clone();
            terms.iter().for_each(|(scale, bytes)| over_scaled(&mut expected, bytes, *scale));
            over_all(&mut sum, terms.iter().map(|(scale, bytes)| (*scale, bytes.as_slice())));
            prop_assert_eq!(sum, expected);
        }

        /// For any rows that arrive and any packets that are lost.
        #[test]
        fn as_many_rows_as_losses_are_enough(
            rows in proptest::sample::subsequence((0..MAX_ROWS).collect::<Vec<_>>(), 1..MAX_ROWS),
            first: u32,
            order in proptest::sample::subsequence((0..PLACES).collect::<Vec<_>>(), MAX_ROWS),
        ) {
            let numbers: Vec<u64> = order[..rows.len()].iter().map(|place| u64::from(first) + place).collect();
            prop_assert!(is_invertible(&rows, &numbers));
        }
    }
}
