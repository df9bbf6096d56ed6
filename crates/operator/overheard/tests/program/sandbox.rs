//! A sandboxed node and cache: their restrictions, and their function.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)] // a test may fail by panicking, and waits

use crate::support::chain::Chain;
use crate::support::namespaces::{Cabled, Node, possible};
use crate::support::origin::content;
use crate::support::traffic::{answers, sent_and_returned};
use crate::support::{PROGRAM, Site, told, wait_until};
use rustix::process::Signal;
use std::fs;
use std::net::IpAddr;
use std::process::{Command, Stdio};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(15);
/// Bits of capabilities (linux/capability.h).
const NET_ADMIN: u64 = 1 << 12;
const SYS_ADMIN: u64 = 1 << 21;
const SYS_PTRACE: u64 = 1 << 19;
const BPF: u64 = 1 << 39;

fn gateway() -> IpAddr {
    "10.98.0.1".parse().unwrap()
}

/// A hexadecimal field of each thread of a process, from the kernel.
fn of_threads(process: u32, what: &str) -> Vec<u64> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).unwrap().flatten();
    let said = threads.filter_map(|thread| fs::read_to_string(thread.path().join("status")).ok());
    said.map(|said| {
        let line = said.lines().find_map(|line| line.strip_prefix(what)).unwrap();
        u64::from_str_radix(line.trim_start_matches(':').trim(), 16).unwrap()
    })
    .collect()
}

/// The keeper process of another process.
fn keeper_of(process: u32) -> Option<u32> {
    let children = fs::read_to_string(format!("/proc/{process}/task/{process}/children")).unwrap();
    children.split_whitespace().next()?.parse().ok()
}

/// Waits until a restarting node has an MTU; it does not answer for a moment.
fn takes_up(site: &Site, name: &str, mtu: u64) {
    let socket = format!("{name}.sock");
    wait_until("the change is taken up", PATIENCE, || {
        let said = site.run(&["status", "--json", "--socket", &socket]).stdout;
        serde_json::from_slice::<serde_json::Value>(&said).is_ok_and(|status| status["mtu"] == mtu)
    });
}

#[test]
fn every_thread_of_a_node_is_held_and_it_carries_answers_reloads_and_ends() {
    if !possible() {
        return;
    }
    let (cabled, site) = (Cabled::new(), Site::tunnel("192.0.2.1:4780", r#"["10.98.0.1/32", "fd98::/64"]"#));
    let config = fs::read_to_string(site.path().join("gateway.toml")).unwrap();
    site.write("gateway.toml", &format!("{config}\n[dashboard]\n"));
    let node = Node::start(&site, &cabled.gateway, "gateway");
    let station = Node::start(&site, &cabled.station, "station");
    assert!(answers(&cabled.station, gateway(), 56, PATIENCE));
    let is_held = |process: u32| {
        let rights = [of_threads(process, "CapPrm"), of_threads(process, "CapEff")].concat();
        assert!(rights.iter().all(|set| set & (SYS_ADMIN | SYS_PTRACE | BPF) == 0), "{rights:x?}");
        assert!(of_threads(process, "NoNewPrivs").iter().all(|set| *set == 1));
        let calls = of_threads(process, "Seccomp");
        assert!(calls.len() > 3 && calls.iter().all(|mode| *mode == 2), "{calls:?}");
    };
    is_held(node.id());
    assert_eq!(keeper_of(node.id()), None, "nothing is to be kept");
    let sent = content("/content", 300_000);
    assert!(sent_and_returned(&cabled.station, &cabled.gateway, gateway(), &sent) == sent);
    for mtu in [1300, 1280] {
        site.write("gateway.toml", &config.replacen("[tunnel]", &format!("[tunnel]\nmtu = {mtu}"), 1));
        node.reload();
        takes_up(&site, "gateway", mtu);
        is_held(node.id());
        assert!(answers(&cabled.station, gateway(), 56, PATIENCE));
    }
    // A change that needs lost rights is not adopted.
    site.write("gateway.toml", &format!("split = true\n{config}"));
    node.reload();
    wait_until("it is said", PATIENCE, || node.log().contains("[split] take a restart"));
    assert!(answers(&cabled.station, gateway(), 56, PATIENCE), "the tunnel stays as it is");
    drop(station);
    let log = node.log();
    assert_eq!(node.terminate(Signal::TERM).code(), Some(0), "{log}");
    assert!(!log.contains("ot out of reach") || log.contains("no Landlock"), "{log}");
    assert_eq!(cabled.gateway.traces(), Vec::<String>::new());
}

#[test]
fn whoever_looks_for_a_fault_can_do_without_it() {
    if !possible() {
        return;
    }
    let (cabled, site) = (Cabled::new(), Site::tunnel("192.0.2.1:4780", r#"["10.98.0.1/32"]"#));
    site.prepend("gateway", "sandbox = false");
    let node = Node::start(&site, &cabled.gateway, "gateway");
    assert!(of_threads(node.id(), "Seccomp").iter().all(|mode| *mode == 0));
    assert!(of_threads(node.id(), "CapEff").iter().all(|set| set & SYS_ADMIN != 0));
}

#[test]
fn a_reload_keeps_the_programs_that_boost_and_neither_process_may_load_others() {
    if !possible() {
        return;
    }
    let (cabled, site) = (Cabled::new(), Site::tunnel("192.0.2.1:4780", r#"["10.98.0.1/32"]"#));
    site.add("station", "[tunnel]", "boost = true\nboost_control = \"cubic\"");
    let _gateway = Node::start(&site, &cabled.gateway, "gateway");
    let station = Node::start(&site, &cabled.station, "station");
    let boost = || station.status()["boost"].as_str().unwrap().to_owned();
    let before = boost();
    if before.starts_with("none: ") {
        return eprintln!("skipped: {before}");
    }
    let keeper = keeper_of(station.id()).unwrap();
    for process in [station.id(), keeper] {
        let rights = [of_threads(process, "CapPrm"), of_threads(process, "CapEff")].concat();
        assert!(rights.iter().all(|set| set & (SYS_ADMIN | SYS_PTRACE) == 0), "{rights:x?}");
    }
    site.add("station", "[tunnel]", "mtu = 1300");
    station.reload();
    takes_up(&site, "station", 1300);
    assert_eq!((boost(), keeper_of(station.id())), (before, Some(keeper)));
    assert!(answers(&cabled.station, gateway(), 56, PATIENCE));
    assert_eq!(station.terminate(Signal::TERM).code(), Some(0));
    assert!(!fs::exists(format!("/proc/{keeper}")).unwrap(), "it has ended before the node has");
}

#[test]
fn a_cache_has_no_rights_when_it_serves_and_its_rules_go_also_when_it_is_killed() {
    let Some(mut chain) = Chain::of(1) else { return };
    chain.start_all("[transparent]\n[store]\ndirectory = \"store\"\n");
    let (body, code) = chain.curl(&[&chain.url("/fixed/300000")]);
    assert_eq!((body.len(), code), (300_000, 0), "{}", chain.log(1));
    let rules = |chain: &Chain| String::from_utf8(chain.at(1, "nft", &["list", "tables"]).stdout).unwrap();
    assert!(rules(&chain).contains("overheard_cache"), "{}", rules(&chain));
    let process = chain.process(1);
    // The right to root's files, which Landlock restricts to a few.
    const DAC_OVERRIDE: u64 = 1 << 1;
    for set in ["CapPrm", "CapEff", "CapInh", "CapAmb"] {
        let rights = of_threads(process, set);
        assert!(rights.len() > 2 && rights.iter().all(|set| set & !DAC_OVERRIDE == 0), "{set}: {rights:x?}");
    }
    assert!(of_threads(process, "Seccomp").iter().all(|mode| *mode == 2));
    let keeper = keeper_of(process).unwrap();
    assert!(of_threads(keeper, "CapPrm").iter().all(|set| set & !NET_ADMIN == 0));
    // It is killed.
    drop(chain.caches[0].take());
    wait_until("the rules are gone", PATIENCE, || !rules(&chain).contains("overheard_cache"));
    // It starts again.
    chain.start(1);
    assert_eq!(chain.curl(&[&chain.url("/fixed/300000")]).0.len(), 300_000);
    chain.stop(1);
    assert!(!rules(&chain).contains("overheard_cache"));
    assert!(!chain.log(1).contains("rights that are not needed are kept"), "{}", chain.log(1));
}

#[test]
fn nobody_but_a_node_or_a_cache_starts_a_keeper() {
    let started = Command::new(PROGRAM).arg("keep").stdin(Stdio::null()).output().unwrap();
    let (code, said) = told(&started);
    assert!(code == 1 && said.contains("started by `overheard up` and `overheard cache` alone"), "{said}");
}
