//! Intercepts connections: nftables' TPROXY leads them to the transparent door with unchanged addresses, and
//! a routing rule makes the kernel deliver them here. Without a listener the kernel lets them pass, so a
//! router without its program still routes.
//!
//! It intercepts only new connections; existing ones continue.
//!
//! Dropping it removes the rules. The next start replaces the rules of a killed process.

#![allow(clippy::disallowed_methods)] // it waits for rules to be taken out

mod door;

pub use door::{NotListening, listen, transparent};
use ipnet::IpNet;
use route_netlink::packet::AddressFamily;
use route_netlink::packet::route::{RouteAttribute, RouteMessage, RouteProtocol, RouteScope, RouteType};
use route_netlink::packet::rule::{RuleAction, RuleAttribute, RuleMessage};
use route_netlink::{Connection, IfExists, Message};
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The intercepted connections, and their door.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The intercepting program: a part of the table's name.
    pub taker: &'static str,
    /// The port of the transparent door.
    pub door: u16,
    /// The intercepted connections: those that any of these matches.
    pub taken: Vec<Taken>,
    /// The mark on intercepted packets.
    pub mark: u32,
    /// The routing table that delivers them here.
    pub table: u32,
}

/// A set of connections.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Taken {
    /// Their incoming interfaces; any if empty.
    pub interfaces: Vec<String>,
    /// Their source networks; any if empty.
    pub sources: Vec<IpNet>,
    /// Their destination networks; any if empty.
    pub destinations: Vec<IpNet>,
    /// Their destination ports; any if empty.
    pub ports: Vec<u16>,
}

impl Taken {
    /// The conditions of a rule for one family, if it has addresses of the family.
    fn conditions(&self, is_ipv4: bool) -> Option<String> {
        let list = |items: Vec<String>| items.join(", ");
        let mut conditions = String::new();
        if !self.interfaces.is_empty() {
            let names = self.interfaces.iter().map(|name| format!("\"{name}\""));
            let _ = write!(conditions, "iifname {{ {} }} ", list(names.collect()));
        }
        let _ = write!(conditions, "meta nfproto {} ", if is_ipv4 { "ipv4" } else { "ipv6" });
        let family = if is_ipv4 { "ip" } else { "ip6" };
        for (field, networks) in [("saddr", &self.sources), ("daddr", &self.destinations)] {
            let of_family = networks.iter().filter(|network| network.addr().is_ipv4() == is_ipv4);
            let of_family: Vec<String> = of_family.map(|network| network.trunc().to_string()).collect();
            match (networks.is_empty(), of_family.is_empty()) {
                (true, _) => {}
                (false, true) => return None,
                (false, false) => {
                    let _ = write!(conditions, "{family} {field} {{ {} }} ", list(of_family));
                }
            }
        }
        if !self.ports.is_empty() {
            let ports = list(self.ports.iter().map(u16::to_string).collect());
            let _ = write!(conditions, "tcp dport {{ {ports} }} ");
        }
        Some(conditions)
    }
}

/// Reason why nothing is intercepted; a sentence with a remedy.
#[derive(Debug, thiserror::Error)]
pub enum NoInterception {
    /// The program `nft` is missing.
    #[error(
        "there is no program nft; install the package nftables, or put in rules of your own and say rules = false"
    )]
    NoNft,
    /// `nft` refused.
    #[error("nft refuses the rules: {0}; run as root, and see that the kernel has nft_tproxy")]
    Nft(String),
    /// The kernel refused the routing rule.
    #[error("cannot add the routing rule of table {table}: {why}; run as root, or choose another table")]
    Rule {
        /// The table.
        table: u32,
        /// The kernel's error.
        why: String,
    },
}

impl Plan {
    /// An invalid number's key, and a remedy.
    #[must_use]
    pub fn mistake(&self) -> Option<(&'static str, String)> {
        let Plan { door, mark, table, .. } = self;
        match (door, mark, table) {
            (0, _, _) => Some(("port", "0 is no port; choose a free one".to_owned())),
            (_, 0, _) => Some(("mark", "0 is what unmarked packets have; choose another number".to_owned())),
            (_, _, 0 | 253..=255) => {
                Some(("table", format!("table {table} is the kernel's own; choose another")))
            }
            _ => None,
        }
    }

    fn name(&self) -> String {
        format!("overheard_{}_{}", self.taker, self.door)
    }

    /// The rules in the syntax of `nft -f`.
    #[must_use]
    pub fn ruleset(&self) -> String {
        let mut rules = String::new();
        for (family, is_ipv4) in [("ip", true), ("ip6", false)] {
            for conditions in self.taken.iter().filter_map(|taken| taken.conditions(is_ipv4)) {
                let _ = writeln!(
                    rules,
                    "    {conditions}tcp flags & (fin | syn | rst | ack) == syn tproxy {family} to :{} meta mark set {:#x} accept",
                    self.door, self.mark
                );
            }
        }
        let (name, mark) = (self.name(), self.mark);
        format!(
            "table inet {name}\n\
             delete table inet {name}\n\
             table inet {name} {{\n  \
               chain prerouting {{\n    \
                 type filter hook prerouting priority mangle; policy accept;\n    \
                 fib daddr type local accept\n    \
                 meta l4proto tcp socket transparent 1 meta mark set {mark:#x} accept\n\
             {rules}  \
               }}\n\
             }}\n"
        )
    }

    /// The commands beside the rules, for operators with their own rules.
    #[must_use]
    pub fn commands(&self) -> String {
        let (mark, table) = (self.mark, self.table);
        format!(
            "ip -4 rule add fwmark {mark:#x} lookup {table}\n\
             ip -4 route replace local 0.0.0.0/0 dev lo table {table}\n\
             ip -6 rule add fwmark {mark:#x} lookup {table}\n\
             ip -6 route replace local ::/0 dev lo table {table}\n"
        )
    }
}

/// Longest wait for the removal of a killed program's rules.
const TAKEN_OUT_WITHIN: Duration = Duration::from_secs(10);

/// The installed rules.
#[derive(Debug)]
pub struct Interception {
    plan: Plan,
    /// Held until the rules are removed.
    _turn: Option<UnixListener>,
}

impl Interception {
    /// Installs the rules.
    ///
    /// The process that keeps the rules of a killed program removes them, possibly while the program
    /// restarts. The rules of one name are therefore installed after the removal of the earlier ones.
    pub fn install(plan: Plan) -> Result<Self, NoInterception> {
        let turn = turn(&plan.name());
        // Routing comes first, so that marked packets never take a wrong route.
        let why = |why| NoInterception::Rule { table: plan.table, why };
        route(&plan, true).map_err(why)?;
        let installed = Interception { plan, _turn: turn };
        nft(&installed.plan.ruleset())?;
        Ok(installed)
    }
}

/// Waits until no other process in this network namespace has rules of this name. Their holder has an
/// abstract socket, which the kernel closes with the process. The wait is bounded, because anybody may hold
/// one.
fn turn(name: &str) -> Option<UnixListener> {
    let address = SocketAddr::from_abstract_name(name).ok()?;
    let until = Instant::now() + TAKEN_OUT_WITHIN;
    loop {
        match UnixListener::bind_addr(&address) {
            Ok(turn) => return Some(turn),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(error) => {
                tracing::warn!("another program's rules of the name {name} may be in place: {error}");
                return None;
            }
        }
    }
}

impl Drop for Interception {
    fn drop(&mut self) {
        let name = self.plan.name();
        if let Err(error) = nft(&format!("table inet {name}\ndelete table inet {name}\n")) {
            tracing::warn!("{error}");
        }
        if let Err(error) = route(&self.plan, false) {
            tracing::warn!("the routing rule stays: {error}");
        }
    }
}

fn nft(rules: &str) -> Result<(), NoInterception> {
    let said = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => NoInterception::NoNft,
        _ => NoInterception::Nft(error.to_string()),
    };
    let mut child = Command::new("nft")
        .args(["-f", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(said)?;
    if let Some(mut input) = child.stdin.take() {
        let _ = input.write_all(rules.as_bytes());
    }
    let output = child.wait_with_output().map_err(said)?;
    if output.status.success() {
        return Ok(());
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    Err(NoInterception::Nft(complaint.lines().next().unwrap_or("it failed").trim().to_owned()))
}

/// Adds or removes the routing rules and routes of both families, in the calling thread's namespace.
fn route(plan: &Plan, add: bool) -> Result<(), String> {
    let kernel = Connection::open().map_err(|why| why.to_string())?;
    for family in [AddressFamily::Inet, AddressFamily::Inet6] {
        match route_family(&kernel, plan, family, add) {
            Ok(()) => {}
            // A kernel without IPv6 has no IPv6 connections.
            Err(error) if family == AddressFamily::Inet6 => tracing::debug!("IPv6 is not taken: {error}"),
            Err(error) => return Err(error.to_string()),
        }
    }
    Ok(())
}

fn route_family(
    kernel: &Connection,
    plan: &Plan,
    family: AddressFamily,
    add: bool,
) -> Result<(), route_netlink::Error> {
    let loopback = 1;
    let mut rule = RuleMessage::default();
    rule.header.family = family;
    rule.header.action = RuleAction::ToTable;
    rule.attributes = vec![RuleAttribute::FwMark(plan.mark), RuleAttribute::Table(plan.table)];
    let mut local = RouteMessage::default();
    local.header.address_family = family;
    local.header.kind = RouteType::Local;
    local.header.scope = RouteScope::Host;
    local.header.protocol = RouteProtocol::Static;
    local.attributes = vec![RouteAttribute::Table(plan.table), RouteAttribute::Oif(loopback)];
    // A killed process may have left the same rule. Its removal prevents a duplicate.
    let _ = kernel.remove(Message::Rule(rule.clone()));
    if !add {
        return kernel.remove(Message::Route(local));
    }
    kernel.add(Message::Rule(rule), IfExists::Refuse)?;
    kernel.add(Message::Route(local), IfExists::Replace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_name_what_is_taken_and_nothing_else() {
        let taken = Taken {
            interfaces: vec!["wlan0".to_owned()],
            sources: vec!["10.1.2.3/8".parse().unwrap(), "fd00::/8".parse().unwrap()],
            ports: vec![80, 8080],
            ..Taken::default()
        };
        let plan = Plan { taker: "cache", door: 4782, taken: vec![taken.clone()], mark: 0x4f48, table: 4782 };
        let rules = plan.ruleset();
        let of_ipv4 = "iifname { \"wlan0\" } meta nfproto ipv4 ip saddr { 10.0.0.0/8 } tcp dport { 80, 8080 } tcp flags & (fin | syn | rst | ack) == syn tproxy ip to :4782 meta mark set 0x4f48 accept";
        assert!(rules.contains(of_ipv4), "{rules}");
        assert!(rules.contains("ip6 saddr { fd00::/8 }"), "{rules}");
        let only_ipv6 = Taken { sources: vec!["fd00::/8".parse().unwrap()], ..taken };
        assert!(!Plan { taken: vec![only_ipv6], ..plan.clone() }.ruleset().contains("tproxy ip to"));
        let anything = Plan { taken: vec![Taken::default()], ..plan }.ruleset();
        assert!(anything.contains("    meta nfproto ipv4 tcp flags"), "{anything}");
        assert!(anything.contains("    meta nfproto ipv6 tcp flags"), "{anything}");
    }

    #[test]
    fn numbers_that_the_kernel_needs_itself_are_refused() {
        let plan = Plan { taker: "cache", door: 4782, taken: Vec::new(), mark: 1, table: 4782 };
        assert_eq!(plan.mistake(), None);
        let key = |plan: Plan| plan.mistake().map(|(key, _)| key);
        assert_eq!(key(Plan { door: 0, ..plan.clone() }), Some("port"));
        assert_eq!(key(Plan { mark: 0, ..plan.clone() }), Some("mark"));
        for table in [0, 253, 254, 255] {
            assert_eq!(key(Plan { table, ..plan.clone() }), Some("table"), "{table}");
        }
    }
}
