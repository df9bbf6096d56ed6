//! A keeper's order and its answer.

use interception::{Plan, Taken};
use ipnet::IpNet;
use serde::{Deserialize, Serialize};

/// The work of a keeper.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// The interception rules.
    pub rules: Option<Rules>,
    /// The congestion control to boost, by the kernel's name.
    pub boost: Option<String>,
}

/// The result of an order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// Reason why the rules are not installed; a sentence with a remedy.
    pub no_rules: Option<String>,
    /// The boosted control's name for sockets and routes, and the wrapped one.
    pub boost: Option<(String, String)>,
    /// Reason why no control is loaded; a sentence with a remedy.
    pub no_boost: Option<String>,
}

/// The intercepting program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Taker {
    Cache,
    Split,
}

/// The variable part of a [`Plan`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    taker: Taker,
    door: u16,
    taken: Vec<TakenFrom>,
    mark: u32,
    table: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct TakenFrom {
    interfaces: Vec<String>,
    sources: Vec<IpNet>,
    destinations: Vec<IpNet>,
    ports: Vec<u16>,
}

impl From<&Plan> for Rules {
    fn from(plan: &Plan) -> Self {
        let taken = plan.taken.iter().map(|taken| TakenFrom {
            interfaces: taken.interfaces.clone(),
            sources: taken.sources.clone(),
            destinations: taken.destinations.clone(),
            ports: taken.ports.clone(),
        });
        let taker = if plan.taker == "split" { Taker::Split } else { Taker::Cache };
        Rules { taker, door: plan.door, taken: taken.collect(), mark: plan.mark, table: plan.table }
    }
}

impl Rules {
    /// The plan. `nft` can parse nothing in it except addresses, ports and names.
    ///
    /// # Errors
    ///
    /// The invalid part.
    pub fn plan(&self) -> Result<Plan, String> {
        let is_name = |name: &String| {
            name.len() < 16 && name.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"\\".contains(&byte))
        };
        let mut names = self.taken.iter().flat_map(|taken| &taken.interfaces);
        if let Some(name) = names.find(|name| !is_name(name)) {
            return Err(format!("{name:?} is no name of an interface"));
        }
        let taken = self.taken.iter().map(|taken| Taken {
            interfaces: taken.interfaces.clone(),
            sources: taken.sources.clone(),
            destinations: taken.destinations.clone(),
            ports: taken.ports.clone(),
        });
        let taker = match self.taker {
            Taker::Cache => "cache",
            Taker::Split => "split",
        };
        let plan =
            Plan { taker, door: self.door, taken: taken.collect(), mark: self.mark, table: self.table };
        match plan.mistake() {
            Some((key, what)) => Err(format!("{key}: {what}")),
            None => Ok(plan),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(interface: &str) -> Plan {
        let taken = Taken {
            interfaces: vec![interface.to_owned()],
            destinations: vec!["10.0.0.0/8".parse().unwrap()],
            ports: vec![80],
            ..Taken::default()
        };
        Plan { taker: "split", door: 4783, taken: vec![taken], mark: 7, table: 4783 }
    }

    #[test]
    fn a_plan_is_read_as_it_was_written_and_what_nft_would_read_otherwise_is_refused() {
        let order = Order { rules: Some(Rules::from(&plan("wlan0"))), boost: Some("cubic".to_owned()) };
        let read: Order = serde_json::from_slice(&serde_json::to_vec(&order).unwrap()).unwrap();
        assert_eq!(read, order);
        assert_eq!(read.rules.unwrap().plan(), Ok(plan("wlan0")));
        for name in ["a\" }; flush", "a b", "a\n", "\\", "longer-than-names-are"] {
            assert!(Rules::from(&plan(name)).plan().is_err(), "{name}");
        }
        assert!(Rules::from(&Plan { table: 254, ..plan("wlan0") }).plan().is_err());
    }
}
