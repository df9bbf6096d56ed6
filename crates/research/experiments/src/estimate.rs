//! Estimates with their 95% confidence intervals, computed without randomness, so that equal samples give
//! equal rows.

/// A quantity and how well it is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The quantity.
    pub value: f64,
    /// The 95% confidence interval, where the sample has at least two.
    pub interval: Option<(f64, f64)>,
}

impl Estimate {
    /// The mean of a sample, with Student's interval. None for an empty sample.
    pub fn mean(sample: &[f64]) -> Option<Self> {
        let count = sample.len();
        let value = mean(sample)?;
        let squares: f64 = sample.iter().map(|one| (one - value).powi(2)).sum();
        let half = (count > 1).then(|| {
            let error = (squares / (count - 1) as f64 / count as f64).sqrt();
            student_quantile(count - 1) * error
        });
        Some(Self { value, interval: half.map(|half| (value - half, value + half)) })
    }

    /// The quotient of two means over paired samples (same seed, same losses), with the jackknife's interval:
    /// each pair left out in turn. None for an empty sample or a denominator of 0.
    ///
    /// A quotient of means, not a mean of quotients: the bytes of all downloads by the bytes of all downloads
    /// without, which a single odd pair does not carry away.
    pub fn paired_ratio(pairs: &[(f64, f64)]) -> Option<Self> {
        let count = pairs.len() as f64;
        let above: f64 = pairs.iter().map(|pair| pair.0).sum();
        let below: f64 = pairs.iter().map(|pair| pair.1).sum();
        if below == 0.0 {
            return None;
        }
        let value = above / below;
        let interval = (pairs.len() > 1).then(|| {
            let without: Vec<f64> = pairs.iter().map(|pair| (above - pair.0) / (below - pair.1)).collect();
            let centre = without.iter().sum::<f64>() / count;
            let squares: f64 = without.iter().map(|one| (one - centre).powi(2)).sum();
            let half = student_quantile(pairs.len() - 1) * ((count - 1.0) / count * squares).sqrt();
            (value - half, value + half)
        });
        Some(Self { value, interval })
    }

    /// The median of the quotients of paired samples (same seed, same losses), with its interval from order
    /// statistics, which holds for any distribution. `None` for an empty sample; no interval for fewer than
    /// six pairs, which cannot give 95%.
    pub fn paired_median(pairs: &[(f64, f64)]) -> Option<Self> {
        Self::median(&pairs.iter().map(|(above, below)| above / below).collect::<Vec<_>>())
    }

    /// The median of a sample with its interval, as [`Estimate::paired_median`] has them. A member without an
    /// end is infinite: it may be beyond the median, and an interval that it bounds is no interval.
    pub fn median(sample: &[f64]) -> Option<Self> {
        let mut sorted = sample.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (count, middle) = (sorted.len(), sorted.len() / 2);
        let value = match count {
            0 => return None,
            _ if count % 2 == 1 => sorted[middle],
            _ => sorted[middle - 1].midpoint(sorted[middle]),
        };
        let interval = median_rank(count).map(|rank| (sorted[rank - 1], sorted[count - rank]));
        let interval = interval.filter(|(_, high)| high.is_finite());
        value.is_finite().then_some(Self { value, interval })
    }

    /// Half the interval's width by the value: how well it is known. Infinite without an interval.
    #[must_use]
    pub fn uncertainty(&self) -> f64 {
        self.interval.map_or(f64::INFINITY, |(low, high)| (high - low) / 2.0 / self.value)
    }

    /// The share of `hits` among `trials`, with Wilson's interval. None when nothing was tried.
    pub fn share(hits: u64, trials: u64) -> Option<Self> {
        if trials == 0 {
            return None;
        }
        let (count, value) = (trials as f64, hits as f64 / trials as f64);
        let z2 = Z * Z;
        let centre = (value + z2 / (2.0 * count)) / (1.0 + z2 / count);
        let spread = (value * (1.0 - value) / count + z2 / (4.0 * count * count)).sqrt();
        let half = Z / (1.0 + z2 / count) * spread;
        Some(Self { value, interval: Some((centre - half, centre + half)) })
    }

    /// The same in a unit smaller by this factor.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        let interval = self.interval.map(|(low, high)| (low * factor, high * factor));
        Self { value: self.value * factor, interval }
    }
}

/// The normal distribution's 97.5% quantile.
const Z: f64 = 1.959_963_984_540_054;

/// The mean of a sample, if it has any.
pub fn mean(sample: &[f64]) -> Option<f64> {
    (!sample.is_empty()).then(|| sample.iter().sum::<f64>() / sample.len() as f64)
}

/// The rank, from either end of a sorted sample, of the members that enclose the median with 95% confidence:
/// the largest with at most 2.5% of the binomial distribution (one half) below it.
fn median_rank(count: usize) -> Option<usize> {
    let mut term = 0.5f64.powi(i32::try_from(count).ok()?);
    let mut below = 0.0;
    let mut rank = 0;
    while rank < count {
        below += term;
        if below > 0.025 {
            break;
        }
        term *= (count - rank) as f64 / (rank + 1) as f64;
        rank += 1;
    }
    (rank > 0).then_some(rank)
}

/// The quantile of a sample by nearest rank; `share` 0.5 is the lower median. None for an empty sample.
pub fn quantile(sample: &[f64], share: f64) -> Option<f64> {
    let mut sorted = sample.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (share * sorted.len() as f64).ceil().max(1.0) as usize;
    sorted.get(rank - 1).copied()
}

/// Student's 97.5% quantile for these degrees of freedom. It is exact for one and two. Beyond, it is Fisher's
/// expansion about the normal quantile (Abramowitz and Stegun, 26.7.5), accurate to .005 for three and better
/// for more.
fn student_quantile(freedom: usize) -> f64 {
    let v = freedom as f64;
    match freedom {
        0 => f64::INFINITY,
        1 => 12.706_204_736,
        2 => 4.302_652_730,
        _ => {
            let g1 = (Z.powi(3) + Z) / 4.0;
            let g2 = (5.0 * Z.powi(5) + 16.0 * Z.powi(3) + 3.0 * Z) / 96.0;
            let g3 = (3.0 * Z.powi(7) + 19.0 * Z.powi(5) + 17.0 * Z.powi(3) - 15.0 * Z) / 384.0;
            let g4 =
                (79.0 * Z.powi(9) + 776.0 * Z.powi(7) + 1482.0 * Z.powi(5) - 1920.0 * Z.powi(3) - 945.0 * Z)
                    / 92_160.0;
            Z + g1 / v + g2 / v.powi(2) + g3 / v.powi(3) + g4 / v.powi(4)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn students_quantile_agrees_with_the_tables() {
        for (freedom, tabled) in [(1, 12.706), (2, 4.303), (3, 3.182), (5, 2.571), (9, 2.262), (29, 2.045)] {
            assert!((student_quantile(freedom) - tabled).abs() < 6e-3, "{freedom}");
        }
    }

    #[test]
    fn a_mean_comes_with_students_interval() {
        let estimate = Estimate::mean(&[1.0, 2.0, 3.0]).unwrap();
        assert_eq!(estimate.value, 2.0);
        let (low, high) = estimate.interval.unwrap();
        // 4.303 times a standard error of 1 by the root of 3.
        assert!((high - 4.484).abs() < 1e-3 && (low + 0.484).abs() < 1e-3);
        assert_eq!(Estimate::mean(&[]), None);
        assert_eq!(Estimate::mean(&[7.0]).unwrap().interval, None);
    }

    #[test]
    fn a_ratio_that_all_pairs_agree_on_has_an_interval_without_width() {
        let estimate = Estimate::paired_ratio(&[(1.0, 2.0), (2.0, 4.0), (5.0, 10.0)]).unwrap();
        assert_eq!(estimate.value, 0.5);
        let (low, high) = estimate.interval.unwrap();
        assert!(high - low < 1e-12);
        assert_eq!(Estimate::paired_ratio(&[(1.0, 0.0)]), None);
    }

    #[test]
    fn a_median_is_enclosed_by_the_ranks_of_the_tables() {
        // Conover, table A3: ranks for 95% at 6, 10, 30 and 100
        for (count, rank) in [(5, None), (6, Some(1)), (10, Some(2)), (30, Some(10)), (100, Some(40))] {
            assert_eq!(median_rank(count), rank, "{count}");
        }
        let pairs: Vec<(f64, f64)> = (1..=10).map(|one| (f64::from(one), 2.0)).collect();
        let estimate = Estimate::paired_median(&pairs).unwrap();
        assert_eq!((estimate.value, estimate.interval), (2.75, Some((1.0, 4.5))));
        assert_eq!(Estimate::paired_median(&[]), None);
        assert_eq!(Estimate::paired_median(&[(3.0, 2.0)]).unwrap().uncertainty(), f64::INFINITY);
    }

    #[test]
    fn a_median_bears_some_members_without_an_end_and_its_interval_none() {
        let sample = |endless: usize| {
            let mut sample: Vec<f64> = (1..=10).map(f64::from).collect();
            sample.iter_mut().rev().take(endless).for_each(|it| *it = f64::INFINITY);
            Estimate::median(&sample)
        };
        assert_eq!(sample(1), Some(Estimate { value: 5.5, interval: Some((2.0, 9.0)) }));
        assert_eq!(sample(2), Some(Estimate { value: 5.5, interval: None }));
        assert_eq!((sample(5), sample(10)), (None, None));
    }

    #[test]
    fn a_share_never_claims_more_than_its_trials_can_know() {
        let (low, high) = Estimate::share(50, 50).unwrap().interval.unwrap();
        assert!(low > 0.92 && low < 0.94 && (high - 1.0).abs() < 1e-9);
        assert_eq!(Estimate::share(0, 0), None);
    }

    #[test]
    fn quantiles_are_members_of_the_sample() {
        assert_eq!(quantile(&[3.0, 1.0, 2.0], 0.5), Some(2.0));
        assert_eq!(quantile(&[3.0, 1.0], 0.5), Some(1.0));
        assert_eq!(quantile(&[3.0, 1.0], 1.0), Some(3.0));
        assert_eq!(quantile(&[], 0.5), None);
    }

    proptest! {
        #[test]
        fn an_interval_encloses_its_value(pairs in prop::collection::vec((0.1..10.0, 0.1..10.0), 2..30)) {
            for estimate in [
                Estimate::paired_ratio(&pairs),
                Estimate::mean(&pairs.iter().map(|pair| pair.0).collect::<Vec<_>>()),
            ] {
                let Estimate { value, interval } = estimate.unwrap();
                let (low, high) = interval.unwrap();
                prop_assert!(low <= value && value <= high);
            }
        }
    }
}
