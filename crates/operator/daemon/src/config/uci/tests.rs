use super::*;
use crate::config::Product;
use std::fs;

const SHIPPED: &str = include_str!("../../../../../../packaging/openwrt/overheard/files/overheard.config");

fn translated(text: &str) -> Result<String, String> {
    translate(Path::new("/etc/config/overheard"), text, "oh0").map_err(|why| why.to_string())
}

/// The complaint about a file with a tunnel and these lines.
fn complaint(lines: &str) -> String {
    let complaint = translated(&format!("config tunnel 'oh0'\n{lines}")).unwrap_err();
    assert_eq!(complaint.lines().count(), 1, "{complaint}");
    complaint
}

#[test]
fn the_shipped_file_becomes_a_configuration_of_the_same_meaning() {
    let toml = translate(Path::new("/etc/config/overheard"), SHIPPED, "overheard0").unwrap();
    let expected = "# Made from /etc/config/overheard by `overheard uci overheard0`: change that file.\n\n[node]\n\
                    role = \"station\"\nprivate_key_file = \"/etc/overheard/keys/private.key\"\n\
                    network_key_file = \"/etc/overheard/keys/network.key\"\n\
                    revoked_file = \"/etc/overheard/overheard0.revoked\"\n\n[tunnel]\ninterface = \"overheard0\"\n\
                    addresses = [\"10.9.0.2/24\"]\n\n[[peer]]\nname = \"gateway\"\n\
                    public_key = \"PUBLIC KEY OF THE GATEWAY\"\nendpoint = \"192.0.2.1:4780\"\n\
                    allowed_ips = [\"10.9.0.1/32\"]\n\n[memory]\nmib = 8\n";
    assert_eq!(toml, expected);
}

#[test]
fn a_node_accepts_the_translation_of_every_type() {
    let folder = tempfile::TempDir::new().unwrap();
    let key = |name: &str, prefix: &str, byte: u8| {
        use base64::Engine;
        let text = base64::engine::general_purpose::STANDARD.encode([byte; 32]);
        fs::write(folder.path().join(name), format!("{prefix}{text}\n")).unwrap();
        text
    };
    use crate::config::key_file::Kind;
    key("private.key", Kind::Private.prefix(), 7);
    key("network.key", Kind::Network.prefix(), 8);
    let public = "overheard-public-key:3p7bfXt9wbTTW2HC7OQ1Nz+DQ8hbeGdNrfx+FG+IK08=";
    let at = folder.path().display();
    let text = format!(
        "config tunnel 'oh0'\n option sandbox off\n option role gateway\n option source_ports 1\n option mtu 1300\n\
         \toption when_down \"closed\"\n option private_key_file '{at}/private.key'\n\
         \toption network_key_file '{at}/network.key'\n\
         \tlist addresses 10.9.0.1/24\n list addresses 'fd00::1/64'\n\
         config peer\n option name 'it'\\''s'\n option public_key '{public}'\n list allowed_ips '10.9.0.2/32'\n\
         config split\n list ports 80\n list ports '8080'\n option mark 0x4f53\n\
         config overhear\n option rate_mbps 54\n option slot_bits '14'\nconfig snoop\nconfig cache 'router'\n option any thing\n"
    );
    let toml = translated(&text).unwrap();
    for line in [
        "sandbox = false",
        "source_ports = 1",
        "addresses = [\"10.9.0.1/24\", \"fd00::1/64\"]",
        "name = \"it's\"",
        "ports = [80, 8080]",
        "mark = 20307",
        "rate_mbps = 54.0",
        "[snoop]",
    ] {
        assert!(toml.lines().any(|it| it == line), "{line}: {toml}");
    }
    let config = crate::config::Config::of_text(&folder.path().join("oh0.toml"), &toml, None, &Product);
    let config = config.unwrap_or_else(|why| panic!("{why}: {toml}"));
    assert_eq!((config.system.mtu, config.node.group.is_some()), (1300, true));
}

#[test]
fn each_mistake_is_one_sentence_with_its_line_and_the_correction() {
    let there = "/etc/config/overheard";
    for (lines, expected) in [
        ("option rolle station", "2: unknown option \"rolle\"; did you mean \"role\"? in section tunnel"),
        ("config pier\n", "2: unknown section \"pier\"; did you mean \"peer\"?"),
        ("option mtu wide", "2: mtu: \"wide\" is no whole number; write digits"),
        ("option routes maybe", "2: routes: \"maybe\" is neither on nor off; write '1' or '0'"),
        ("config overhear\noption rate_mbps inf", "3: rate_mbps: \"inf\" is no number; write digits"),
        ("list role station", "2: role: is a list and has one value only; write option in place of list"),
        ("option role 'station", "2: a value has no closing '; add it"),
        ("option role the station", "2: option has 3 words behind it; a value with spaces needs quotes"),
        ("opt role x", "2: \"opt\" begins no line of UCI; there are config, option and list"),
        (
            "option addresses a\nlist addresses b",
            "3: \"addresses\" is an option and a list; write list for every value",
        ),
        ("config reduce\nconfig reduce\n", "3: a second section reduce of tunnel 'oh0'; join the two"),
        ("config tunnel oh0\n", "2: a second section tunnel 'oh0'; join the two"),
        (
            "config tunnel\n",
            "2: a section tunnel has no name; write the interface behind it: config tunnel 'overheard0'",
        ),
        (
            "config tunnel oh1\nconfig peer\n",
            "3: section peer names no tunnel, and there are several; add: option tunnel 'NAME'",
        ),
        (
            "config peer\noption tunnel oh7",
            "2: unknown tunnel of section peer: \"oh7\"; did you mean \"oh0\"?",
        ),
    ] {
        assert_eq!(complaint(lines), format!("{there}:{expected}"));
    }
    assert_eq!(
        translated("option a b").unwrap_err(),
        format!("{there}:1: option \"a\" is in no section; write config TYPE before it")
    );
    assert_eq!(
        translated("config tunnel 'home'").unwrap_err(),
        format!("{there}: there is no section tunnel 'oh0'; the tunnels are: home")
    );
    assert!(translated(&"#\n".repeat(200_000)).unwrap_err().contains("bytes"));
}

#[test]
fn hostile_values_stay_values() {
    let toml = translated("config tunnel oh0\noption role \"a\\\"]\n[peer]\nx = '\"\n").unwrap();
    let table: toml::Table = toml.parse().unwrap();
    assert_eq!(table["node"]["role"].as_str(), Some("a\"]\n[peer]\nx = '"));
    assert!(!table.contains_key("peer"));
}
