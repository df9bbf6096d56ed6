//! The configuration of a running node, and its changes.
//!
//! A running node takes over changed peers, changed keys of the network, and another budget of memory: all
//! other sessions, stores and counters stay. Any other change restarts the node, and the log names its key.

mod fixed;

use crate::config::{Change, Config, Kind, Mistake, Preset, Product};
use crate::tunnel::microseconds_since_1970;
use anyhow::{Context, bail};
use fixed::Fixed;
use io::Control;
use node::{Differences, NetworkKey, PublicKey, Roster};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

/// Timeout of the threads' change.
const WITHIN: Duration = Duration::from_secs(5);
/// The most bytes of the request for a change.
pub const CHANGE_BYTES: u64 = 64 << 10;

/// The peers with an `endpoint`, by name, and whether they have a keepalive.
pub type Called = BTreeMap<String, bool>;

/// The peers of `config` that the node calls.
#[must_use]
pub fn called(config: &node::Config) -> Called {
    let called = config.peers.iter().filter(|peer| peer.endpoint.is_some());
    called.map(|peer| (peer.name.clone(), peer.keepalive.is_some())).collect()
}

/// What a reload is about to do.
#[derive(Debug, PartialEq, Eq)]
pub enum Reload {
    /// The node runs on.
    Done,
    /// The node restarts.
    Restart,
}

/// Reason why a change of the peers is refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The reason, and what to do.
    pub sentence: String,
    /// Whether the request is wrong, rather than the machine.
    pub is_mistake: bool,
}

impl From<anyhow::Error> for Refusal {
    fn from(why: anyhow::Error) -> Self {
        Refusal { sentence: format!("{why:#}"), is_mistake: why.is::<Mistake>() }
    }
}

/// The running configuration, for the threads that change it.
#[derive(Clone)]
pub struct Running(Arc<Mutex<State>>);

struct State {
    control: Control,
    path: PathBuf,
    /// The preset of the command line.
    preset: Option<Kind>,
    /// The text of the adopted configuration.
    text: String,
    network_keys: (NetworkKey, Option<NetworkKey>),
    /// The budget, in bytes.
    memory_bytes: Option<usize>,
    fixed: Fixed,
    roster: Roster,
    /// Revoked keys that no file has.
    unsaved: BTreeSet<PublicKey>,
    called: Sender<Called>,
    has_keeper: bool,
    /// A thread did not answer, so the peers of the node may be other ones.
    is_in_doubt: bool,
}

impl Running {
    /// The state of a node that starts by `config`. `called` receives the called peers after each change.
    #[must_use]
    pub fn of(config: &Config, control: Control, called: Sender<Called>, has_keeper: bool) -> Self {
        let text = fs::read_to_string(&config.path).unwrap_or_default();
        Running(Arc::new(Mutex::new(State {
            control,
            path: config.path.clone(),
            preset: config.preset.as_ref().and_then(Preset::of_command_line),
            network_keys: network_keys(config),
            memory_bytes: memory_bytes(config),
            fixed: Fixed::of(config, &text),
            text,
            roster: Roster::of(&config.node),
            unsaved: BTreeSet::new(),
            called,
            has_keeper,
            is_in_doubt: false,
        })))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the file again, and takes over its changes.
    ///
    /// # Errors
    ///
    /// A fault of the file, or of the machine. The node stays as it is.
    pub fn reload(&self) -> anyhow::Result<Reload> {
        let mut state = self.lock();
        let (text, mut config) = Config::load_with_text(&state.path, state.preset, &Product)?;
        if state.has_keeper || !crate::tunnel::needs_keeper(&config) {
            state.reload(text, &mut config)
        } else {
            bail!("[tunnel] boost and [split] take a restart: the rights for them were given up")
        }
    }

    /// Changes the peers, but not the file.
    ///
    /// # Errors
    ///
    /// If the change is wrong, or would restart the node, or the machine refuses it. The node stays as it is.
    pub fn change(&self, change: &Change) -> anyhow::Result<()> {
        let mut state = match self.0.try_lock() {
            Ok(state) => state,
            Err(TryLockError::Poisoned(state)) => state.into_inner(),
            Err(TryLockError::WouldBlock) => bail!("another change is under way; try again"),
        };
        state.change(change)
    }

    /// Notes that the node has revoked a key, and whether the file of revoked keys has it.
    pub fn note_revoked(&self, key: PublicKey, is_saved: bool) {
        let mut state = self.lock();
        state.roster.revoke(key);
        if !is_saved {
            state.unsaved.insert(key);
        }
    }
}

fn network_keys(config: &Config) -> (NetworkKey, Option<NetworkKey>) {
    (config.node.network_key.clone(), config.node.previous_network_key.clone())
}

/// The budget of a configuration, in bytes.
fn memory_bytes(config: &Config) -> Option<usize> {
    config.node.memory.map(|memory| memory.bytes)
}

impl State {
    fn reload(&mut self, text: String, config: &mut Config) -> anyhow::Result<Reload> {
        let (roster, differences) = self.followed(config);
        let mut needs = self.needs_restart(config, &text, &differences);
        if self.is_in_doubt {
            needs.push("a thread that did not answer".to_owned());
        }
        if !needs.is_empty() {
            tracing::info!(
                "the configuration is taken up: the tunnel begins anew, because of {}",
                needs.join(", ")
            );
            return Ok(Reload::Restart);
        }
        let keys = network_keys(config);
        let has_new_keys = keys != self.network_keys;
        if has_new_keys {
            self.control
                .set_network_keys(&keys.0, keys.1.as_ref(), WITHIN)
                .context("the network's keys are not taken up")?;
            self.network_keys = keys;
            tracing::info!("the network's keys are taken up; sessions stay");
        }
        let memory_bytes = memory_bytes(config);
        let has_other_memory = memory_bytes != self.memory_bytes;
        if let Some(bytes) = memory_bytes.filter(|_| has_other_memory) {
            self.control.set_memory_bytes(bytes, WITHIN).context("[memory] mib is not taken up")?;
            self.memory_bytes = memory_bytes;
            tracing::info!("the budget of memory is {} MiB now; sessions stay", bytes >> 20);
        }
        if !differences.is_empty() {
            self.adopt(config, roster)?;
            tracing::info!("the configuration is taken up, and sessions stay: {}", told(&differences));
        } else if !has_new_keys && !has_other_memory {
            tracing::info!("the configuration has not changed");
        }
        self.text = text;
        Ok(Reload::Done)
    }

    fn change(&mut self, change: &Change) -> anyhow::Result<()> {
        if self.is_in_doubt {
            bail!("an earlier change was not answered; reload the node, which restarts it");
        }
        let text = change.apply(&self.path, &self.text)?;
        let mut config = Config::of_text(&self.path, &text, self.preset, &Product)?;
        let (roster, differences) = self.followed(&mut config);
        let needs = self.needs_restart(&config, &text, &differences);
        if !needs.is_empty() {
            let needs = needs.join(", ");
            bail!(Mistake::new(format!(
                "a running node cannot take this over, because of {needs}; write it into {}, and reload the node",
                self.path.display()
            )));
        }
        self.adopt(&config, roster)?;
        tracing::info!("peers are changed, and sessions stay: {}", told(&differences));
        self.text = text;
        Ok(())
    }

    /// The roster of a later configuration, and its differences.
    fn followed(&self, config: &mut Config) -> (Roster, Differences) {
        config.node.handshakes_above = microseconds_since_1970();
        config.node.revoked.extend(&self.unsaved);
        let roster = self.roster.followed_by(&config.node);
        let differences = self.roster.differences(&roster);
        (roster, differences)
    }

    /// What a running node cannot take over, by the keys of the configuration.
    fn needs_restart(&self, config: &Config, text: &str, differences: &Differences) -> Vec<String> {
        self.fixed.differences(&Fixed::of(config, text), !differences.is_empty())
    }

    fn adopt(&mut self, config: &Config, roster: Roster) -> anyhow::Result<()> {
        let roster = Arc::new(roster);
        if let Err(why) = self.control.adopt(&roster, WITHIN) {
            self.is_in_doubt = matches!(why, io::Error::Stopped);
            let key =
                if matches!(why, io::Error::RouteTaken(_)) { "[[peer]] allowed_ips" } else { "[[peer]]" };
            return match why {
                io::Error::RouteTaken(_) => Err(Mistake::at(&self.path, key, why).into()),
                why => Err(anyhow::Error::new(why).context(format!("{}: {key}", self.path.display()))),
            };
        }
        self.roster = Arc::unwrap_or_clone(roster);
        // The watch may have ended.
        let _ = self.called.send(called(&config.node));
        Ok(())
    }
}

/// Differences for the log.
fn told(differences: &Differences) -> String {
    let Differences { added, removed, changed, other_keys } = differences;
    let mut text = String::new();
    for (what, names) in
        [("added", added), ("removed", removed), ("changed", changed), ("with other keys", other_keys)]
    {
        if !names.is_empty() {
            let between = if text.is_empty() { "" } else { "; " };
            let _ = write!(text, "{between}peers {what}: {}", names.join(", "));
        }
    }
    text
}
