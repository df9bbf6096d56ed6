//! A running cache adopts its configuration again at SIGHUP. Connections and the store stay. The log names
//! the keys that need a restart.

use super::config::Config;
use crate::keeper::{Keeper, Order, Rules};
use crate::service;
use interception::Plan;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::signal::unix::Signal;
use webcache::proxy::{Live, Proxy};

/// The keys that change without a restart.
const LIVE: [&str; 8] = [
    "[cache] clients",
    "[cache] stale_if_unreachable_seconds",
    "[cache] destination_ports",
    "[cache] allow_destinations",
    "[cache] packages",
    "[transparent] verify_host",
    "[forward] connect_ports",
    "[reverse] upstream",
];
/// The same, for keys of the interception rules. `[cache] clients` is another one.
const OF_RULES: [&str; 2] = ["[transparent] interfaces", "[transparent] origin_ports"];

/// The tables that each cache has, whether or not they are in the file. Another one that comes or goes needs
/// a restart as a whole.
const ALWAYS: [&str; 2] = ["cache", "store"];

/// The values of a file by table and key. A table that is not in [`ALWAYS`] is a key, too: `[NAME]`.
type Values = BTreeMap<String, toml::Value>;

/// The configuration of a running cache.
pub struct Reload {
    path: PathBuf,
    values: Values,
    /// The adopted settings.
    live: Live,
    /// The interception, if the cache has rules of its own.
    rules: Option<(Plan, Arc<Keeper>)>,
}

/// What a reload did.
#[derive(Debug, Default, PartialEq, Eq)]
struct Changes {
    adopted: Vec<String>,
    need_restart: Vec<String>,
}

impl Reload {
    /// For a cache that starts with `config`, and the keeper of its rules.
    pub fn of(config: &Config, keeper: Option<Arc<Keeper>>) -> Self {
        let plan = config.settings.transparent.as_ref().map(|(plan, _)| plan.clone());
        Reload {
            values: values(&config.text),
            path: config.path.clone(),
            live: config.settings.live(),
            rules: plan.zip(keeper),
        }
    }

    /// Reloads at each signal, without end.
    pub async fn serve(mut self, mut hangup: Signal, proxy: Arc<Proxy>) {
        while hangup.recv().await.is_some() {
            service::reloads();
            let proxy = proxy.clone();
            let reloaded = tokio::task::spawn_blocking(move || {
                match self.adopt(&proxy) {
                    Ok(changes) => changes.tell(),
                    Err(why) => tracing::error!(
                        "the configuration is not taken up, and the cache stays as it is: {why:#}"
                    ),
                }
                self
            });
            let Ok(this) = reloaded.await else { return };
            self = this;
            service::is_ready();
        }
    }

    /// Adopts the file: all of its changes that need no restart, or nothing.
    fn adopt(&mut self, proxy: &Proxy) -> anyhow::Result<Changes> {
        let config = Config::load(&self.path)?;
        let new = values(&config.text);
        let changes = Changes::between(&self.values, &new, self.rules.is_some());
        if let Some((plan, keeper)) = &mut self.rules {
            let mut taken = plan.taken.clone();
            taken.iter_mut().for_each(|taken| taken.sources.clone_from(&config.settings.clients));
            if let Some((wanted, _)) = config.settings.transparent.as_ref() {
                taken.clone_from(&wanted.taken);
            }
            let wanted = Plan { taken, ..plan.clone() };
            if *plan != wanted {
                install(keeper, &wanted).inspect_err(|_| {
                    if let Err(why) = install(keeper, plan) {
                        tracing::error!(
                            "the earlier rules are gone, too, and nothing is intercepted: {why:#}"
                        );
                    }
                })?;
                *plan = wanted;
            }
        }
        self.live = changes.live(&self.live, config.settings.live());
        proxy.adopt(self.live.clone());
        for key in &changes.adopted {
            match new.get(key) {
                Some(value) => drop(self.values.insert(key.clone(), value.clone())),
                None => drop(self.values.remove(key)),
            }
        }
        Ok(changes)
    }
}

fn install(keeper: &Keeper, plan: &Plan) -> anyhow::Result<()> {
    match keeper.order(&Order { rules: Some(Rules::from(plan)), boost: None })?.no_rules {
        Some(why) => anyhow::bail!("[transparent]: {why}"),
        None => Ok(()),
    }
}

impl Changes {
    fn between(old: &Values, new: &Values, has_rules: bool) -> Self {
        let mut changes = Changes::default();
        let mut keys: Vec<&String> = old.keys().chain(new.keys()).collect();
        keys.sort_unstable();
        keys.dedup();
        let is_changed = |key: &&String| {
            // A table that comes or goes is named itself.
            let table = key.split_once(' ').map_or("", |(table, _)| table);
            old.contains_key(table) == new.contains_key(table) && old.get(*key) != new.get(*key)
        };
        for key in keys.into_iter().filter(is_changed) {
            let is_live = LIVE.contains(&key.as_str()) || has_rules && OF_RULES.contains(&key.as_str());
            let list = if is_live { &mut changes.adopted } else { &mut changes.need_restart };
            list.push(key.clone());
        }
        changes
    }

    /// The settings to adopt: those of a table that comes or goes stay as they are.
    fn live(&self, old: &Live, mut new: Live) -> Live {
        let stays = |table: &str| self.need_restart.iter().any(|key| key == table);
        if stays("[transparent]") {
            new.verify_host = old.verify_host;
        }
        if stays("[forward]") {
            new.destinations.connect_ports.clone_from(&old.destinations.connect_ports);
        }
        if stays("[reverse]") {
            new.rewrites.clone_from(&old.rewrites);
        }
        new
    }

    fn tell(&self) {
        let Changes { adopted, need_restart } = self;
        match adopted.as_slice() {
            [] if need_restart.is_empty() => tracing::info!("the configuration has not changed"),
            [] => {}
            adopted => tracing::info!("the configuration is taken up: {}", adopted.join(", ")),
        }
        if !need_restart.is_empty() {
            tracing::warn!(
                "these keys and tables need a restart, and stay as they are: {}",
                need_restart.join(", ")
            );
        }
    }
}

/// The values of a file with this text; a key outside tables has only its name.
fn values(text: &str) -> Values {
    let mut values = Values::new();
    // It was read before as a configuration.
    for (name, value) in &text.parse::<toml::Table>().unwrap_or_default() {
        match value {
            toml::Value::Table(table) => {
                if !ALWAYS.contains(&name.as_str()) {
                    values.insert(format!("[{name}]"), true.into());
                }
                values.extend(table.iter().map(|(key, value)| (format!("[{name}] {key}"), value.clone())))
            }
            value => drop(values.insert(name.clone(), value.clone())),
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::values as of;
    use super::*;

    #[test]
    fn each_changed_key_is_adopted_or_named() {
        let old = of("[cache]\nclients = [\"10.0.0.0/8\"]\npackages = false\n[store]\nmemory_mib = 8\n\
                      [transparent]\ninterfaces = [\"a\"]\n");
        let new = of("sandbox = false\n[cache]\nclients = [\"10.0.0.0/9\"]\n[store]\nmemory_mib = 9\n\
                      [transparent]\ninterfaces = [\"b\"]\n");
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let changes = Changes::between(&old, &new, true);
        let adopted = ["[cache] clients", "[cache] packages", "[transparent] interfaces"];
        assert_eq!(changes.adopted, names(&adopted));
        assert_eq!(changes.need_restart, names(&["[store] memory_mib", "sandbox"]));
        // Rules of the operator's own are the operator's.
        let changes = Changes::between(&old, &new, false);
        assert!(changes.need_restart.contains(&"[transparent] interfaces".to_owned()), "{changes:?}");
        assert_eq!(Changes::between(&old, &old, true), Changes::default());
    }
    #[test]
    fn a_table_that_comes_or_goes_needs_a_restart_and_keeps_its_settings() {
        let without = of("[cache]\npackages = true\n");
        for (table, name) in [
            ("[transparent]\n", "[transparent]"),
            ("[transparent]\nverify_host = false\ninterfaces = [\"a\"]\n", "[transparent]"),
            ("[forward]\nlisten = \"127.0.0.1:3128\"\nconnect_ports = [8443]\n", "[forward]"),
            ("[[reverse.upstream]]\nurl = \"http://a/\"\n", "[reverse]"),
        ] {
            let with = of(&format!("[cache]\npackages = true\n{table}"));
            for (old, new) in [(&without, &with), (&with, &without)] {
                let changes = Changes::between(old, new, true);
                let expected = Changes { adopted: Vec::new(), need_restart: vec![name.to_owned()] };
                assert_eq!(changes, expected, "{table}");
            }
        }
        let old = Live { verify_host: false, packages: false, ..Live::default() };
        let new = Live { verify_host: true, packages: true, ..Live::default() };
        let gone = Changes { adopted: Vec::new(), need_restart: vec!["[transparent]".to_owned()] };
        let live = gone.live(&old, new.clone());
        assert!(!live.verify_host && live.packages, "{live:?}");
        assert!(Changes::default().live(&old, new).verify_host);
    }

    #[test]
    fn an_added_store_is_named_by_its_keys() {
        let changes = Changes::between(&of("[cache]\n"), &of("[cache]\n[store]\nmemory_mib = 8\n"), true);
        assert_eq!(changes.need_restart, ["[store] memory_mib"]);
    }
}
