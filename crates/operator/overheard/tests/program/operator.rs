//! An operator's actions on a running node: dashboard, capture, change of configuration, log, manual and
//! service unit.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)] // a test may fail by panicking, and waits

use crate::support::browser::browsed;
use crate::support::documents::workspace;
use crate::support::namespaces::{Cabled, Machine, Node, possible};
use crate::support::origin::content;
use crate::support::traffic::{answers, sent_and_returned};
use crate::support::{PROGRAM, Site, told, wait_until};
use capture::{CaptureReader, LinkType, Source};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::net::{IpAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(15);

fn gateway() -> IpAddr {
    "10.98.0.1".parse().unwrap()
}

/// A running tunnel with a dashboard at the gateway.
struct Tunnel {
    node: Node,
    _station: Node,
    site: Site,
    machines: Cabled,
}

/// `None` if this machine cannot run one.
fn tunnel() -> Option<Tunnel> {
    if !possible() {
        return None;
    }
    let (machines, site) = (Cabled::new(), Site::tunnel("192.0.2.1:4780", r#"["10.98.0.1/32"]"#));
    let config = fs::read_to_string(site.path().join("gateway.toml")).unwrap();
    site.write("gateway.toml", &format!("{config}\n[dashboard]\n"));
    site.save_when_busy();
    let node = Node::start(&site, &machines.gateway, "gateway");
    let _station = Node::start(&site, &machines.station, "station");
    Some(Tunnel { node, _station, site, machines })
}

/// Sends some content from the station through the gateway and back.
fn exchange(machines: &Cabled) {
    assert!(answers(&machines.station, gateway(), 56, PATIENCE), "the tunnel stands");
    let content = content("/content", 1_000_000);
    let returned = sent_and_returned(&machines.station, &machines.gateway, gateway(), &content);
    assert!(returned == content, "every byte comes back");
}

/// The dashboard's answer on a machine.
fn get(machine: &Machine, path: &str) -> String {
    machine.on(|| {
        let mut stream = TcpStream::connect("127.0.0.1:4785").unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost:4785\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200"), "{path}: {head}");
        body.to_owned()
    })
}

#[test]
fn the_dashboard_tells_what_status_tells() {
    let Some(Tunnel { machines, site, node, _station }) = tunnel() else { return };
    exchange(&machines);
    exchange(&machines); // what was sent before
    assert!(get(&machines.gateway, "/").contains("page.js"));
    wait_until("the last second is in the history", PATIENCE, || {
        let series: Value = serde_json::from_str(&get(&machines.gateway, "/history.json?step=1")).unwrap();
        let sum = |of: &Value, column: &str| -> u64 {
            of[column].as_array().unwrap().iter().map(|count| count.as_u64().unwrap()).sum()
        };
        let counted = &node.status()["node"]["peers"][0]["counters"];
        let is = |column: &str, counter: &str| {
            let peer = &series["peers"][0];
            assert_eq!(sum(peer, column), sum(&series["whole"], column));
            counted[counter] == sum(peer, column) && sum(peer, column) > 0
        };
        is("offered_bytes", "inner_sent_bytes")
            && is("delivered_bytes", "inner_received_bytes")
            && is("reduced_bytes", "removed_bytes")
    });
    let metrics = get(&machines.gateway, "/metrics");
    let offered =
        metrics.lines().find(|line| line.starts_with("overheard_offered_bytes_total{peer=\"roof\"} "));
    assert!(offered.unwrap().rsplit(' ').next().unwrap().parse::<u64>().unwrap() > 1_000_000, "{metrics}");
    // The same on the status socket.
    let mut socket = std::os::unix::net::UnixStream::connect(site.path().join("gateway.sock")).unwrap();
    writeln!(socket, "history 1 0").unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    let series: Value = serde_json::from_str(&answer).unwrap();
    assert!(!series["end_seconds"].as_array().unwrap().is_empty());
}

#[test]
fn a_ping_alone_costs_overhead_and_saves_no_negative_share() {
    let Some(Tunnel { machines, site, node: _node, _station }) = tunnel() else { return };
    assert!(answers(&machines.station, gateway(), 56, PATIENCE));
    let text = String::from_utf8(site.run(&["status", "station.toml"]).stdout).unwrap();
    let row = text.lines().find(|line| line.starts_with("gateway ")).unwrap();
    assert!(row.contains(" overhead ") && !row.contains("-"), "{text}");
}

#[test]
fn the_dashboard_draws_in_a_browser_what_passes() {
    let Some(Tunnel { machines, site, node: _node, _station }) = tunnel() else { return };
    exchange(&machines);
    exchange(&machines); // what was sent before
    std::thread::sleep(Duration::from_secs(2)); // the history's next second
    let picture = site.path().join("dashboard.png");
    let browsed = machines.gateway.on(|| browsed("http://127.0.0.1:4785/", &picture));
    let Some((page, complaints)) = browsed else { return };
    assert_eq!(complaints, Vec::<String>::new());
    // uPlot draws each chart on its own canvas, and the table has the station's name with megabytes behind
    // it.
    assert_eq!(page.matches("<canvas").count(), 7, "{page}");
    let row =
        page.split("<td>roof</td><td>").nth(1).unwrap_or_else(|| panic!("no row of the station: {page}"));
    assert!(row.split('<').next().unwrap().ends_with(" MB"), "{row}");
    assert!(page.contains("gateway on ohtest-gw"), "what the node is: {page}");
    assert!(!page.contains("does not answer"), "{page}");
    assert!(fs::metadata(&picture).unwrap().len() > 20_000, "a picture of it");
}

#[test]
fn a_dashboard_that_others_could_ask_wants_a_token() {
    let site = Site::new();
    let with = |lines: &str| site.refused(&format!("{}\n[dashboard]\n{lines}\n", site.gateway()));
    let refused = |lines: &str, sentence: &str| {
        assert_eq!(with(lines), (2, format!("overheard: gateway.toml: [dashboard] {sentence}")), "{lines}");
    };
    let needed = "token_file: is needed where others can ask; add it, or listen on 127.0.0.1";
    refused("listen = \"0.0.0.0:4785\"", needed);
    refused("listen = \"here\"", "listen: \"here\" is no address and port; write one as \"127.0.0.1:4785\"");
    site.write("token", "short\n");
    let short = format!("token_file: {} is too short; write 16 characters or more", "token");
    refused("listen = \"0.0.0.0:4785\"\ntoken_file = \"token\"", &short);
    let (code, said) = with("token_file = \"nowhere\"");
    assert!(code == 2 && said.contains("[dashboard] token_file: cannot read nowhere"), "{said}");
}

#[test]
fn a_changed_configuration_is_taken_up_if_it_is_right() {
    let Some(Tunnel { machines, site, node, _station }) = tunnel() else { return };
    assert!(answers(&machines.station, gateway(), 56, PATIENCE));
    let right = fs::read_to_string(site.path().join("gateway.toml")).unwrap();
    site.write("gateway.toml", &right.replace("allowed_ips", "allowed_ip"));
    node.reload();
    wait_until("it says what is wrong", PATIENCE, || node.log().contains("did you mean \"allowed_ips\"?"));
    assert!(answers(&machines.station, gateway(), 56, PATIENCE), "the tunnel stays");
    site.write("gateway.toml", &right.replace("[tunnel]", "[tunnel]\nmtu = 1300"));
    let process = node.id();
    node.reload();
    wait_until("it has the new mtu", PATIENCE, || {
        let asked = Command::new(PROGRAM)
            .args(["status", "--json", "--socket"])
            .arg(site.path().join("gateway.sock"))
            .output();
        serde_json::from_slice::<Value>(&asked.unwrap().stdout).is_ok_and(|status| status["mtu"] == 1300)
    });
    assert!(Path::new(&format!("/proc/{process}")).exists(), "in the same process");
    assert!(answers(&machines.station, gateway(), 56, PATIENCE), "the tunnel is back");
    assert_eq!(node.terminate(Signal::TERM).code(), Some(0));
    assert_eq!(machines.gateway.traces(), Vec::<String>::new());
}

#[test]
fn a_capture_has_what_passes_and_says_what_was_removed() {
    let Some(Tunnel { machines, site, node: _node, _station }) = tunnel() else { return };
    exchange(&machines);
    let file = site.path().join("passed.pcapng");
    let mut capture = Command::new(PROGRAM)
        .args(["capture", "--seconds", "8", "--socket"])
        .arg(site.path().join("gateway.sock"))
        .arg("--output")
        .arg(&file)
        .spawn()
        .unwrap();
    wait_until("the capture has begun", PATIENCE, || fs::metadata(&file).is_ok_and(|file| file.len() > 0));
    exchange(&machines); // what was sent before
    assert!(capture.wait().unwrap().success());
    use std::os::unix::fs::PermissionsExt;
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let bytes = fs::read(&file).unwrap();
    let text = String::from_utf8_lossy(&bytes);
    for said in ["bytes removed, which the receiver has", "offered to the tunnel", "receipt up to packet"] {
        assert!(text.contains(said), "{said}");
    }
    let source = Source::from_stream(std::io::Cursor::new(bytes), None).unwrap();
    let mut reader = CaptureReader::new(source).unwrap();
    let (mut packets, mut opened) = (0, 0);
    while let Some(frame) = reader.next_frame() {
        packets += u32::from(frame.link_type == LinkType::RAW);
        opened += u32::from(frame.link_type != LinkType::RAW);
    }
    assert!(reader.damage().is_none() && packets > 500 && opened > 30, "{packets} {opened}");
    dissected(&file);
}

/// Checks the output of Wireshark's dissector.
fn dissected(file: &Path) {
    let lua = workspace().join("packaging/wireshark/overheard.lua");
    let counted = |filter: &str| {
        let output = Command::new("tshark")
            .arg("-X")
            .arg(format!("lua_script:{}", lua.display()))
            .args(["-Y", filter, "-r"])
            .arg(file)
            .output();
        output.ok().map(|output| {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            output.stdout.iter().filter(|byte| **byte == b'\n').count()
        })
    };
    let Some(opened) = counted("overheard.sequence") else {
        println!("skipped: there is no tshark");
        return;
    };
    assert!(opened > 30, "units are opened");
    assert!(counted("overheard.sealed").unwrap() > 30, "and sealed ones told");
    assert!(counted("overheard.removed > 1000").unwrap() > 3, "what was removed is told");
    assert_eq!(counted("overheard.malformed || _ws.lua.error"), Some(0));
}

#[test]
fn a_log_for_programs_is_one_json_object_a_line() {
    let site = Site::new();
    site.write("gateway.toml", &site.gateway());
    fs::set_permissions(site.path().join("network.key"), std::os::unix::fs::PermissionsExt::from_mode(0o644))
        .unwrap();
    site.write("gateway.toml", &site.gateway().replace("127.0.0.1:0", "192.0.2.99:1"));
    let output = site.run(&["--log-format", "json", "up", "gateway.toml"]);
    let (code, sentence) = told(&output);
    assert!(code != 0 && sentence.starts_with("overheard: "), "{sentence}");
    let said = String::from_utf8(output.stderr).unwrap();
    let lines: Vec<Value> = said.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let warned = lines
        .iter()
        .any(|line| line["level"] == "WARN" && line["message"].as_str().unwrap().contains("chmod 600"));
    assert!(warned, "{said}");
}

#[test]
fn every_command_has_a_manual_page_and_shells_complete_it() {
    let folder = TempDir::new().unwrap();
    let made = Command::new(PROGRAM).args(["man", "--out"]).arg(folder.path()).status().unwrap();
    assert!(made.success());
    let help = Command::new(PROGRAM).arg("--help").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let commands =
        help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let commands: Vec<&str> = commands
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(commands.len() > 8, "{commands:?}");
    let completions = Command::new(PROGRAM).args(["completions", "bash"]).output().unwrap();
    let completions = String::from_utf8(completions.stdout).unwrap();
    for command in commands.iter().filter(|command| **command != "help") {
        let page = fs::read_to_string(folder.path().join(format!("overheard-{command}.1"))).unwrap();
        assert!(page.contains(".SH NAME") && page.contains(".SH OPTIONS"), "{command}");
        assert!(
            completions.contains(&format!("overheard__subcmd__{command}"))
                || completions.contains(&format!("overheard__{command}")),
            "{command}"
        );
    }
    for shell in ["zsh", "fish"] {
        let completions = Command::new(PROGRAM).args(["completions", shell]).output().unwrap();
        assert!(completions.status.success() && completions.stdout.len() > 1000, "{shell}");
    }
}

#[test]
fn the_services_units_are_right() {
    let folder = TempDir::new().unwrap();
    let mut units = Vec::new();
    for name in ["overheard@.service", "overheard-cache@.service"] {
        // The program is at the package's location.
        let unit = fs::read_to_string(workspace().join("packaging/systemd").join(name)).unwrap();
        let file = folder.path().join(name);
        fs::write(&file, unit.replace("/usr/bin/overheard", PROGRAM)).unwrap();
        units.push(file);
    }
    let Ok(verified) = Command::new("systemd-analyze").arg("verify").arg("--man=no").args(&units).output()
    else {
        println!("skipped: there is no systemd-analyze");
        return;
    };
    let said = String::from_utf8_lossy(&verified.stderr);
    let of_ours: Vec<&str> = said.lines().filter(|line| line.contains("overheard")).collect();
    assert!(of_ours.is_empty(), "{said}");
}

#[test]
fn the_sample_configurations_are_right() {
    let samples = workspace().join("packaging/examples");
    let mut checked = 0;
    for file in
        fs::read_dir(samples).unwrap().flat_map(|folder| fs::read_dir(folder.unwrap().path()).unwrap())
    {
        let file = file.unwrap().path();
        let site = Site::new();
        fs::create_dir(site.path().join("keys")).unwrap();
        fs::copy(site.path().join("network.key"), site.path().join("keys/network.key")).unwrap();
        fs::copy(site.path().join("gateway/private.key"), site.path().join("keys/private.key")).unwrap();
        let mut text = fs::read_to_string(&file).unwrap();
        while let Some(placeholder) = text.split('"').find(|value| value.ends_with("PUBLIC KEY")) {
            text = text.replacen(placeholder, &site.key(&format!("of-{checked}")), 1);
            checked += 1;
        }
        site.write("sample.toml", &text);
        let is_cache = text.contains("[cache]");
        // 1: it is read completely and the machine lacks something; 2: it is wrong.
        let output = if is_cache {
            site.run(&["cache", "--print-nft", "sample.toml"])
        } else {
            let (node, rest) = text.split_once("[tunnel]").unwrap();
            let node: Vec<&str> = node.lines().filter(|line| !line.starts_with("listen")).collect();
            let node = node.join("\n").replace("[node]", "[node]\nlisten = \"203.0.113.7:9\"");
            site.write("sample.toml", &format!("{node}\n[tunnel]{rest}"));
            site.run(&["up", "sample.toml"])
        };
        let (code, said) = told(&output);
        let is_right = if is_cache { code == 0 } else { code == 2 && said.contains("[node] listen") };
        assert!(is_right, "{}: {code} {said}", file.display());
    }
    assert!(checked > 7, "{checked}");
}
