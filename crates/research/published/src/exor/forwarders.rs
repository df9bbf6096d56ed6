//! Forwarders and their order (ExOR, section 3.3).
//!
//! A node's distance to the destination is the expected number of transmissions on the best path (ETX, De
//! Couto and others, MobiCom 2003, for the forward direction alone, because there are no hop-by-hop
//! acknowledgments). Candidates are nearer than the source. Those that would make at least a tenth of all
//! transmissions stay, computed as in the paper's simulation and in closed form by MORE (Chachulski and
//! others, SIGCOMM 2007, algorithm 1).

use super::frame::MAX_FORWARDERS;

/// Share of all transmissions below which a node is left out.
const LEAST_SHARE: f64 = 0.1;
/// Least share of arriving packets for leaving a node out.
const ARRIVES: f64 = 0.999;
/// Delivery rate below which there is no link.
const LEAST_DELIVERY: f64 = 0.05;

/// Delivery probabilities: row by sender, column by receiver.
#[derive(Debug, Clone, PartialEq)]
pub struct Delivery {
    nodes: usize,
    probabilities: Vec<f64>,
}

impl Delivery {
    /// A matrix without links.
    #[must_use]
    pub fn none(nodes: usize) -> Self {
        Delivery { nodes, probabilities: vec![0.0; nodes * nodes] }
    }

    /// Number of nodes.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// Probability that `to` receives from `from`.
    #[must_use]
    pub fn of(&self, from: usize, to: usize) -> f64 {
        self.probabilities[from * self.nodes + to]
    }

    /// Sets the probability that `to` receives from `from`.
    pub fn set(&mut self, from: usize, to: usize, probability: f64) {
        self.probabilities[from * self.nodes + to] = probability.clamp(0.0, 1.0);
    }

    /// Expected transmissions from each node to `destination` on the best path; infinite without a path.
    #[must_use]
    pub fn distances(&self, destination: usize) -> Vec<f64> {
        let mut distances = vec![f64::INFINITY; self.nodes];
        distances[destination] = 0.0;
        let mut done = vec![false; self.nodes];
        while let Some(nearest) = (0..self.nodes)
            .filter(|node| !done[*node] && distances[*node].is_finite())
            .min_by(|one, other| distances[*one].total_cmp(&distances[*other]))
        {
            done[nearest] = true;
            for node in (0..self.nodes).filter(|node| self.of(*node, nearest) >= LEAST_DELIVERY) {
                distances[node] = distances[node].min(distances[nearest] + 1.0 / self.of(node, nearest));
            }
        }
        distances
    }

    /// The best path from `source` to `destination`, with both; `None` without a path.
    #[must_use]
    pub fn path(&self, source: usize, destination: usize) -> Option<Vec<usize>> {
        let distances = self.distances(destination);
        let mut path = vec![source];
        let mut at = source;
        while at != destination {
            let next = (0..self.nodes)
                .filter(|next| self.of(at, *next) >= LEAST_DELIVERY && distances[*next] < distances[at]);
            at = next.min_by(|one, other| {
                let through = |node: usize| distances[node] + 1.0 / self.of(at, node);
                through(*one).total_cmp(&through(*other))
            })?;
            path.push(at);
        }
        Some(path)
    }

    /// Transmissions of each member of `list` (destination first, source last) for a packet, if each sends
    /// what no nearer node has. Also the probability that the packet reaches the destination and does not get
    /// stuck.
    fn transmissions(&self, list: &[usize]) -> (Vec<f64>, f64) {
        let mut load = vec![0.0; list.len()];
        let mut sends = vec![0.0; list.len()];
        load[list.len() - 1] = 1.0;
        for from in (1..list.len()).rev() {
            let missed_by_all: f64 = (0..from).map(|to| 1.0 - self.of(list[from], list[to])).product();
            if missed_by_all >= 1.0 {
                continue;
            }
            sends[from] = load[from] / (1.0 - missed_by_all);
            let mut missed_by_nearer = 1.0;
            for to in 0..from {
                let heard = self.of(list[from], list[to]);
                load[to] += sends[from] * heard * missed_by_nearer;
                missed_by_nearer *= 1.0 - heard;
            }
        }
        (sends, load[0])
    }

    /// The forwarders, destination first and source last; `None` without a path.
    #[must_use]
    pub fn forwarders(&self, source: usize, destination: usize) -> Option<Vec<usize>> {
        let distances = self.distances(destination);
        if !distances[source].is_finite() || source == destination {
            return None;
        }
        let mut list: Vec<usize> =
            (0..self.nodes).filter(|node| distances[*node] < distances[source]).collect();
        list.sort_by(|one, other| distances[*one].total_cmp(&distances[*other]));
        list.push(source);
        loop {
            let (sends, _) = self.transmissions(&list);
            let least = LEAST_SHARE * sends.iter().sum::<f64>();
            let mut seldom: Vec<usize> = (1..list.len() - 1)
                .filter(|place| sends[*place] < least || list.len() > MAX_FORWARDERS)
                .collect();
            seldom.sort_by(|one, other| sends[*one].total_cmp(&sends[*other]));
            let without = |place: &usize| {
                let mut without = list.clone();
                without.remove(*place);
                without
            };
            // A node that rarely sends may still be the only way.
            let shorter = seldom.iter().map(without).find(|shorter| self.transmissions(shorter).1 >= ARRIVES);
            match shorter {
                Some(shorter) => list = shorter,
                None => return (list.len() <= MAX_FORWARDERS).then_some(list),
            }
        }
    }
}

/// The forwarders' order if some already hold a share of the batch (REfactor, section 2.2.2): a node with a
/// large share comes earlier, as if it were nearer by that share. Destination and source stay in place.
#[must_use]
pub fn reordered(list: &[usize], distances: &[f64], held_share: impl Fn(usize) -> f64) -> Vec<usize> {
    let mut list = list.to_vec();
    let last = list.len() - 1;
    let effective = |node: &usize| distances[*node] * (1.0 - held_share(*node).clamp(0.0, 1.0));
    if let Some(between) = list.get_mut(1..last) {
        between.sort_by(|one, other| effective(one).total_cmp(&effective(other)));
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line of nodes that hear the next one well and the one after it sometimes.
    fn line(nodes: usize) -> Delivery {
        let mut delivery = Delivery::none(nodes);
        for from in 0..nodes {
            for to in 0..nodes {
                let probability = match from.abs_diff(to) {
                    1 => 0.9,
                    2 => 0.5,
                    3 => 0.1,
                    _ => 0.0,
                };
                delivery.set(from, to, probability);
            }
        }
        delivery
    }

    #[test]
    fn distances_and_paths_are_those_of_the_best_transmissions() {
        let delivery = line(5);
        let distances = delivery.distances(4);
        assert!((distances[2] - 2.0).abs() < 1e-9, "{distances:?}");
        assert!((distances[3] - 1.0 / 0.9).abs() < 1e-9);
        assert_eq!(delivery.path(0, 4).unwrap(), [0, 2, 4]);
        assert_eq!(Delivery::none(3).path(0, 2), None);
    }

    #[test]
    fn forwarders_are_ordered_by_distance_and_those_that_would_hardly_send_are_left_out() {
        let delivery = line(5);
        let forwarders = delivery.forwarders(0, 4).unwrap();
        assert_eq!((forwarders[0], *forwarders.last().unwrap()), (4, 0));
        assert!(forwarders.windows(2).all(|two| two[0] > two[1]), "{forwarders:?}");
        assert_eq!(delivery.forwarders(2, 2), None);
        // a node that hears nearly nothing of the source has nothing to forward
        let mut delivery = Delivery::none(3);
        for (from, to, probability) in [(0, 2, 0.9), (0, 1, 0.06), (1, 2, 1.0)] {
            delivery.set(from, to, probability);
        }
        assert_eq!(delivery.forwarders(0, 2).unwrap(), [2, 0]);
        // but it stays if nobody else hears anything
        delivery.set(0, 2, 0.0);
        assert_eq!(delivery.forwarders(0, 2).unwrap(), [2, 1, 0]);
    }

    #[test]
    fn whoever_holds_much_comes_earlier_but_never_before_the_destination() {
        let distances = [4.0, 3.0, 2.0, 1.0, 0.0];
        let list = [4, 3, 2, 1, 0];
        assert_eq!(reordered(&list, &distances, |_| 0.0), list);
        assert_eq!(reordered(&list, &distances, |node| if node == 1 { 0.9 } else { 0.0 }), [4, 1, 3, 2, 0]);
    }
}
