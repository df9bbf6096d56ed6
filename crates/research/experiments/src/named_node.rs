//! Nodes of a larger network, whose keys follow from their names.

use crate::pair::Program;
use crate::pair::WITHOUT_REPAIRS;
use lab::{Daemon, Ready};
use node::{NetworkKey, PrivateKey};
use rand::SeedableRng as _;
use rand_chacha::ChaCha12Rng;

/// A node as a daemon.
#[derive(Debug)]
pub struct NamedNode<'a> {
    /// Its name, also of its key files.
    pub name: &'a str,
    /// Its place.
    pub place: &'a str,
    /// Its configuration, which starts with its [`beginning`].
    pub config: String,
}

/// The beginning of the configuration of a node with this name and role: its table `[node]`.
#[must_use]
pub fn beginning(name: &str, role: &str) -> String {
    format!(
        "{WITHOUT_REPAIRS}[node]\nrole = \"{role}\"\nprivate_key_file = \"{{folder}}/{name}.key\"\n\
         network_key_file = \"{{folder}}/{name}.network\"\n\
         revoked_file = \"{{folder}}/{name}.revoked\"\nstatus_socket = \"{{socket}}\"\n"
    )
}

/// The table of a peer of this name.
#[must_use]
pub fn peer(name: &str, endpoint: Option<&str>, allowed_ips: &str) -> String {
    table("peer", name, endpoint, allowed_ips)
}

/// The table of another gateway of this name, or of one that a station knows.
#[must_use]
pub fn gateway(name: &str, endpoint: Option<&str>, allowed_ips: &str) -> String {
    table("gateway", name, endpoint, allowed_ips)
}

fn table(kind: &str, name: &str, endpoint: Option<&str>, allowed_ips: &str) -> String {
    let endpoint = endpoint.map(|endpoint| format!("endpoint = \"{endpoint}\"\n")).unwrap_or_default();
    let key = key(name).public();
    let allowed_ips = match allowed_ips {
        "" => String::new(),
        some => format!("allowed_ips = [{some}]\n"),
    };
    format!("[[{kind}]]\nname = \"{name}\"\npublic_key = \"{key}\"\n{endpoint}{allowed_ips}")
}

impl NamedNode<'_> {
    /// The daemon that runs the shipped program, and writes its own keys first.
    #[must_use]
    pub fn daemon(self) -> Daemon {
        self.run_by(Program::Shipped)
    }

    /// The same with another program.
    #[must_use]
    pub fn run_by(self, program: Program) -> Daemon {
        let Self { name, place, config } = self;
        let command = format!(
            "umask 077; echo '{}' > {{folder}}/{name}.key; echo '{}' > {{folder}}/{name}.network; \
             exec {}",
            key(name),
            NetworkKey::generate(&mut ChaCha12Rng::seed_from_u64(0)),
            program.runs("{config}").join(" "),
        );
        Daemon {
            name: name.to_owned(),
            place: place.to_owned(),
            command: ["sh", "-c", &command].map(str::to_owned).to_vec(),
            config,
            ready: Ready::Path("{socket}".to_owned()),
            status: ["{overheard}", "status", "--socket", "{socket}", "--json"].map(str::to_owned).to_vec(),
            later: false,
            within_seconds: None,
        }
    }
}

/// A key that follows from the name, because equal runs must use equal keys; it protects no real network.
fn key(name: &str) -> PrivateKey {
    let seed = name.bytes().fold(0, |seed: u64, byte| seed.wrapping_mul(257).wrapping_add(byte.into()));
    PrivateKey::generate(&mut ChaCha12Rng::seed_from_u64(seed))
}
