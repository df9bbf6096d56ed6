//! Routes that lead the peers' addresses into the tunnel, and keep the tunnel's own datagrams outside.
//!
//! A prefix without a peer's endpoint is an ordinary route in the main table. A prefix with an endpoint (as a
//! default route always is) would lead our own datagrams back into the tunnel. It is in a separate table,
//! which three rules apply to all traffic but ours:
//!
//! ```text
//!  p    lookup main suppress_prefixlength L            what is more specific than the prefix still wins
//!  p+1  not (iif lo, UDP, from our port)  lookup T     everyone but our own datagrams
//!  p+2  UDP, from our port                lookup main  changes no route, see below
//! ```
//!
//! `L` is the length of the prefix (0 for a default route; the longest one of several). `T` and `p` follow
//! from the interface's name, and the rules carry our protocol number. The next start can thus find and
//! remove the rules of a killed process. The routes disappear with the device.
//!
//! The rules recognize our datagrams by their port and not by a mark, because of the kernel's reverse-path
//! check (rp_filter). It applies the same rules to arriving packets with swapped ports, and so finds our
//! port; a mark would need connection tracking. It examines ports only if a rule without `iif lo` needs them,
//! which is the purpose of the third rule. `iif lo` prevents hosts behind us from avoiding the tunnel by
//! choosing our port.

use crate::Error;
use crate::netlink::{self, Netlink};
use ipnet::IpNet;
use route_netlink::packet::route::{RouteHeader, RouteProtocol};
use route_netlink::packet::rule::{RuleAction, RuleAttribute, RuleFlags, RuleMessage, RulePortRange};
use route_netlink::packet::{AddressFamily, IpProtocol};
use std::collections::BTreeSet;
use std::net::IpAddr;

/// Marks our rules (`ip rule` shows it as `proto`).
const PROTOCOL: RouteProtocol = RouteProtocol::Other(79);
const FIRST_TABLE: u32 = 47_800_000;
/// Our first priority. The kernel's own rules for the main table follow at 32766.
const FIRST_PRIORITY: u32 = 8_000;
const NAMES: u32 = 6_000;
const RULES_PER_NAME: u32 = 4;

/// The ordinary prefixes, and those that contain an endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// Prefixes for the main table.
    pub main: Vec<IpNet>,
    /// Prefixes for a table that our own datagrams do not use.
    pub apart: Vec<IpNet>,
}

impl Plan {
    /// Sorts the peers' `allowed_ips` by their `endpoints`.
    #[must_use]
    pub fn new(allowed_ips: &[IpNet], endpoints: &[IpAddr]) -> Self {
        let mut nets: Vec<IpNet> = allowed_ips.iter().map(IpNet::trunc).collect();
        nets.sort();
        nets.dedup();
        let (apart, main) = nets.into_iter().partition(|net| {
            net.prefix_len() == 0 || endpoints.iter().any(|endpoint| net.contains(endpoint))
        });
        Plan { main, apart }
    }
}

/// The numbers that follow from an interface's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Numbers {
    table: u32,
    priority: u32,
}

impl Numbers {
    fn of(interface: &str) -> Self {
        // FNV-1a, so that the next start with this name gets the same numbers.
        let hash = interface
            .bytes()
            .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        let name = hash % NAMES;
        Numbers { table: FIRST_TABLE + name, priority: FIRST_PRIORITY + name * RULES_PER_NAME }
    }

    fn owns(self, rule: &RuleMessage) -> bool {
        let ours = rule.attributes.contains(&RuleAttribute::Protocol(PROTOCOL));
        ours && rule.attributes.iter().any(|attribute| {
            matches!(attribute, RuleAttribute::Priority(priority)
                if (self.priority..self.priority + RULES_PER_NAME).contains(priority))
        })
    }
}

/// The rules for one family, in the order of their priorities.
fn rules(family: AddressFamily, numbers: Numbers, suppress: u8, ports: (u16, u16)) -> [RuleMessage; 3] {
    let rule = |order: u32, table: u32, attributes: &[RuleAttribute]| {
        let mut rule = RuleMessage::default();
        rule.header.family = family;
        rule.header.action = RuleAction::ToTable;
        rule.header.table = u8::try_from(table).unwrap_or(0);
        rule.attributes.push(RuleAttribute::Priority(numbers.priority + order));
        rule.attributes.push(RuleAttribute::Protocol(PROTOCOL));
        rule.attributes.push(RuleAttribute::Table(table));
        rule.attributes.extend_from_slice(attributes);
        rule
    };
    let main = u32::from(RouteHeader::RT_TABLE_MAIN);
    let from_our_port = [
        RuleAttribute::IpProtocol(IpProtocol::Udp),
        RuleAttribute::SourcePortRange(RulePortRange { start: ports.0, end: ports.1 }),
    ];
    let mut others = rule(1, numbers.table, &from_our_port);
    others.attributes.push(RuleAttribute::Iifname("lo".to_owned()));
    others.header.flags = RuleFlags::Invert;
    [
        rule(0, main, &[RuleAttribute::SuppressPrefixLen(u32::from(suppress))]),
        others,
        rule(2, main, &from_our_port),
    ]
}

/// The installed rules and routes. Dropping it removes the rules; the routes disappear with the device.
pub struct Routes {
    netlink: Netlink,
    rules: Vec<RuleMessage>,
    index: u32,
    numbers: Numbers,
    ports: (u16, u16),
    plan: Plan,
    congestion_control: Option<String>,
}

impl Routes {
    /// Installs the plan's routes through interface `index`, called `interface`. `ports` are the first and
    /// the last source port of our own datagrams. TCP connections on the routes use `congestion_control`.
    /// After an error only routes remain, which disappear with the device.
    pub fn install(
        netlink: Netlink,
        interface: &str,
        index: u32,
        plan: &Plan,
        ports: (u16, u16),
        congestion_control: Option<&str>,
    ) -> Result<Self, Error> {
        let numbers = Numbers::of(interface);
        remove_leftovers(&netlink, numbers, interface)?;
        let plan = plan.clone();
        let congestion_control = congestion_control.map(str::to_owned);
        let mut routes =
            Routes { netlink, rules: Vec::new(), index, numbers, ports, plan, congestion_control };
        let Plan { main, apart } = &routes.plan;
        routes.lead(&[main.as_slice(), apart].concat())?;
        for rule in plan_rules(&routes.plan, numbers, ports) {
            routes.netlink.add_rule(&rule)?;
            routes.rules.push(rule);
        }
        Ok(routes)
    }

    /// Leads the prefixes `after` in place of `before`, and follows another plan from now on. What both have
    /// in common stays in place. After an error nothing has changed.
    pub fn change(
        &mut self,
        plan: Plan,
        before: &BTreeSet<IpNet>,
        after: &BTreeSet<IpNet>,
    ) -> Result<(), Error> {
        let tabled = |plan: &Plan, nets: &BTreeSet<IpNet>| -> BTreeSet<(IpNet, Option<u32>)> {
            nets.iter().map(|net| (*net, plan.apart.contains(net).then_some(self.numbers.table))).collect()
        };
        let (old, new) = (tabled(&self.plan, before), tabled(&plan, after));
        let rules = plan_rules(&plan, self.numbers, self.ports);
        let (mut added_routes, mut added_rules) = (Vec::new(), Vec::new());
        if let Err(why) = self.add(&new, &old, &rules, (&mut added_routes, &mut added_rules)) {
            let removed = added_rules.iter().rev().map(|rule| self.netlink.remove_rule(rule));
            let withdrawn =
                added_routes.iter().map(|(net, table)| self.netlink.remove_route(self.index, *net, *table));
            removed.chain(withdrawn).filter_map(Result::err).for_each(|error| tracing::warn!("{error}"));
            return Err(why);
        }
        let stale = self.rules.iter().rev().filter(|rule| !rules.contains(rule));
        let removed = stale.map(|rule| self.netlink.remove_rule(rule));
        let routes = old.difference(&new);
        let withdrawn = routes.map(|(net, table)| self.netlink.remove_route(self.index, *net, *table));
        // The new ones are there, so the change is made.
        removed.chain(withdrawn).filter_map(Result::err).for_each(|error| tracing::warn!("{error}"));
        (self.plan, self.rules) = (plan, rules);
        Ok(())
    }

    /// Adds what is new. The lists receive what was added, also before an error.
    fn add(
        &self,
        new: &BTreeSet<(IpNet, Option<u32>)>,
        old: &BTreeSet<(IpNet, Option<u32>)>,
        rules: &[RuleMessage],
        (added_routes, added_rules): (&mut Vec<(IpNet, Option<u32>)>, &mut Vec<RuleMessage>),
    ) -> Result<(), Error> {
        for &(net, table) in new.difference(old) {
            self.netlink.add_route(self.index, net, table, self.congestion_control.as_deref())?;
            added_routes.push((net, table));
        }
        for rule in rules.iter().filter(|rule| !self.rules.contains(rule)) {
            self.netlink.add_rule(rule)?;
            added_rules.push(rule.clone());
        }
        Ok(())
    }
}

/// The rules of a plan. The rule that leads into the tunnel comes last, so that nothing changes before it.
fn plan_rules(plan: &Plan, numbers: Numbers, ports: (u16, u16)) -> Vec<RuleMessage> {
    let of_family = |(family, is_v4): (AddressFamily, bool)| {
        let apart = plan.apart.iter().filter(|net| net.addr().is_ipv4() == is_v4);
        let suppress = apart.map(IpNet::prefix_len).max()?;
        let [suppressed, others, by_port] = rules(family, numbers, suppress, ports);
        Some([suppressed, by_port, others])
    };
    let families = [(AddressFamily::Inet, true), (AddressFamily::Inet6, false)];
    families.into_iter().filter_map(of_family).flatten().collect()
}

impl Routes {
    fn table_of(&self, net: IpNet) -> Option<u32> {
        self.plan.apart.contains(&net).then_some(self.numbers.table)
    }

    /// Adds the plan's routes of these prefixes.
    pub fn lead(&self, nets: &[IpNet]) -> Result<(), Error> {
        let nets = nets.iter().map(IpNet::trunc);
        let control = self.congestion_control.as_deref();
        nets.into_iter()
            .try_for_each(|net| self.netlink.add_route(self.index, net, self.table_of(net), control))
    }

    /// Removes the plan's routes of these prefixes. The rules stay and find no route.
    pub fn withdraw(&self, nets: &[IpNet]) -> Result<(), Error> {
        let nets = nets.iter().map(IpNet::trunc);
        nets.into_iter().try_for_each(|net| self.netlink.remove_route(self.index, net, self.table_of(net)))
    }
}

impl Drop for Routes {
    fn drop(&mut self) {
        for rule in self.rules.iter().rev() {
            if let Err(error) = self.netlink.remove_rule(rule) {
                tracing::warn!("{error}");
            }
        }
    }
}

/// Removes the leftovers of a killed process with this interface name.
fn remove_leftovers(netlink: &Netlink, numbers: Numbers, interface: &str) -> Result<(), Error> {
    for family in [AddressFamily::Inet, AddressFamily::Inet6] {
        let left: Vec<RuleMessage> =
            netlink.rules(family)?.into_iter().filter(|rule| numbers.owns(rule)).collect();
        if left.is_empty() {
            continue;
        }
        // Routes disappear with their device. A table with routes thus has a live owner with our numbers.
        if netlink.routes(family)?.iter().any(|route| netlink::table(route) == numbers.table) {
            return Err(Error::TableTaken { table: numbers.table, interface: interface.to_owned() });
        }
        tracing::info!(
            "removing {} routing rules that an earlier run of {interface} left behind",
            left.len()
        );
        for rule in left {
            netlink.remove_rule(&rule)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nets(list: &[&str]) -> Vec<IpNet> {
        list.iter().map(|net| net.parse().unwrap()).collect()
    }

    #[test]
    fn a_prefix_without_an_endpoint_is_an_ordinary_route() {
        let plan = Plan::new(&nets(&["10.9.0.2/32", "fd00::/64"]), &["192.0.2.1".parse().unwrap()]);
        assert_eq!(plan.main, nets(&["10.9.0.2/32", "fd00::/64"]));
        assert!(plan.apart.is_empty());
    }

    #[test]
    fn a_prefix_that_would_swallow_an_endpoint_is_kept_apart() {
        let endpoints = ["10.1.1.1".parse().unwrap()];
        let plan = Plan::new(&nets(&["10.0.0.0/8", "10.9.0.0/24", "0.0.0.0/0", "::/0"]), &endpoints);
        assert_eq!(plan.apart, nets(&["0.0.0.0/0", "10.0.0.0/8", "::/0"]));
        assert_eq!(plan.main, nets(&["10.9.0.0/24"]));
    }

    #[test]
    fn host_bits_and_doubles_do_not_matter() {
        let plan = Plan::new(&nets(&["10.9.0.7/24", "10.9.0.0/24"]), &[]);
        assert_eq!(plan.main, nets(&["10.9.0.0/24"]));
    }

    #[test]
    fn an_interface_finds_its_own_rules_again_and_nobody_elses() {
        let numbers = Numbers::of("oh0");
        for rule in rules(AddressFamily::Inet, numbers, 0, (4780, 4783)) {
            assert!(Numbers::of("oh0").owns(&rule));
            assert!(!Numbers::of("oh1").owns(&rule));
            let mut foreign = rule.clone();
            foreign.attributes.retain(|attribute| !matches!(attribute, RuleAttribute::Protocol(_)));
            assert!(!numbers.owns(&foreign));
        }
    }

    #[test]
    fn all_rules_come_before_the_kernels_own() {
        let last = FIRST_PRIORITY + NAMES * RULES_PER_NAME;
        assert!(last < 32_766);
    }
}
