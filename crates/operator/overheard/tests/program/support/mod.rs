//! A folder with keys and configurations, in which the program runs.

// Each test binary uses a part of this.
#![allow(dead_code)]
// Test support may fail by panicking, and waits for real programs.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

pub mod attacker;
pub mod browser;
pub mod cells;
pub mod chain;
pub mod delay;
pub mod documents;
pub mod names;
pub mod namespaces;
pub mod origin;
pub mod processor;
pub mod reader;
pub mod replay;
pub mod traffic;
pub mod wi_fi;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};
use tempfile::TempDir;

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_overheard");

/// Waits until a condition holds.
pub fn wait_until(what: &str, patience: Duration, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + patience;
    while !is_so() {
        assert!(Instant::now() < end, "not within {patience:?}: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The laboratory's program, which a build of the whole workspace puts beside the other.
pub fn laboratory() -> PathBuf {
    let program = Path::new(PROGRAM).with_file_name("overheard-lab");
    assert!(
        program.is_file(),
        "{} is not built; build it by `cargo build -p overheard-lab`",
        program.display()
    );
    program
}

/// Whether a program is installed; prints a line if it is not.
pub fn has(program: &str, package: &str) -> bool {
    let found = std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|folder| folder.join(program).exists()));
    if !found {
        println!("left out: {program} is not installed (package {package})");
    }
    found
}

/// The public key in a folder, as a configuration has it.
fn public_key(folder: &Path) -> String {
    let line = fs::read_to_string(folder.join("public.key")).unwrap();
    line.trim().strip_prefix("overheard-public-key:").unwrap().to_owned()
}

/// A folder with the keys of a gateway, a station and their network.
pub struct Site {
    folder: TempDir,
    pub gateway_public: String,
    pub station_public: String,
}

impl Site {
    pub fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let public = |name: &str| {
            let out = folder.path().join(name);
            let made = Command::new(PROGRAM).args(["keygen", "--out"]).arg(&out).output().unwrap();
            assert!(made.status.success(), "{made:?}");
            public_key(&out)
        };
        let (gateway_public, station_public) = (public("gateway"), public("station"));
        let made = Command::new(PROGRAM).args(["keygen", "--network", "--out"]).arg(folder.path()).output();
        assert!(made.unwrap().status.success());
        Site { folder, gateway_public, station_public }
    }

    /// Makes the keys of another node in a folder of this name. Returns its public key.
    pub fn key(&self, name: &str) -> String {
        let out = self.folder.path().join(name);
        let made = Command::new(PROGRAM).args(["keygen", "--out"]).arg(&out).output().unwrap();
        assert!(made.status.success(), "{made:?}");
        public_key(&out)
    }

    /// A site whose gateway listens on any address, and whose station knows it at `endpoint` and routes
    /// `allowed` to it.
    pub fn tunnel(endpoint: &str, allowed: &str) -> Self {
        let site = Site::new();
        site.write("gateway.toml", &site.gateway().replace("127.0.0.1:0", "[::]:4780"));
        site.add("gateway", "[node]", "revoked_file = \"gateway.revoked\"");
        let station = format!(
            r#"
[node]
role = "station"
private_key_file = "station/private.key"
network_key_file = "network.key"
revoked_file = "station.revoked"
status_socket = "station.sock"

[tunnel]
interface = "ohtest-st"
addresses = ["10.98.0.2/24", "fd98::2/64"]

[[peer]]
name = "gateway"
public_key = "{}"
endpoint = "{endpoint}"
allowed_ips = {allowed}
"#,
            site.gateway_public
        );
        site.write("station.toml", &station);
        site
    }

    /// Makes both nodes remove what repeats also where the machine is busy with other tests.
    pub fn save_when_busy(&self) {
        for name in ["gateway", "station"] {
            self.prepend(name, "reduce.spare_processor = false");
        }
    }

    /// Adds a key to a table of the configuration `NAME.toml`.
    pub fn add(&self, name: &str, table: &str, key: &str) {
        let file = format!("{name}.toml");
        let text = fs::read_to_string(self.path().join(&file)).unwrap();
        assert!(text.contains(table), "{file} has {table}");
        self.write(&file, &text.replacen(table, &format!("{table}\n{key}"), 1));
    }

    /// Prepends text to `NAME.toml`.
    pub fn prepend(&self, name: &str, text: &str) {
        let file = self.path().join(format!("{name}.toml"));
        let before = fs::read_to_string(&file).unwrap();
        fs::write(file, format!("{text}\n{before}")).unwrap();
    }

    /// Adds a station with the first one's current configuration and the address 10.98.0.`last`, also at the
    /// gateway.
    pub fn add_station(&self, name: &str, last: u8) {
        let public = self.key(name);
        let station = fs::read_to_string(self.path().join("station.toml")).unwrap();
        let station = station
            .replace("station/private.key", &format!("{name}/private.key"))
            .replace("station.sock", &format!("{name}.sock"))
            .replace("10.98.0.2/24", &format!("10.98.0.{last}/24"));
        self.write(&format!("{name}.toml"), &station);
        let gateway = fs::read_to_string(self.path().join("gateway.toml")).unwrap();
        let peer = format!(
            "\n[[peer]]\nname = \"{name}\"\npublic_key = \"{public}\"\nallowed_ips = [\"10.98.0.{last}/32\"]\n"
        );
        self.write("gateway.toml", &(gateway + &peer));
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.path().join(name), text).unwrap();
    }

    /// Runs the program in the folder.
    pub fn run(&self, args: &[&str]) -> Output {
        Command::new(PROGRAM).args(args).current_dir(self.path()).output().unwrap()
    }

    /// A copy of the program that every user may run.
    pub fn copy_of_program(&self) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(self.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let copy = self.path().join("overheard");
        fs::copy(PROGRAM, &copy).unwrap();
        fs::set_permissions(&copy, fs::Permissions::from_mode(0o755)).unwrap();
        copy
    }

    /// Runs `up` with a configuration that cannot start. Returns its exit code and message.
    pub fn refused(&self, config: &str) -> (i32, String) {
        self.write("gateway.toml", config);
        told(&self.run(&["up", "gateway.toml"]))
    }

    /// A gateway's configuration that only the machine could refuse.
    pub fn gateway(&self) -> String {
        format!(
            r#"
[node]
role = "gateway"
private_key_file = "gateway/private.key"
network_key_file = "network.key"
listen = "127.0.0.1:0"
status_socket = "gateway.sock"

[tunnel]
interface = "ohtest-gw"
addresses = ["10.98.0.1/24", "fd98::1/64"]

[[peer]]
name = "roof"
public_key = "{}"
allowed_ips = ["10.98.0.2/32", "fd98::2/128"]
"#,
            self.station_public
        )
    }
}

/// Exit code and the last line of standard error, which is the sentence for the user.
pub fn told(output: &Output) -> (i32, String) {
    let said = String::from_utf8_lossy(&output.stderr);
    (output.status.code().expect("it was not killed"), said.lines().last().unwrap_or("").to_owned())
}
