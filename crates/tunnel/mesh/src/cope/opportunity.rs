//! Choice of the natives that are combined (COPE, section 3.3, "packet coding algorithm").
//!
//! A combination of n natives for n next hops requires that each next hop has the n−1 others. No native waits
//! for a partner.

/// One native of a combination.
struct Member<P> {
    place: P,
    next_hop: u16,
    /// Probability that its next hop has all others.
    decodes: f64,
}

/// Adds to `out` the head's native and candidates for other next hops: first those of its size, and in a
/// second round others. Each next hop `has` all the others with at least this probability.
pub fn gather<P: Copy>(
    (head, first): (P, u16),
    next_hops: impl Iterator<Item = u16> + Clone,
    (most, at_least): (usize, f64),
    candidate: impl Fn(u16, bool) -> Option<P>,
    has: impl Fn(u16, P) -> f64,
    out: &mut Vec<P>,
) {
    let mut members = vec![Member { place: head, next_hop: first, decodes: 1.0 }];
    for same_size in [true, false] {
        for next_hop in next_hops.clone() {
            if members.len() >= most || members.iter().any(|member| member.next_hop == next_hop) {
                continue;
            }
            let Some(place) = candidate(next_hop, same_size) else { continue };
            let decodes: f64 = members.iter().map(|member| has(next_hop, member.place)).product();
            let others = |member: &Member<P>| member.decodes * has(member.next_hop, place);
            if decodes < at_least || members.iter().any(|member| others(member) < at_least) {
                continue;
            }
            let with_it: Vec<f64> = members.iter().map(others).collect();
            members.iter_mut().zip(with_it).for_each(|(member, decodes)| member.decodes = decodes);
            members.push(Member { place, next_hop, decodes });
        }
    }
    out.extend(members.iter().map(|member| member.place));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The natives combined with that for next hop 0, with one native for each of three next hops and these
    /// probabilities.
    fn gathered(has: impl Fn(u16, u16) -> f64) -> Vec<u16> {
        let mut out = Vec::new();
        gather((0, 0), 1..3, (4, 0.8), |next_hop, same_size| same_size.then_some(next_hop), has, &mut out);
        out
    }

    #[test]
    fn natives_are_gathered_whose_next_hops_have_all_others() {
        assert_eq!(gathered(|_, _| 1.0), [0, 1, 2]);
        assert_eq!(gathered(|next_hop, of| if (next_hop, of) == (2, 1) { 0.0 } else { 1.0 }), [0, 1]);
        assert_eq!(gathered(|next_hop, of| if (next_hop, of) == (0, 1) { 0.0 } else { 1.0 }), [0, 2]);
        assert_eq!(gathered(|_, _| 0.85), [0, 1], "0.85 twice is below 0.8");
        assert_eq!(gathered(|_, _| 0.0), [0]);
    }
}
