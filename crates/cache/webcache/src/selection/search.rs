//! The broadcast search (BCP, MeshCache section 4.2.2), and the setup of a path (PH-BCP, section 7.3).
//!
//! A search is a *content locate* message with a TTL. Each router rebroadcasts it once; a router that has the
//! content answers the searcher alone, and rebroadcasts only if searches are [whole](Search::Whole). The
//! searcher collects for the search timeout and then has the list of routers that answered. A *setup* message
//! goes to the next router on the way to the one chosen, which notes the mapping and passes it on.
//!
//! A message without the network's key has no effect. Each router has a rate limit.

use super::mapping::{Mappings, Target};
use super::message::{Kind, Message, NetworkKey, NotAMessage};
use crate::config::Search;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::net::IpAddr;
use std::time::Duration;

/// The most searches at a time.
const MOST_SEARCHES: usize = 1024;
/// The most answers to one search; the first ones count.
const MOST_HOLDERS: usize = 32;
/// The most messages remembered to detect duplicates.
const MOST_SEEN: usize = 8192;
/// The most routers with a rate limit.
const MOST_ORIGINS: usize = 1024;
/// Rate limit of one router: messages a second, and burst.
const RATE: f64 = 200.0;
const BURST: f64 = 400.0;
/// The most datagrams that wait to be sent.
const MOST_WAITING: usize = 1024;
/// Lifetime of a mapping without a refresh.
const MAPPED: Duration = Duration::from_secs(60);
/// The most hops of a setup.
const SETUP_TTL: u8 = 32;

/// A datagram with its receiver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transmit {
    /// One router, or `None` for all neighbours.
    pub to: Option<IpAddr>,
    /// Its bytes.
    pub datagram: Vec<u8>,
}

/// Identifies a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SearchId(u32);

/// An answer to a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// The search.
    pub search: SearchId,
    /// The router.
    pub holder: IpAddr,
}

/// Counts of messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Traffic {
    /// Searches of this router.
    pub searches: u64,
    /// Datagrams sent.
    pub sent: u64,
    /// Answers to this router's searches that came after the timeout.
    pub late: u64,
    /// Forwarded searches of other routers.
    pub rebroadcast: u64,
    /// Answered searches of other routers.
    pub answered: u64,
    /// Mappings that other routers set up here.
    pub set_up: u64,
    /// Datagrams that failed authentication.
    pub forged: u64,
    /// Malformed datagrams.
    pub malformed: u64,
    /// Messages received before.
    pub repeated: u64,
    /// Messages beyond the rate of their router, or beyond a limit of this router.
    pub over_allowance: u64,
}

/// The state of all searches of a router.
pub struct Searches {
    own: IpAddr,
    key: NetworkKey,
    search: Search,
    boot: u32,
    next: u32,
    open: BTreeMap<SearchId, Vec<IpAddr>>,
    seen: HashSet<(IpAddr, u32, u32)>,
    seen_order: VecDeque<(IpAddr, u32, u32)>,
    allowances: HashMap<IpAddr, (f64, Duration)>,
    mappings: Mappings,
    transmits: VecDeque<Transmit>,
    found: VecDeque<Found>,
    traffic: Traffic,
}

impl Searches {
    /// The searches of the router `own`; `boot` is random.
    #[must_use]
    pub fn new(own: IpAddr, key: NetworkKey, boot: u32) -> Self {
        Searches {
            own,
            key,
            search: Search::default(),
            boot,
            next: 0,
            open: BTreeMap::new(),
            seen: HashSet::new(),
            seen_order: VecDeque::new(),
            allowances: HashMap::new(),
            mappings: Mappings::new(MAPPED),
            transmits: VecDeque::new(),
            found: VecDeque::new(),
            traffic: Traffic::default(),
        }
    }

    /// The same with searches of others that end so.
    #[must_use]
    pub fn with(self, search: Search) -> Self {
        Searches { search, ..self }
    }

    /// Counts of messages.
    #[must_use]
    pub fn traffic(&self) -> Traffic {
        self.traffic
    }

    /// The mapping table.
    pub fn mappings(&mut self) -> &mut Mappings {
        &mut self.mappings
    }

    /// Begins a search over `ttl` hops; `None` if too many are open, or the URI is too long. It stays open
    /// until it is [ended](Searches::end).
    pub fn begin(&mut self, key: &str, ttl: u8) -> Option<SearchId> {
        if self.open.len() >= MOST_SEARCHES || ttl == 0 {
            return None;
        }
        let id = SearchId(self.number());
        let message = self.message(Kind::Locate, ttl, id.0, self.own, key);
        let datagram = message.emit(&self.key)?;
        self.remember((self.own, self.boot, id.0));
        self.open.insert(id, Vec::new());
        self.traffic.searches += 1;
        self.transmit(None, datagram);
        Some(id)
    }

    /// The routers that have answered an open search.
    #[must_use]
    pub fn holders(&self, search: SearchId) -> &[IpAddr] {
        self.open.get(&search).map_or(&[], Vec::as_slice)
    }

    /// Ends a search. Returns the routers that answered, in order.
    pub fn end(&mut self, search: SearchId) -> Vec<IpAddr> {
        self.open.remove(&search).unwrap_or_default()
    }

    /// Notes that requests for `key` go to `target`, and sends a setup to `next_hop` on the path.
    pub fn set_up(&mut self, key: &str, target: Target, next_hop: IpAddr, now: Duration) {
        self.mappings.set(key, target, now);
        if next_hop == target.node {
            return;
        }
        let kind = if target.holds { Kind::SetupHolder } else { Kind::SetupHome };
        let sequence = self.number();
        let datagram = self.message(kind, SETUP_TTL, sequence, target.node, key).emit(&self.key);
        if let Some(datagram) = datagram {
            self.transmit(Some(next_hop), datagram);
        }
    }

    /// Handles a datagram. `has` returns whether this router has a URI's content, and `next_hop` the next
    /// router on the path to another.
    pub fn handle_datagram(
        &mut self,
        datagram: &[u8],
        now: Duration,
        has: impl FnOnce(&str) -> bool,
        next_hop: impl FnOnce(IpAddr) -> Option<IpAddr>,
    ) {
        let network_key = self.key.clone();
        let message = match Message::parse(datagram, &network_key) {
            Ok(message) => message,
            Err(NotAMessage::Check) => return self.traffic.forged += 1,
            Err(_) => return self.traffic.malformed += 1,
        };
        if message.kind == Kind::Found {
            return self.take_answer(&message);
        }
        let name = (message.origin, message.boot, message.sequence);
        if self.seen.contains(&name) {
            return self.traffic.repeated += 1;
        }
        if !self.allows(message.origin, now) {
            return self.traffic.over_allowance += 1;
        }
        self.remember(name);
        match message.kind {
            Kind::Locate => self.take_search(&message, has(message.key)),
            Kind::SetupHolder | Kind::SetupHome => {
                let target = Target { node: message.target, holds: message.kind == Kind::SetupHolder };
                if target.node == self.own {
                    return;
                }
                self.traffic.set_up += 1;
                self.mappings.set(message.key, target, now);
                let next = next_hop(target.node).filter(|next| *next != target.node);
                self.pass_on(&message, next, false);
            }
            Kind::Found => {}
        }
    }

    /// The next datagram to send.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        self.transmits.pop_front()
    }

    /// The next router that was found.
    pub fn poll_found(&mut self) -> Option<Found> {
        self.found.pop_front()
    }

    fn take_search(&mut self, message: &Message<'_>, has: bool) {
        // The early end: a router that only this one reaches is farther than this one, and answers came late
        // because searches filled the air.
        if !has || self.search == Search::Whole {
            self.pass_on(message, None, true);
        }
        if !has {
            return;
        }
        self.traffic.answered += 1;
        let answer = Message { kind: Kind::Found, ttl: 1, target: self.own, ..message.clone() };
        if let Some(datagram) = answer.emit(&self.key) {
            self.transmit(Some(message.origin), datagram);
        }
    }

    fn take_answer(&mut self, message: &Message<'_>) {
        let search = SearchId(message.sequence);
        let ours = message.boot == self.boot && message.origin == self.own;
        if !ours {
            return self.traffic.repeated += 1;
        }
        let Some(holders) = self.open.get_mut(&search) else {
            return self.traffic.late += 1;
        };
        if holders.len() >= MOST_HOLDERS || holders.contains(&message.target) || message.target == self.own {
            return self.traffic.repeated += 1;
        }
        holders.push(message.target);
        self.found.push_back(Found { search, holder: message.target });
    }

    fn pass_on(&mut self, message: &Message<'_>, to: Option<IpAddr>, broadcast: bool) {
        if message.ttl <= 1 || to.is_none() && !broadcast {
            return;
        }
        let further = Message { ttl: message.ttl - 1, ..message.clone() };
        if let Some(datagram) = further.emit(&self.key) {
            self.traffic.rebroadcast += u64::from(broadcast);
            self.transmit(to, datagram);
        }
    }

    fn message<'a>(&self, kind: Kind, ttl: u8, sequence: u32, target: IpAddr, key: &'a str) -> Message<'a> {
        Message { kind, ttl, boot: self.boot, sequence, origin: self.own, target, key }
    }

    fn number(&mut self) -> u32 {
        self.next = self.next.wrapping_add(1);
        self.next
    }

    fn transmit(&mut self, to: Option<IpAddr>, datagram: Vec<u8>) {
        if self.transmits.len() >= MOST_WAITING {
            self.traffic.over_allowance += 1;
            return;
        }
        self.traffic.sent += 1;
        self.transmits.push_back(Transmit { to, datagram });
    }

    fn remember(&mut self, name: (IpAddr, u32, u32)) {
        self.seen.insert(name);
        self.seen_order.push_back(name);
        if self.seen_order.len() > MOST_SEEN
            && let Some(oldest) = self.seen_order.pop_front()
        {
            self.seen.remove(&oldest);
        }
    }

    /// Applies a token bucket for each router.
    fn allows(&mut self, origin: IpAddr, now: Duration) -> bool {
        if self.allowances.len() >= MOST_ORIGINS && !self.allowances.contains_key(&origin) {
            let full = |(tokens, at): &(f64, Duration)| {
                tokens + now.saturating_sub(*at).as_secs_f64() * RATE >= BURST
            };
            self.allowances.retain(|_, allowance| !full(allowance));
            if self.allowances.len() >= MOST_ORIGINS {
                return false;
            }
        }
        let (tokens, at) = self.allowances.entry(origin).or_insert((BURST, now));
        *tokens = (*tokens + now.saturating_sub(*at).as_secs_f64() * RATE).min(BURST);
        *at = now;
        let allowed = *tokens >= 1.0;
        if allowed {
            *tokens -= 1.0;
        }
        allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const URI: &str = "http://a/x";
    const NOW: Duration = Duration::from_secs(1000);

    fn node(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    /// Routers in a row, each in range of its neighbours.
    struct Row {
        routers: Vec<Searches>,
        holders: Vec<u8>,
        broadcasts: usize,
    }

    impl Row {
        fn of(length: u8, holders: &[u8]) -> Self {
            let router = |last| Searches::new(node(last), NetworkKey::new(b"k"), u32::from(last));
            Row { routers: (0..length).map(router).collect(), holders: holders.to_vec(), broadcasts: 0 }
        }

        fn with(mut self, search: Search) -> Self {
            self.routers = self.routers.into_iter().map(|router| router.with(search)).collect();
            self
        }

        /// Carries all datagrams.
        fn settle(&mut self) {
            loop {
                let mut carried = false;
                for at in 0..self.routers.len() {
                    while let Some(transmit) = self.routers[at].poll_transmit() {
                        carried = true;
                        self.broadcasts += usize::from(transmit.to.is_none());
                        for to in 0..self.routers.len() {
                            let hears = match transmit.to {
                                Some(address) => address == node(to as u8),
                                None => to.abs_diff(at) == 1,
                            };
                            if hears {
                                let has = self.holders.contains(&(to as u8));
                                let next = |target: IpAddr| {
                                    let IpAddr::V4(target) = target else { return None };
                                    let target = usize::from(target.octets()[3]);
                                    Some(node(if target > to { to + 1 } else { to - 1 } as u8))
                                };
                                self.routers[to].handle_datagram(&transmit.datagram, NOW, |_| has, next);
                            }
                        }
                    }
                }
                if !carried {
                    return;
                }
            }
        }
    }

    #[test]
    fn a_search_reaches_as_far_as_its_ttl_and_each_router_speaks_once() {
        for (holder, found) in [(4, vec![node(4)]), (5, vec![])] {
            let mut row = Row::of(9, &[holder]);
            let search = row.routers[0].begin(URI, 4).unwrap();
            row.settle();
            assert_eq!(row.routers[0].end(search), found);
            assert_eq!(row.broadcasts, 4, "the searcher and the three routers before the last one reached");
        }
    }

    #[test]
    fn a_search_ends_at_who_has_it() {
        let mut row = Row::of(9, &[2, 3]);
        let search = row.routers[0].begin(URI, 4).unwrap();
        row.settle();
        assert_eq!(row.routers[0].end(search), [node(2)], "the other one is farther");
        assert_eq!(row.broadcasts, 2);
    }

    #[test]
    fn a_whole_search_goes_past_who_has_it_to_its_ttl() {
        let mut row = Row::of(9, &[2, 3]).with(Search::Whole);
        let search = row.routers[0].begin(URI, 4).unwrap();
        row.settle();
        assert_eq!(row.routers[0].end(search), [node(2), node(3)]);
        assert_eq!(row.broadcasts, 4);
    }

    #[test]
    fn a_setup_leaves_a_mapping_at_each_router_on_the_way() {
        let mut row = Row::of(6, &[]);
        let target = Target { node: node(5), holds: true };
        row.routers[0].set_up(URI, target, node(1), NOW);
        row.settle();
        for at in 0..5 {
            assert_eq!(row.routers[at].mappings().get(URI, NOW), Some(target), "{at}");
        }
        assert_eq!(row.routers[5].mappings().get(URI, NOW), None, "it has it and asks nobody");
    }

    #[test]
    fn nothing_but_the_networks_key_changes_anything() {
        let mut stranger = Searches::new(node(1), NetworkKey::new(b"other"), 1);
        stranger.begin(URI, 3).unwrap();
        stranger.set_up(URI, Target { node: node(9), holds: true }, node(2), NOW);
        let mut router = Searches::new(node(0), NetworkKey::new(b"k"), 7);
        while let Some(transmit) = stranger.poll_transmit() {
            router.handle_datagram(&transmit.datagram, NOW, |_| true, |_| None);
        }
        router.handle_datagram(b"", NOW, |_| true, |_| None);
        assert_eq!((router.traffic().forged, router.traffic().malformed), (2, 1));
        assert!(router.poll_transmit().is_none() && router.mappings().is_empty());
    }

    #[test]
    fn an_answer_counts_only_for_a_search_that_is_open_and_once() {
        let mut row = Row::of(2, &[1]);
        let search = row.routers[0].begin(URI, 1).unwrap();
        let locate = row.routers[0].poll_transmit().unwrap();
        row.routers[1].handle_datagram(&locate.datagram, NOW, |_| true, |_| None);
        let answer = row.routers[1].poll_transmit().unwrap().datagram;
        for _ in 0..3 {
            row.routers[0].handle_datagram(&answer, NOW, |_| true, |_| None);
        }
        assert_eq!(row.routers[0].poll_found(), Some(Found { search, holder: node(1) }));
        assert_eq!(row.routers[0].poll_found(), None);
        assert_eq!(row.routers[0].end(search), [node(1)]);
        row.routers[0].handle_datagram(&answer, NOW, |_| true, |_| None);
        assert_eq!(row.routers[0].poll_found(), None, "the search is over");
        assert_eq!(row.routers[0].traffic().late, 1);
    }

    #[test]
    fn a_flood_of_searches_costs_its_router_its_allowance_and_nobody_elses() {
        let mut flooder = Searches::new(node(1), NetworkKey::new(b"k"), 1);
        let mut other = Searches::new(node(2), NetworkKey::new(b"k"), 2);
        let mut router = Searches::new(node(0), NetworkKey::new(b"k"), 3);
        for _ in 0..2000 {
            let search = flooder.begin(URI, 3).unwrap();
            flooder.end(search);
            let datagram = flooder.poll_transmit().unwrap().datagram;
            router.handle_datagram(&datagram, NOW, |_| true, |_| None);
            while router.poll_transmit().is_some() {}
        }
        assert_eq!(router.traffic().answered, BURST as u64);
        assert_eq!(router.traffic().over_allowance, 2000 - BURST as u64);
        other.begin(URI, 3).unwrap();
        router.handle_datagram(&other.poll_transmit().unwrap().datagram, NOW, |_| true, |_| None);
        assert_eq!(router.traffic().answered, BURST as u64 + 1);
    }
}
