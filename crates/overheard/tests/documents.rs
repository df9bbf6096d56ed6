//! What the documents say is so: every command in them exists with its options, every file they point at is there,
//! and the tunnel of the README carries packets.

#![allow(clippy::unwrap_used)] // a test fails by panicking

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use support::namespaces::{Cabled, Node, possible};
use support::traffic::answers;
use support::{PROGRAM, Site};

const DOCUMENTS: [&str; 3] = ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md"];
/// Commands of the system, which are not ours to check.
const OF_THE_SYSTEM: [&str; 2] = ["install", "tcpdump"];

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(document: &str) -> String {
    fs::read_to_string(workspace().join(document)).unwrap()
}

/// The contents of a document's fenced blocks of one language.
fn blocks(document: &str, language: &str) -> Vec<String> {
    let fence = format!("```{language}\n");
    let begin = |block: &str| block.split_once("```").expect("every block ends").0.to_owned();
    read(document).split(&fence).skip(1).map(begin).collect()
}

/// The commands that a document tells its reader to give.
fn commands(document: &str) -> Vec<String> {
    let commands = |block: String| -> Vec<String> {
        block.lines().filter_map(|line| line.strip_prefix("$ ")).map(str::to_owned).collect()
    };
    blocks(document, "console").into_iter().flat_map(commands).collect()
}

#[test]
fn every_command_in_the_documents_exists_with_its_options() {
    for document in DOCUMENTS {
        for command in commands(document) {
            let words: Vec<&str> = command.split_whitespace().skip_while(|word| *word == "sudo").collect();
            if let Err(why) = check(&words) {
                panic!("{document}: `{command}`: {why}");
            }
        }
    }
    assert!(commands("README.md").len() > 10, "the README's commands are found");
}

fn check(words: &[&str]) -> Result<(), String> {
    let (program, arguments) = words.split_first().ok_or("no command")?;
    match *program {
        "make" => check_make(arguments),
        "cargo" => check_cargo(arguments),
        "overheard" | "target/release/overheard" => check_overheard(arguments),
        "scripts/in-qemu" => check(arguments),
        program if OF_THE_SYSTEM.contains(&program) => Ok(()),
        _ => Err(format!("{program} is no program that the documents know")),
    }
}

fn check_make(arguments: &[&str]) -> Result<(), String> {
    let makefile = read("Makefile");
    for argument in arguments {
        let found = match argument.split_once('=') {
            Some((variable, _)) => makefile.contains(&format!("$({variable})")),
            None => makefile.lines().any(|line| line.starts_with(&format!("{argument}:"))),
        };
        found.then_some(()).ok_or(format!("the Makefile has no {argument}"))?;
    }
    Ok(())
}

fn check_cargo(arguments: &[&str]) -> Result<(), String> {
    let (of_cargo, behind) = match arguments.iter().position(|word| *word == "--") {
        Some(at) => (&arguments[..at], &arguments[at + 1..]),
        None => (arguments, &[][..]),
    };
    let after = |option| of_cargo.iter().skip_while(move |word| **word != option).nth(1).copied();
    let package = after("-p").ok_or("it names no package")?;
    let folder = workspace().join("crates").join(package.trim_start_matches("overheard-"));
    if !folder.join("Cargo.toml").exists() {
        return Err(format!("there is no package {package}"));
    }
    if let Some(test) = after("--test")
        && !folder.join("tests").join(test).with_extension("rs").exists()
    {
        return Err(format!("{package} has no test {test}"));
    }
    if of_cargo.first() == Some(&"run") { check_overheard(behind) } else { Ok(()) }
}

/// The help of the subcommand must name every option.
fn check_overheard(arguments: &[&str]) -> Result<(), String> {
    let options: Vec<&&str> = arguments.iter().filter(|word| word.starts_with("--")).collect();
    let before_options = arguments.iter().take_while(|word| !word.starts_with('-'));
    let asked = Command::new(PROGRAM).args(before_options).arg("--help").output().unwrap();
    if !asked.status.success() {
        return Err(String::from_utf8_lossy(&asked.stderr).into_owned());
    }
    let help = String::from_utf8_lossy(&asked.stdout);
    let known = |option: &str| help.split_whitespace().any(|word| word.trim_end_matches(',') == option);
    match options.iter().find(|option| !known(option)) {
        Some(option) => Err(format!("its help does not know {option}:\n{help}")),
        None => Ok(()),
    }
}

#[test]
fn every_file_that_the_documents_point_at_is_there() {
    for document in DOCUMENTS.into_iter().chain(["CHANGELOG.md"]) {
        let text = read(document);
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let elsewhere = target.starts_with("http") || target.starts_with('#');
            assert!(elsewhere || workspace().join(target).exists(), "{document} points at {target}");
        }
    }
}

#[test]
fn the_table_of_the_readme_names_keys_that_a_configuration_may_have() {
    let site = Site::new();
    let plain = site.gateway();
    let values = [
        ("listen", "\"127.0.0.1:0\""),
        ("source_ports", "1"),
        ("threads", "1"),
        ("status_socket", "\"gateway.sock\""),
        ("mtu", "1400"),
        ("routes", "true"),
        ("when_down", "\"open\""),
        ("copy_dscp", "true"),
        ("mss_clamp", "true"),
        ("boost", "true"),
        ("boost_control", "\"cubic\""),
        ("keepalive_seconds", "25"),
        ("policy", "\"acked\""),
        ("store_mib", "16"),
        ("headers", "true"),
        ("literals", "true"),
        ("packing", "true"),
        ("interface", "\"wlan0mon\""),
        ("slot_bits", "18"),
        ("rate_mbps", "24.0"),
        ("buffer_packets", "8"),
        ("replacement", "\"lru\""),
        ("adaptive", "true"),
        ("degree", "2"),
        ("distance", "4"),
    ];
    let rows: Vec<String> = of_the_tunnel().lines().filter_map(row).collect();
    assert_eq!(rows.len(), values.len(), "{rows:?}");
    for row in rows {
        let (table, key) = row.split_once(' ').unwrap();
        let (_, value) = values.iter().find(|(known, _)| *known == key).unwrap();
        let config = if plain.contains(table) && plain.contains(&format!("\n{key} =")) {
            plain.clone()
        } else if plain.contains(table) {
            plain.replacen(table, &format!("{table}\n{key} = {value}"), 1)
        } else {
            format!("{plain}\n{table}\n{key} = {value}\n")
        };
        site.write("gateway.toml", &config);
        let asked = site.run(&["status", "gateway.toml"]);
        // 1: the configuration is read and no node runs; 2: the configuration is wrong.
        assert_eq!(asked.status.code(), Some(1), "{row}: {}", String::from_utf8_lossy(&asked.stderr));
    }
}

/// What the README says before it comes to the web cache, whose configuration is another.
fn of_the_tunnel() -> String {
    read("README.md").split("\n## A web cache").next().unwrap_or_default().to_owned()
}

/// The key in a row such as "| `[tunnel] mtu` | ...".
fn row(line: &str) -> Option<String> {
    let (key, _) = line.strip_prefix("| `[")?.split_once('`')?;
    Some(format!("[{key}"))
}

#[test]
fn the_tunnel_of_the_readme_carries_packets() {
    if !possible() {
        return;
    }
    let site = Site::new();
    let configurations = blocks("README.md", "toml");
    let [gateway, station, ..] = &configurations[..] else { panic!("two configurations are expected") };
    // Both nodes run on this machine's files: each gets a folder for its key and a socket of its own.
    for (name, text, public) in
        [("gateway", gateway, &site.station_public), ("station", station, &site.gateway_public)]
    {
        assert!(text.starts_with(&format!("# {name}.toml\n")));
        let placeholder = text.split('"').find(|value| value.ends_with("PUBLIC KEY")).unwrap();
        let text = text
            .replace(placeholder, public)
            .replace("keys/private.key", &format!("{name}/private.key"))
            .replace("keys/network.key", "network.key")
            .replace("[tunnel]", &format!("status_socket = \"{name}.sock\"\n\n[tunnel]"));
        site.write(&format!("{name}.toml"), &text);
    }
    let machines = Cabled::new();
    let _gateway = Node::start(&site, &machines.gateway, "gateway");
    let _station = Node::start(&site, &machines.station, "station");
    for gateway in ["10.9.0.1", "fd09::1"] {
        let to = gateway.parse().unwrap();
        assert!(answers(&machines.station, to, 100, Duration::from_secs(10)), "{gateway} does not answer");
    }
    for station in ["10.9.0.2", "fd09::2"] {
        let to = station.parse().unwrap();
        assert!(answers(&machines.gateway, to, 100, Duration::from_secs(10)), "{station} does not answer");
    }
}
