//! What clients ask for (section 5): 1000 contents of 1 to 100 KB, chosen by Zipf's law, in pages with pauses
//! between them.
//!
//! Pauses and the number of contents in a page are after B. Mah, *An Empirical Model of HTTP Network Traffic*
//! (INFOCOM 1997). Its think times have a median of about 15 s and a mean of about 81 s; its pages have one
//! file most often and about 2.8 on average. The distribution of pauses keeps that shape and is scaled, so
//! that an hour has as many requests as the paper's network carried. At Mah's own pace 125 clients would send
//! ten times as many.
//!
//! Neighbours want nearly the same: the order of popularity is turned by n mod i places in the i-th of 25
//! squares, as the paper has it from L. Yin and G. Cao, *Supporting Cooperative Caching in Ad Hoc Networks*
//! (INFOCOM 2004).

use lab::{Content, Page};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use crate::cell::File;
use crate::contents::LONG_BYTES;
use crate::testbed::Testbed;

/// Number of contents.
pub(super) const CONTENTS: usize = 1000;
const LEAST_BYTES: u64 = 1_000;
const MOST_BYTES: u64 = 100_000;
/// Contents are slices of one file, so far apart.
const APART_BYTES: u64 = 30_000;
/// The spread of the logarithm of pauses, which makes their mean 5.4 times their median.
const SPREAD: f64 = 1.836;
/// Mean number of contents in a page: geometric, so that one is the most frequent.
const A_PAGE: f64 = 2.8;
/// Squares on each side of the square kilometre.
const SQUARES: f64 = 5.0;
const SIDE: f64 = 1000.0;

/// Length of each content, equal in all runs.
pub(super) fn lengths() -> Vec<u64> {
    let mut random = ChaCha8Rng::seed_from_u64(1000);
    (0..CONTENTS).map(|_| random.random_range(LEAST_BYTES..=MOST_BYTES)).collect()
}

/// Contents of these lengths as the lab's servers take them.
pub(super) fn contents(testbed: &Testbed, lengths: Vec<u64>) -> Vec<Content> {
    let file = testbed.lab_content(File::Long).file;
    let slice = |(number, length): (usize, u64)| Content {
        name: name(number),
        file: file.clone(),
        skip_bytes: number as u64 * APART_BYTES % (LONG_BYTES as u64 - length),
        length_bytes: Some(length),
    };
    lengths.into_iter().enumerate().map(slice).collect()
}

fn name(content: usize) -> String {
    format!("o{content}")
}

/// Popularity by rank.
pub(super) struct Popularity {
    /// Sums up to each rank.
    sums: Vec<f64>,
}

impl Popularity {
    /// Rank k is asked for in proportion to k to the power −`exponent`.
    pub(super) fn zipf(exponent: f64) -> Self {
        let mut sum = 0.0;
        let sums = (1..=CONTENTS).map(|rank| {
            sum += (rank as f64).powf(-exponent);
            sum
        });
        Self { sums: sums.collect() }
    }

    fn rank(&self, random: &mut ChaCha8Rng) -> usize {
        let all = self.sums.last().copied().unwrap_or(1.0);
        let drawn = random.random::<f64>() * all;
        self.sums.partition_point(|sum| *sum <= drawn).min(CONTENTS - 1)
    }
}

/// Rotation of the order of popularity at a router's position.
fn turn(place: [f64; 2]) -> usize {
    let square = |along: f64| (along / SIDE * SQUARES).clamp(0.0, SQUARES - 1.0) as usize;
    let number = square(place[1]) * SQUARES as usize + square(place[0]) + 1;
    CONTENTS % number
}

/// The next content of a client.
pub(super) trait Wants {
    fn next(&mut self, random: &mut ChaCha8Rng) -> usize;
}

/// By popularity, with the rotation at the client's position.
pub(super) struct Popular<'a> {
    pub popularity: &'a Popularity,
    pub place: [f64; 2],
}

impl Wants for Popular<'_> {
    fn next(&mut self, random: &mut ChaCha8Rng) -> usize {
        (self.popularity.rank(random) + turn(self.place)) % CONTENTS
    }
}

/// Recorded requests, repeated at the end.
pub(super) struct Recorded<I: Iterator<Item = usize> + Clone>(pub std::iter::Cycle<I>);

impl<I: Iterator<Item = usize> + Clone> Wants for Recorded<I> {
    fn next(&mut self, _: &mut ChaCha8Rng) -> usize {
        self.0.next().unwrap_or(0)
    }
}

/// A client's pages within `seconds`, after `quiet_seconds` without requests.
pub(super) fn pages(
    wants: &mut dyn Wants,
    requests_an_hour: f64,
    quiet_seconds: f64,
    seconds: f64,
    random: &mut ChaCha8Rng,
) -> Vec<Page> {
    let mean_pause = 3600.0 / requests_an_hour * A_PAGE;
    let median_pause = mean_pause / (SPREAD * SPREAD / 2.0).exp();
    let mut pages = Vec::new();
    // In the middle of a pause, at a random point.
    let mut at = -random.random::<f64>() * 20.0 * mean_pause;
    loop {
        let pause = median_pause * (SPREAD * normal(random)).exp();
        let count = contents_a_page(random);
        let contents: Vec<String> = (0..count).map(|_| name(wants.next(random))).collect();
        let before = at.max(0.0);
        at += pause;
        if at > seconds {
            return pages;
        }
        if at >= 0.0 {
            let first = if pages.is_empty() { quiet_seconds } else { 0.0 };
            pages.push(Page { think_seconds: first + at - before, contents });
        }
    }
}

/// A standard normal variate (Box and Muller).
fn normal(random: &mut ChaCha8Rng) -> f64 {
    let (one, other): (f64, f64) = (random.random(), random.random());
    (-2.0 * (1.0 - one).ln()).sqrt() * (std::f64::consts::TAU * other).cos()
}

fn contents_a_page(random: &mut ChaCha8Rng) -> usize {
    let mut count = 1;
    while random.random::<f64>() < 1.0 - 1.0 / A_PAGE && count < 50 {
        count += 1;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn hour(clients: u64) -> Vec<Vec<Page>> {
        let popularity = Popularity::zipf(0.8);
        let client = |seed| {
            pages(
                &mut Popular { popularity: &popularity, place: [500.0; 2] },
                9.6,
                60.0,
                3600.0,
                &mut ChaCha8Rng::seed_from_u64(seed),
            )
        };
        (0..clients).map(client).collect()
    }

    #[test]
    fn an_hour_carries_about_what_the_papers_network_did() {
        let lengths = lengths();
        let of: HashMap<String, u64> = (0..CONTENTS).map(|number| (name(number), lengths[number])).collect();
        let pages: Vec<Page> = hour(12_500).into_iter().flatten().collect();
        let contents: Vec<&String> = pages.iter().flat_map(|page| &page.contents).collect();
        let (requests, bytes) =
            (contents.len() as f64 / 100.0, contents.iter().map(|it| of[*it]).sum::<u64>());
        assert!((1350.0..1500.0).contains(&requests), "{requests} requests of 125 clients");
        assert!((65.0..80.0).contains(&(bytes as f64 / 1e8)), "{bytes}");
        let a_page = contents.len() as f64 / pages.len() as f64;
        assert!((a_page - A_PAGE).abs() < 0.1, "{a_page}");
    }

    #[test]
    fn popularity_falls_as_zipf_has_it() {
        let popularity = Popularity::zipf(0.8);
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let mut counts = vec![0u32; CONTENTS];
        (0..400_000).for_each(|_| counts[popularity.rank(&mut random)] += 1);
        let quotient = f64::from(counts[0]) / f64::from(counts[9]);
        assert!((quotient / 10f64.powf(0.8) - 1.0).abs() < 0.05, "{quotient}");
        assert!(counts[999] > 0);
    }

    #[test]
    fn neighbours_want_nearly_the_same() {
        assert_eq!(turn([10.0, 10.0]), turn([190.0, 190.0]));
        let turns: Vec<usize> = (0..25)
            .map(|square| turn([f64::from(square % 5) * 200.0, f64::from(square / 5) * 200.0]))
            .collect();
        assert!(
            turns.iter().max() < Some(&CONTENTS.div_ceil(40)) && turns.iter().any(|turn| *turn > 0),
            "{turns:?}"
        );
    }

    #[test]
    fn nobody_asks_before_the_routes_stand() {
        assert!(hour(100).iter().filter_map(|pages| pages.first()).all(|page| page.think_seconds >= 60.0));
    }
}
