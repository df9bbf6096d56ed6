//! Mistakes in a configuration, each with its key and the remedy, and valid configurations.

#![allow(clippy::unwrap_used)]

use daemon::cache::config::Config;
use daemon::config::Mistake;
use std::path::{Path, PathBuf};

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("network.key"), "a key that is long enough\n").unwrap();
        std::fs::write(folder.path().join("short.key"), "short").unwrap();
        Folder(folder)
    }

    fn load(&self, text: &str) -> Result<Config, Mistake> {
        std::fs::write(self.path(), text).unwrap();
        Config::load(&self.path())
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("cache.toml")
    }
}

const CACHE: &str = "[cache]\nname = \"r\"\nclients = [\"10.0.0.0/8\"]\n";
const PEERS: &str =
    "[peers]\naddress = \"10.0.0.1\"\nnetworks = [\"10.0.0.0/8\"]\nnetwork_key_file = \"network.key\"\n";

#[test]
fn a_mistake_names_its_key_and_the_mend() {
    let folder = Folder::new();
    let with = |rest: &str| format!("{CACHE}{rest}");
    for (text, key, mend) in [
        ("[cache]\nname = \"a b\"\nclients = [\"10.0.0.0/8\"]".to_owned(), "[cache] name", "use up to 64"),
        ("[cache]\nclients = []".to_owned(), "[cache] clients", "name the networks"),
        ("[cache]\nclients = [\"everybody\"]".to_owned(), "[cache] clients", "write one as"),
        (with(""), "[transparent]", "add [transparent], [forward], [reverse] or [peers]"),
        (with("[transparent]\norigin_ports = [80, 443]"), "[transparent] origin_ports", "HTTPS"),
        (with("[transparent]\norigin_ports = []"), "[transparent] origin_ports", "name some"),
        (
            with("[transparent]\ninterfaces = [\"a\\\"; flush ruleset\"]"),
            "[transparent] interfaces",
            "ip link",
        ),
        (with("[transparent]\nmark = 0"), "[transparent] mark", "choose another"),
        (with("[transparent]\ntable = 254"), "[transparent] table", "choose another"),
        (with("[transparent]\n[store]\nmemory_mib = 0"), "[store] memory_mib", "at least 1"),
        (with("[transparent]\n[store]\ndirectory = \"d\"\ndisk_mib = 1"), "[store] disk_mib", "at least 4"),
        (with("[reverse]\nlisten = \"127.0.0.1:1\"\nupstream = []"), "[reverse] upstream", "add a table"),
        (
            with("[reverse]\nlisten = \"127.0.0.1:1\"\n[[reverse.upstream]]\nurl = \"https://a/\""),
            "[[reverse.upstream]] url",
            "http://deb",
        ),
        (with("[transparent]\n[management]\nlisten = \"0.0.0.0:1\""), "[management] token_file", "127.0.0.1"),
        (
            with("[transparent]\n[management]\nlisten = \"0.0.0.0:1\"\ntoken_file = \"short.key\""),
            "[management] token_file",
            "16 characters",
        ),
        (with(&PEERS.replace("network.key", "none.key")), "[peers] cache_key_file", "cannot read"),
        (with(&PEERS.replace("network.key", "short.key")), "[peers] cache_key_file", "overheard keygen"),
        (
            with(&format!("{PEERS}search_timeout_milliseconds = 0")),
            "[peers] search_timeout_milliseconds",
            "1 to 5000",
        ),
        (with(&format!("{PEERS}uplink_hops = -1.0")), "[peers] uplink_hops", "0 to 64"),
        (
            "[cache]\nname = \"r\"\nclients = [\"10.0.0.0/8\"]\nconnections_each = 0\n[transparent]"
                .to_owned(),
            "[cache] connections_each",
            "1 to 4096",
        ),
        (
            "[cache]\nclients = [\"10.0.0.0/8\"]\ndestination_ports = [80, \"9-1\"]\n[transparent]"
                .to_owned(),
            "[cache] destination_ports",
            "a range as",
        ),
        (
            "[cache]\nclients = [\"10.0.0.0/8\"]\ndestination_ports = [0]\n[transparent]".to_owned(),
            "[cache] destination_ports",
            "a range as",
        ),
        (
            "[cache]\nclients = [\"10.0.0.0/8\"]\nallow_destinations = [\"localhost\"]\n[transparent]"
                .to_owned(),
            "[cache] allow_destinations",
            "127.0.0.0/8",
        ),
        (with(&format!("{PEERS}grid_metres = nan")), "[peers] grid_metres", "positive"),
        (
            format!("[cache]\nname = \"r\"\nclients = [\"10.0.0.0/8\"]\nselection = \"grid\"\n{PEERS}"),
            "[peers] positions",
            "add it",
        ),
        (
            format!("[cache]\nname = \"r\"\nclients = [\"10.0.0.0/8\"]\nselection = \"broadcast\"\n{PEERS}"),
            "[peers] broadcast",
            "add the mesh's",
        ),
        (with("[transparent]\n[routing]\nsource = \"kernel\""), "[routing]", "take [routing] out"),
        (with(&format!("{PEERS}[routing]\nsource = \"static\"")), "[routing] file", "source = \"static\""),
        (
            with(&format!("{PEERS}[routing]\nsource = \"kernel\"\nrefresh_seconds = 0")),
            "[routing] refresh_seconds",
            "1 to 600",
        ),
        (with(&format!("{PEERS}[routing]\nsource = \"babeld\"")), "[routing] socket", "source = \"babeld\""),
        (
            with(&format!("{PEERS}[routing]\nsource = \"olsrv2\"\nsocket = \"/run/olsrd2\"")),
            "[routing] socket",
            "2009",
        ),
    ] {
        let mistake = folder.load(&text).unwrap_err().to_string();
        let before = format!("{}: {key}: ", folder.path().display());
        let sentence = mistake.strip_prefix(&before).unwrap_or_else(|| panic!("{text}: {mistake}"));
        assert!(sentence.contains(mend), "{text}: {mistake}");
        assert!(!sentence.contains('\n'), "{mistake}");
    }
}

#[test]
fn paths_are_beside_the_file_and_defaults_are_small() {
    let folder = Folder::new();
    let text = format!(
        "{CACHE}[transparent]\n[store]\ndirectory = \"kept\"\n{PEERS}[routing]\nsource = \"kernel\"\n[management]\n"
    );
    let Config { path, settings: config, management, .. } = folder.load(&text).unwrap();
    assert_eq!(path, folder.path());
    let (directory, disk_bytes) = config.limits.directory.unwrap();
    assert_eq!((directory, disk_bytes), (Path::new(&folder.path()).with_file_name("kept"), 4 << 30));
    assert_eq!(config.limits.memory_bytes, 64 << 20);
    let (plan, rules) = config.transparent.unwrap();
    assert_eq!((plan.taken[0].ports.as_slice(), rules, config.verify_host), (&[80][..], true, true));
    assert_eq!(config.mesh.unwrap().search_timeout.as_millis(), 25);
    assert_eq!(management.unwrap().listen.to_string(), "127.0.0.1:4784");
}
