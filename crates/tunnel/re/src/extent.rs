//! Length of the agreement around two matching windows, in both directions.
//!
//! It compares eight bytes at a time, because real matches spend most encoding time here.

/// Number of equal bytes of `a` and `b` from the front.
#[must_use]
pub fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let mut done = 0;
    for (x, y) in a.as_chunks::<8>().0.iter().zip(b.as_chunks::<8>().0) {
        let difference = u64::from_le_bytes(*x) ^ u64::from_le_bytes(*y);
        if difference != 0 {
            return done + difference.trailing_zeros() as usize / 8;
        }
        done += 8;
    }
    done + a[done..].iter().zip(&b[done..]).take_while(|(x, y)| x == y).count()
}

/// Number of equal bytes of `a` and `b` from the back.
#[must_use]
pub fn common_suffix(a: &[u8], b: &[u8]) -> usize {
    let mut done = 0;
    for (x, y) in a.as_rchunks::<8>().1.iter().rev().zip(b.as_rchunks::<8>().1.iter().rev()) {
        let difference = u64::from_le_bytes(*x) ^ u64::from_le_bytes(*y);
        if difference != 0 {
            return done + difference.leading_zeros() as usize / 8;
        }
        done += 8;
    }
    let (a, b) = (&a[..a.len() - done], &b[..b.len() - done]);
    done + a.iter().rev().zip(b.iter().rev()).take_while(|(x, y)| x == y).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn words_find_what_bytes_find(
            common in proptest::collection::vec(any::<u8>(), 0..50),
            a in proptest::collection::vec(0u8..2, 0..20),
            b in proptest::collection::vec(0u8..2, 0..20),
        ) {
            let (front_a, front_b) = ([&common[..], &a].concat(), [&common[..], &b].concat());
            let prefix = front_a.iter().zip(&front_b).take_while(|(x, y)| x == y).count();
            prop_assert_eq!(common_prefix(&front_a, &front_b), prefix);
            let (back_a, back_b) = ([&a[..], &common].concat(), [&b[..], &common].concat());
            let suffix = back_a.iter().rev().zip(back_b.iter().rev()).take_while(|(x, y)| x == y).count();
            prop_assert_eq!(common_suffix(&back_a, &back_b), suffix);
        }
    }
}
