//! The parts of a configuration that a running node cannot change.

use crate::config::Config;
use split::Plan;
use std::collections::BTreeMap;
use toml::{Table, Value};

/// These parts of one configuration.
pub struct Fixed {
    /// Values by key, without peers, the budget of memory, and the files of the network's keys.
    values: BTreeMap<String, Value>,
    node: node::Config,
    split: Option<Plan>,
    token: Option<String>,
}

impl Fixed {
    /// Those of `config`, whose file has this text.
    pub fn of(config: &Config, text: &str) -> Self {
        Fixed {
            values: values(&text.parse().unwrap_or_default()),
            node: config.node.clone(),
            split: config.split.as_ref().map(|split| split.plan.clone()),
            token: config.dashboard.as_ref().and_then(|dashboard| dashboard.token.clone()),
        }
    }

    /// The keys that differ from `next`, where peers change or do not.
    pub fn differences(&self, next: &Fixed, peers_change: bool) -> Vec<String> {
        let mut keys: Vec<String> = self.values.keys().chain(next.values.keys()).cloned().collect();
        keys.sort_unstable();
        keys.dedup();
        keys.retain(|key| self.values.get(key) != next.values.get(key));
        let of_files = [
            ("[node] private_key_file", self.node.private_key != next.node.private_key),
            ("[dashboard] token_file", self.token != next.token),
            ("[[peer]] relays", self.node.role() != next.node.role()),
        ];
        let of_peers = [
            ("[[peer]] beside other gateways, [[destination]], or the second station of [overhear]", {
                !self.node.can_change_peers(&next.node)
            }),
            ("[[peer]] allowed_ips beside [split]", self.split != next.split),
        ];
        let of_peers = of_peers.into_iter().filter(|_| peers_change && keys.is_empty());
        let others = of_files.into_iter().chain(of_peers).filter(|(_, differs)| *differs);
        let others: Vec<String> = others.map(|(key, _)| key.to_owned()).collect();
        keys.extend(others);
        keys
    }
}

fn values(file: &Table) -> BTreeMap<String, Value> {
    let mut values = BTreeMap::new();
    for (name, value) in file.iter().filter(|(name, _)| *name != "peer") {
        match value {
            Value::Table(table) => {
                let keys = table.iter().map(|(key, value)| (format!("[{name}] {key}"), value.clone()));
                values.extend(keys);
                values.insert(format!("[{name}]"), true.into());
            }
            Value::Array(_) => drop(values.insert(format!("[[{name}]]"), value.clone())),
            value => drop(values.insert(name.clone(), value.clone())),
        }
    }
    // a running node takes these over
    for key in ["[node] network_key_file", "[node] previous_network_key_file", "[memory] mib", "[memory]"] {
        values.remove(key);
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_their_tables_and_what_a_running_node_takes_over_is_left_out() {
        let text = "split = true\n[memory]\nmib = 64\n[node]\nrole = \"gateway\"\nnetwork_key_file = \"a\"\n[[peer]]\nname = \"a\"\n\
                    [[gateway]]\nname = \"b\"\n[reduce]\n";
        let keys: Vec<String> = values(&text.parse().unwrap()).into_keys().collect();
        assert_eq!(keys, ["[[gateway]]", "[node]", "[node] role", "[reduce]", "split"]);
    }
}
