//! Runs every command of the documents as far as a test can. Quick commands run unchanged, in the reader's
//! order. An experiment lists its runs, and a Makefile recipe is printed without execution. `guides.rs`
//! follows the guides, and `scripts/package-test.sh` tests packages.

#![allow(clippy::unwrap_used)] // a test fails by panicking

use crate::support::documents::{DOCUMENTS, blocks, commands, read, workspace};
use crate::support::namespaces::possible;
use crate::support::reader::Reader;
use crate::support::{has, laboratory};
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// System commands, which need no check.
const OF_THE_SYSTEM: [&str; 13] = [
    "install",
    "opkg",
    "apk",
    "tcpdump",
    "tshark",
    "apt",
    "cp",
    "chown",
    "systemctl",
    "journalctl",
    "dpkg",
    "rustup",
    "perf",
];

/// Commands for the README's gateway and station, in this order.
const GIVEN: [(&str, Where, How); 21] = [
    ("overheard keygen --network --out keys", Where::Gateway, How::ToItsEnd),
    ("overheard keygen --out keys", Where::Gateway, How::ToItsEnd),
    ("overheard keygen --out keys", Where::Station, How::ToItsEnd),
    ("sudo overheard up gateway.toml", Where::Gateway, How::MeanwhileTheTunnel),
    ("sudo overheard up station.toml", Where::Station, How::MeanwhileTheTunnel),
    ("sudo overheard status", Where::Gateway, How::ToItsEnd),
    ("sudo overheard status --json", Where::Gateway, How::ToItsEnd),
    ("sudo overheard top", Where::Gateway, How::OnATerminal),
    ("sudo overheard capture --seconds 10 --output overheard.pcapng", Where::Gateway, How::ToItsEnd),
    (
        "tshark -X lua_script:packaging/wireshark/overheard.lua -r overheard.pcapng",
        Where::Gateway,
        How::IfThereIs("tshark"),
    ),
    ("sudo overheard capture --output overheard.pcapng", Where::Gateway, How::UntilInterrupted),
    ("sudo overheard --log-format json up gateway.toml", Where::Gateway, How::InThePlaceOfTheFirst),
    ("sudo overheard cache cache.toml", Where::Gateway, How::Meanwhile),
    ("sudo overheard status", Where::Gateway, How::ToItsEnd),
    ("overheard cache cache.toml --print-nft", Where::Gateway, How::ToItsEnd),
    ("overheard doctor", Where::Gateway, How::ToItsEnd),
    ("overheard-lab papers byte-caching", Where::Station, How::ToItsEnd),
    (
        "overheard-lab trace compose --mix high --kind whole --bytes 64000000 --output trace.pcap",
        Where::Station,
        How::WithFewerBytes,
    ),
    ("overheard analyze traffic.pcap", Where::Station, How::ToItsEnd),
    ("overheard analyze --json traffic.pcap", Where::Station, How::ToItsEnd),
    ("overheard analyze --svg curve.svg traffic.pcap", Where::Station, How::ToItsEnd),
];

/// Commands tested elsewhere: by `scripts/package-test.sh` with the package, and changes of peers, the demo,
/// `--interface` and `--radios` by tests of their own.
const GIVEN_ELSEWHERE: [&str; 10] = [
    "sudo overheard peer add shed --public-key KEY --allowed-ips 10.9.0.7/32 --write /etc/overheard/gateway.toml",
    "sudo overheard peer list",
    "sudo overheard peer remove shed --write /etc/overheard/gateway.toml",
    "sudo overheard doctor --radios",
    "sudo overheard analyze --interface overheard0 --seconds 60",
    "sudo -u overheard overheard keygen --network --out /etc/overheard/keys",
    "sudo -u overheard overheard keygen --out /etc/overheard/keys",
    "sudo overheard keygen --cache-key /etc/overheard/keys/network.key --out /etc/overheard/cache",
    "sudo target/release/overheard-lab demo --link satellite",
    "sudo target/release/overheard-lab demo --link satellite --once --preset satellite",
];

/// The machine of a command.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Where {
    Gateway,
    Station,
}

/// The way a command runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    ToItsEnd,
    /// It keeps running, and later commands wait for its start.
    Meanwhile,
    /// As above, for a node with the README's configuration.
    MeanwhileTheTunnel,
    /// The node before it is ended first.
    InThePlaceOfTheFirst,
    /// A key press ends it.
    OnATerminal,
    UntilInterrupted,
    /// Its duration depends on the size of its result.
    WithFewerBytes,
    IfThereIs(&'static str),
}

#[test]
fn every_command_is_run_or_checked() {
    // A command of several documents is checked once.
    let of_document = |document| commands(document).into_iter().map(move |command| (command, document));
    let all: BTreeMap<String, &str> = DOCUMENTS.into_iter().flat_map(of_document).collect();
    for (command, document) in &all {
        let words = words(command);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        if let Err(why) = check(command, &words) {
            panic!("{document}: `{command}`: {why}");
        }
    }
    assert!(commands("README.md").len() > 5, "the README's commands are found");
    for given in GIVEN.iter().map(|(given, ..)| given).chain(&GIVEN_ELSEWHERE) {
        assert!(all.contains_key(*given), "`{given}` is tried, and no document has it");
    }
}

/// A command's words, as a shell splits them, without prefixes for user and priority.
fn words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for letter in command.chars() {
        match (quote, letter) {
            (Some(open), _) if open == letter => quote = None,
            (None, '\'' | '"') => quote = Some(letter),
            (None, ' ') => words.push(String::new()),
            _ => words.last_mut().unwrap().push(letter),
        }
    }
    words.retain(|word| !word.is_empty());
    for before in [&["sudo"][..], &["-u", "overheard"], &["chrt", "-r", "5"]] {
        if words.iter().zip(before).filter(|(word, before)| word == before).count() == before.len() {
            words.drain(..before.len());
        }
    }
    words
}

fn check(command: &str, words: &[&str]) -> Result<(), String> {
    let (program, arguments) = words.split_first().ok_or("no command")?;
    match *program {
        "make" => check_make(arguments),
        "cargo" => check_cargo(command, arguments),
        "overheard" | "target/release/overheard" => check_given(command, arguments),
        "overheard-lab" | "target/release/overheard-lab" => check_laboratory(command, arguments),
        "scripts/in-qemu" => check(command, without_options(arguments)),
        "scripts/ns2-control" => {
            check_laboratory(command, &[&["experiment", "xbc", "--figure", "ns-2"], arguments].concat())
        }
        "python3" => check_python(arguments),
        program if OF_THE_SYSTEM.contains(&program) => Ok(()),
        _ => Err(format!("{program} is no program that the documents know")),
    }
}

/// The program and its arguments behind the options of `scripts/in-qemu`, each of which has a value.
fn without_options<'a, 'b>(arguments: &'a [&'b str]) -> &'a [&'b str] {
    match arguments {
        [option, _, rest @ ..] if option.starts_with("--") => without_options(rest),
        _ => arguments,
    }
}

/// Whether Python can run the wire format's decoder; prints a line if it cannot.
fn has_cryptography() -> bool {
    let asked = Command::new("python3").args(["-c", "import cryptography"]).output();
    let found = asked.is_ok_and(|asked| asked.status.success());
    if !found {
        println!("left out: python3 has no cryptography (package python3-cryptography)");
    }
    found
}

/// Checks that a script runs to its end in the workspace, and leaves no compiled files.
fn check_python(arguments: &[&str]) -> Result<(), String> {
    if !has_cryptography() {
        return Ok(());
    }
    let run = Command::new("python3").arg("-B").args(arguments).current_dir(workspace()).output();
    let run = run.map_err(|why| why.to_string())?;
    let said = || String::from_utf8_lossy(&run.stderr).into_owned();
    run.status.success().then_some(()).ok_or_else(said)
}

#[test]
fn the_wire_formats_decoder_reads_every_vector_and_notices_each_changed_one() {
    if !has_cryptography() {
        return;
    }
    let vectors: Vec<serde_json::Value> =
        serde_json::from_str(&read("docs/wire-format-vectors.json")).unwrap();
    let folder = tempfile::TempDir::new().unwrap();
    let file = folder.path().join("changed.json");
    // A bit of the first byte, whose meaning every vector has.
    let change = |vector: &serde_json::Value| {
        let mut changed = vector.clone();
        let (first, rest) = vector["hex"].as_str().unwrap().split_at(2);
        let first = u8::from_str_radix(first, 16).unwrap() ^ 1;
        changed["hex"] = format!("{first:02x}{rest}").into();
        changed
    };
    let (vectors, refused): (Vec<_>, Vec<_>) =
        vectors.into_iter().partition(|vector| !vector["value"].is_null());
    assert!(vectors.len() > 80 && refused.len() > 30);
    let changed: Vec<_> = vectors.iter().map(change).collect();
    fs::write(&file, serde_json::to_string(&changed).unwrap()).unwrap();
    let mut decoder = Command::new("python3");
    decoder.args(["-B", "docs/wire-format/decoder.py"]).arg(&file).current_dir(workspace());
    let run = decoder.output().unwrap();
    let said = String::from_utf8_lossy(&run.stderr);
    assert_eq!(run.status.code(), Some(1), "{said}");
    for vector in &vectors {
        let name = format!("{}: {}: ", vector["format"].as_str().unwrap(), vector["about"].as_str().unwrap());
        assert!(said.contains(&name), "changed, and not noticed: {name}\n{said}");
    }
}

/// Checks that its recipe expands, without executing it.
fn check_make(arguments: &[&str]) -> Result<(), String> {
    let makefile = read("Makefile");
    for variable in arguments.iter().filter_map(|argument| argument.split_once('=')).map(|(name, _)| name) {
        if !makefile.contains(&format!("$({variable})")) {
            return Err(format!("the Makefile knows no {variable}"));
        }
    }
    let gone_through =
        Command::new("make").arg("--dry-run").args(arguments).current_dir(workspace()).output();
    let gone_through = gone_through.map_err(|why| why.to_string())?;
    let said = || String::from_utf8_lossy(&gone_through.stderr).into_owned();
    gone_through.status.success().then_some(()).ok_or_else(said)
}

fn check_cargo(command: &str, arguments: &[&str]) -> Result<(), String> {
    let (of_cargo, behind) = match arguments.iter().position(|word| *word == "--") {
        Some(at) => (&arguments[..at], &arguments[at + 1..]),
        None => (arguments, &[][..]),
    };
    let after = |option| of_cargo.iter().skip_while(move |word| **word != option).nth(1).copied();
    let package = after("-p").ok_or("it names no package")?;
    let folder = folder_of(package).ok_or_else(|| format!("there is no package {package}"))?;
    let tests = |test: &str| {
        let named = folder.join("tests").join(test);
        named.with_extension("rs").exists() || named.join("main.rs").exists()
    };
    if let Some(test) = after("--test")
        && !tests(test)
    {
        return Err(format!("{package} has no test {test}"));
    }
    match (of_cargo.first(), package) {
        (Some(&"run"), "overheard-lab") => check_laboratory(command, behind),
        (Some(&"run"), _) => check_given(command, behind),
        _ => Ok(()),
    }
}

/// The folder of a package.
fn folder_of(package: &str) -> Option<PathBuf> {
    let is_its = |manifest: &PathBuf| {
        let text = fs::read_to_string(manifest).unwrap_or_default();
        text.contains(&format!("name = \"{package}\"\n"))
    };
    let folders = fs::read_dir(workspace().join("crates")).unwrap();
    let crates = folders.flat_map(|folder| fs::read_dir(folder.unwrap().path()).unwrap());
    let manifests = crates.map(|it| it.unwrap().path().join("Cargo.toml"));
    manifests.filter(is_its).map(|manifest| manifest.parent().unwrap().to_owned()).next()
}

fn check_laboratory(command: &str, arguments: &[&str]) -> Result<(), String> {
    match arguments {
        ["experiment", "all", ..] | ["bench" | "kernel" | "reproduce", ..] => has_its_options(arguments),
        ["experiment", ..] => has_something_to_run(arguments),
        _ => check_given(command, arguments),
    }
}

fn check_given(command: &str, arguments: &[&str]) -> Result<(), String> {
    match arguments {
        _ if GIVEN.iter().any(|(given, ..)| *given == command) => Ok(()),
        _ if GIVEN_ELSEWHERE.contains(&command) => Ok(()),
        ["doctor"] if command.starts_with("scripts/in-qemu ") => Ok(()), // given here without it
        _ => Err("no test gives it: add it to GIVEN".to_owned()),
    }
}

/// Checks that the help of the subcommand has every option.
fn has_its_options(arguments: &[&str]) -> Result<(), String> {
    let before_options = arguments.iter().take_while(|word| !word.starts_with('-'));
    let asked = Command::new(laboratory()).args(before_options).arg("--help").output().unwrap();
    if !asked.status.success() {
        return Err(String::from_utf8_lossy(&asked.stderr).into_owned());
    }
    let help = String::from_utf8_lossy(&asked.stdout);
    let known = |option: &str| help.split_whitespace().any(|word| word.trim_end_matches(',') == option);
    match arguments.iter().filter(|word| word.starts_with("--")).find(|option| !known(option)) {
        Some(option) => Err(format!("its help does not know {option}:\n{help}")),
        None => Ok(()),
    }
}

/// Checks that an experiment lists its runs with the document's options, except those for the rows.
fn has_something_to_run(arguments: &[&str]) -> Result<(), String> {
    let mut asked = Vec::new();
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        match *word {
            "--check" | "--list" => {}
            "--report" | "--resume" | "--keep-rows" => drop(rest.next()),
            _ => asked.push(*word),
        }
    }
    let told =
        Command::new(laboratory()).args(&asked).args(["--list"]).current_dir(workspace()).output().unwrap();
    let said = String::from_utf8_lossy(if told.status.success() { &told.stdout } else { &told.stderr });
    let is_told = told.status.success() && said.lines().count() > 1;
    if is_told { has_its_options(arguments) } else { Err(said.into_owned()) }
}

/// The script of a reader that runs [`GIVEN`] on two machines connected by a cable.
fn script() -> String {
    let mut script = String::from(concat!(
        "for name in gateway station; do mkdir -p $name; ln -s ../packaging $name/packaging; ip netns add $name; ",
        "ip -n $name link set lo up; done\n",
        "ip link add cable netns gateway type veth peer name cable netns station\n",
        "ip -n gateway addr add 192.0.2.1/24 dev cable; ip -n gateway link set cable up\n",
        "ip -n station addr add 192.0.2.2/24 dev cable; ip -n station link set cable up\n",
        "on() { (cd $1 && exec ip netns exec $1 bash -euo pipefail -c \"sudo() { \\\"\\$@\\\"; }; $2\"); }\n",
        "waits() { for _ in $(seq 100); do ! \"$@\" >/dev/null 2>&1 || return 0; sleep 0.1; done; false; }\n",
    ));
    for (command, place, how) in GIVEN {
        let name = match place {
            Where::Gateway => "gateway",
            Where::Station => "station",
        };
        let socket = if place == Where::Station { " station.toml" } else { "" };
        let is_up = format!("waits on {name} 'overheard status{socket}'\n");
        script.push_str(&match how {
            How::ToItsEnd => format!("on {name} '{command}'\n"),
            How::Meanwhile => format!("on {name} '{command}' &\nsleep 2\n"),
            How::MeanwhileTheTunnel => {
                let first = if place == Where::Gateway { "bash configure.sh\n" } else { "" };
                format!("{first}on {name} '{command}' &\n{is_up}")
            }
            How::InThePlaceOfTheFirst => {
                format!("kill $(ip netns pids gateway)\nsleep 1\non {name} '{command}' 2>log.json &\n{is_up}")
            }
            How::OnATerminal => {
                format!("(sleep 2; printf q) | on {name} 'timeout 20 script -qec \"$1\" /dev/null' \n")
                    .replace("$1", command.trim_start_matches("sudo "))
            }
            How::UntilInterrupted => {
                format!(
                    "on {name} 'timeout -s INT 3 {}' || test $? = 124\n",
                    command.trim_start_matches("sudo ")
                )
            }
            How::WithFewerBytes => {
                format!(
                    "on {name} '{}'\nln -s trace.pcap {name}/traffic.pcap\n",
                    command.replace("64000000", "2000000")
                )
            }
            How::IfThereIs(program) => {
                format!("! command -v {program} || on {name} '{command}' >/dev/null\n")
            }
        });
    }
    let of_caches = "on gateway 'curl -s http://127.0.0.1:4785/caches.json | grep router'";
    script.push_str(&format!("waits {of_caches}\n{of_caches}\n")); // they are asked every other second
    script
}

/// The README's files with each other's keys. Both nodes are on one machine, so the station has another
/// socket. The gateway has a page.
const CONFIGURE: &str = r#"
printf '\n[dashboard]\n' >> gateway/gateway.toml
cp gateway/keys/network.key station/keys/
sed -i "s|THE STATION'S PUBLIC KEY|$(cat station/keys/public.key)|" gateway/gateway.toml
sed -i "s|THE GATEWAY'S PUBLIC KEY|$(cat gateway/keys/public.key)|; s|^role = \"station\"|&\nstatus_socket = \"status.sock\"|" station/station.toml
"#;

#[test]
fn the_readmes_commands_do_what_they_are_given_for() {
    if !possible() || !has("script", "bsdutils") || !has("nft", "nftables") || !has("curl", "curl") {
        return;
    }
    let reader = Reader::new();
    let write = |name: &str, text: &str| {
        let file = reader.folder().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    };
    let mut configurations = blocks("README.md", "toml");
    configurations.extend(blocks("docs/features/web-cache.md", "toml"));
    for (name, file) in [("gateway", "gateway.toml"), ("station", "station.toml"), ("gateway", "cache.toml")]
    {
        let head = format!("# {file}\n");
        let text = configurations.iter().find(|text| text.starts_with(&head)).unwrap();
        // A test writes nothing into the machine's own folders.
        write(&format!("{name}/{file}"), &text.replace("/var/cache/overheard", "kept"));
    }
    write("configure.sh", CONFIGURE);
    let given = reader.gives(&script());
    let said = String::from_utf8_lossy(&given.stderr);
    let told = String::from_utf8_lossy(&given.stdout);
    assert!(given.status.success(), "{}\n{told}\n{said}", given.status);
    for sign in ["\"peers\":[", "station", "chain ", "zstd", "\"web cache router-4: 0 requests"] {
        assert!(told.contains(sign), "{sign} is not told:\n{told}");
    }
    let log = fs::read_to_string(reader.folder().join("log.json")).unwrap();
    assert!(log.lines().any(|line| line.starts_with("{\"timestamp\"")), "{log}");
}

#[test]
fn the_demo_fetches_every_byte_over_its_link() {
    if !possible() || !has("nginx", "nginx-light") || !has("curl", "curl") {
        return;
    }
    let content = tempfile::TempDir::new().unwrap();
    fs::copy(workspace().join("README.md"), content.path().join("README.md")).unwrap();
    let mut demo = Command::new(laboratory());
    demo.args(["demo", "--link", "satellite", "--preset", "satellite", "--content"]).arg(content.path());
    let shown = demo.output().unwrap();
    let said = String::from_utf8_lossy(&shown.stdout);
    assert!(shown.status.success(), "{said}\n{}", String::from_utf8_lossy(&shown.stderr));
    let checksums = said.lines().find(|line| line.starts_with("checksums")).expect("a table is shown");
    assert_eq!(checksums.matches("equal").count(), 4, "{said}");
    assert!(said.lines().any(|line| line.ends_with("OVERHEARD  PRESET SATELLITE")), "{said}");
}
