//! XOR of buffers of any lengths, as if zeros followed the shorter one.

/// Adds `other` to `sum`, which grows to the longer length.
pub fn into(sum: &mut Vec<u8>, other: &[u8]) {
    if sum.len() < other.len() {
        sum.resize(other.len(), 0);
    }
    over(sum, other);
}

/// Adds `other` to the front of `sum`, up to the shorter length.
pub fn over(sum: &mut [u8], other: &[u8]) {
    // The compiler vectorizes this.
    sum.iter_mut().zip(other).for_each(|(one, two)| *one ^= two);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// For any lengths and orders, combining twice cancels, except zeros at the end.
        #[test]
        fn combining_twice_undoes(buffers in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..64), 1..6)) {
            let mut sum = Vec::new();
            buffers.iter().for_each(|buffer| into(&mut sum, buffer));
            prop_assert_eq!(sum.len(), buffers.iter().map(Vec::len).max().unwrap_or(0));
            buffers[1..].iter().rev().for_each(|buffer| into(&mut sum, buffer));
            prop_assert_eq!(&sum[..buffers[0].len()], &buffers[0][..]);
            prop_assert!(sum[buffers[0].len()..].iter().all(|&byte| byte == 0));
        }
    }
}
