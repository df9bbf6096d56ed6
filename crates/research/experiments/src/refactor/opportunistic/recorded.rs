//! Receptions as a testbed recorded them.

use std::collections::BTreeMap;

use air::receptions::{Receptions, RecordedPath};
use published::exor::forwarders::Delivery;

/// A mesh as it was recorded.
#[derive(Debug, Clone)]
pub struct Mesh {
    /// By name.
    names: Vec<String>,
    pub(super) receptions: BTreeMap<(usize, usize), Receptions>,
    pub(super) delivery: Delivery,
}

impl Mesh {
    /// Of recorded paths.
    #[must_use]
    pub fn new(paths: &[RecordedPath]) -> Self {
        let mut names: Vec<String> =
            paths.iter().flat_map(|path| [path.transmitter.clone(), path.receiver.clone()]).collect();
        names.sort();
        names.dedup();
        let mut delivery = Delivery::none(names.len());
        let mut receptions = BTreeMap::new();
        for path in paths {
            let place = |name: &String| names.binary_search(name);
            let (Ok(from), Ok(to)) = (place(&path.transmitter), place(&path.receiver)) else { continue };
            delivery.set(from, to, path.receptions.delivery());
            receptions.insert((from, to), path.receptions.clone());
        }
        Self { names, receptions, delivery }
    }

    /// A node's name.
    #[must_use]
    pub fn name(&self, node: usize) -> &str {
        &self.names[node]
    }

    /// Pairs that reach each other over others only, those with the longest paths of all sources, each source
    /// once.
    #[must_use]
    pub fn far_pairs(&self, most: usize) -> Vec<(usize, usize)> {
        let nodes = self.delivery.nodes();
        let mut pairs: Vec<(f64, usize, usize)> = Vec::new();
        for source in 0..nodes {
            let farthest = (0..nodes)
                .filter(|destination| self.delivery.of(source, *destination) < 0.3)
                .map(|destination| (self.delivery.distances(destination)[source], destination))
                .filter(|(distance, destination)| {
                    distance.is_finite() && self.delivery.forwarders(source, *destination).is_some()
                })
                .max_by(|one, other| one.0.total_cmp(&other.0));
            pairs.extend(farthest.map(|(distance, destination)| (distance, source, destination)));
        }
        pairs.sort_by(|one, other| other.0.total_cmp(&one.0));
        pairs.into_iter().take(most).map(|(_, source, destination)| (source, destination)).collect()
    }

    /// Another destination beyond the same first forwarders: the farthest from the source that shares one
    /// with the first.
    #[must_use]
    pub fn second_destination(&self, source: usize, first: usize) -> Option<usize> {
        let of_first = self.delivery.forwarders(source, first)?;
        let shares = |destination: &usize| {
            let list = self.delivery.forwarders(source, *destination);
            list.is_some_and(|list| list[1..list.len() - 1].iter().any(|node| of_first[1..].contains(node)))
        };
        (0..self.delivery.nodes())
            .filter(|node| *node != source && *node != first && self.delivery.of(source, *node) < 0.3)
            .filter(shares)
            .max_by(|one, other| {
                let distance = |node: usize| self.delivery.distances(node)[source];
                distance(*one).total_cmp(&distance(*other))
            })
    }
}
