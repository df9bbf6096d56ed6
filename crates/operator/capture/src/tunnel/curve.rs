//! Savings over the size of the store.

use super::{TunnelOptions, TunnelReport, default_store_mib};
use crate::advice::WORTH_PERCENT;

/// The most stores of one pass together, in MiB. Two nodes have up to four stores each of them.
const PASS_MIB: usize = 256;

/// Savings of one more percent are worth a larger store.
const STEP_PERCENT: f64 = 1.0;

/// Sizes of stores to try, in MiB: powers of two up to the one that holds `content_bytes` and to
/// `largest_mib`. Larger stores save no more.
pub(super) fn sizes(content_bytes: u64, largest_mib: usize) -> Vec<usize> {
    let all_mib = usize::try_from(content_bytes.div_ceil(1 << 20)).unwrap_or(usize::MAX);
    let mut sizes: Vec<usize> = std::iter::successors(Some(1usize), |size| size.checked_mul(2))
        .take_while(|&size| size <= largest_mib && size < all_mib.saturating_mul(2))
        .collect();
    if sizes.is_empty() {
        sizes.push(1);
    }
    sizes
}

/// Parts of `sizes` for one pass each, the largest sizes first. The stores of a pass have at most
/// [`PASS_MIB`] together, or it has one.
pub(super) fn passes(mut sizes: Vec<usize>) -> Vec<Vec<usize>> {
    sizes.sort_unstable();
    let mut passes: Vec<Vec<usize>> = Vec::new();
    for size in sizes.into_iter().rev() {
        match passes.last_mut() {
            Some(pass) if pass.iter().sum::<usize>() + size <= PASS_MIB => pass.push(size),
            _ => passes.push(vec![size]),
        }
    }
    passes
}

/// The curve of a capture: `carry` measures several sizes in one pass. `default` is the result of the default
/// size.
pub(crate) fn curve<E>(
    default: &TunnelReport,
    options: &TunnelOptions,
    mut carry: impl FnMut(&[usize]) -> Result<Vec<TunnelReport>, E>,
) -> Result<Vec<TunnelReport>, E> {
    let mut sizes = sizes(default.content_bytes(), options.largest_store_mib);
    sizes.retain(|&size| size != default_store_mib());
    let mut curve = vec![default.clone()];
    for pass in passes(sizes) {
        curve.extend(carry(&pass)?);
    }
    curve.sort_unstable_by_key(|point| point.store_mib);
    Ok(curve)
}

/// The smallest store whose savings are within one percent of the best ones, if those justify a tunnel.
pub(crate) fn store_to_take(curve: &[TunnelReport]) -> Option<&TunnelReport> {
    let best = curve.iter().map(|point| point.saved_percent).max_by(f64::total_cmp)?;
    let within = |point: &&TunnelReport| point.saved_percent >= best - STEP_PERCENT;
    curve.iter().find(within).filter(|_| best >= WORTH_PERCENT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tunnel::Carried;
    use re::Policy;

    #[test]
    fn sizes_end_with_the_first_that_holds_everything() {
        assert_eq!(sizes(0, 256), [1]);
        assert_eq!(sizes(1 << 20, 256), [1]);
        assert_eq!(sizes(5 << 20, 256), [1, 2, 4, 8]);
        assert_eq!(sizes(1 << 40, 16), [1, 2, 4, 8, 16]);
    }

    #[test]
    fn every_size_is_in_one_pass_and_no_pass_is_too_large() {
        let passes = passes(sizes(u64::MAX, 1024));
        assert_eq!(passes.concat(), [1024, 512, 256, 128, 64, 32, 16, 8, 4, 2, 1]);
        assert!(passes.iter().all(|pass| pass.len() == 1 || pass.iter().sum::<usize>() <= PASS_MIB));
    }

    #[test]
    fn the_store_to_take_is_the_smallest_within_one_percent_of_the_best() {
        let point = |store_mib, sent_bytes| {
            let to_client = Carried { packets: 1, packet_bytes: 1000, datagrams: 1, sent_bytes };
            TunnelReport::new(Policy::Adaptive, store_mib, to_client, Carried::default(), 1)
        };
        let curve = [point(1, 1000), point(2, 509), point(4, 500), point(8, 500)];
        assert_eq!(store_to_take(&curve).map(|point| point.store_mib), Some(2));
        assert_eq!(store_to_take(&[]), None);
        assert_eq!(store_to_take(&[point(1, 1020), point(16, 990)]), None, "nothing is worth a tunnel");
    }
}
