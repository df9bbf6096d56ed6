//! The lab on this kernel, by the wall's clock: what needs root is left out without it.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests of what runs in real time, which panic on failure"
)]

mod scenarios;

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use lab::{Driver, Ending, Run};
use scenarios::{FILE_BYTES, bare, here, quiet};

#[test]
fn a_file_arrives_whole_over_a_lossy_link() {
    let Some(driver) = here() else { return };
    let folder = tempfile::tempdir().unwrap();
    let outcomes = lab::run(&driver, &[bare(folder.path(), 0.01, &[7])]).unwrap();

    let [outcome] = outcomes.as_slice() else { panic!("{} outcomes", outcomes.len()) };
    let download = &outcome.downloads[0];
    assert_eq!(download.ending, Ending::Complete, "{}", download.complaint);
    assert_eq!(download.bytes, FILE_BYTES as u64);
    assert!(download.intact);
    // 587,567 octets and their headers at 1 MByte/s; a loaded machine only makes it longer.
    assert!(download.seconds > 0.6, "{}", download.seconds);

    let air = outcome.link("air").unwrap();
    assert!(air.forward.lost.packets > 0);
    assert!(air.forward.transmitted.bytes > FILE_BYTES as u64);
    assert!(air.backward.transmitted.packets > 100);
    let air_seconds = air.forward.transmitted.bytes as f64 / 1e6;
    assert!((air.forward.air_seconds - air_seconds).abs() < 1e-3);
}

#[test]
fn nothing_crosses_a_link_but_the_traffic() {
    let Some(driver) = here() else { return };
    let mut scenario = quiet("silence", 0.0, &[1]);
    // Long enough for all frames that the interfaces send themselves.
    scenario.streams =
        vec![lab::Stream { datagrams: 2, interval_milliseconds: 1500.0, ..scenarios::stream(&scenario) }];
    let outcome = lab::run(&driver, &[scenario]).unwrap().remove(0);
    let air = outcome.link("air").unwrap();
    assert_eq!(air.forward.offered.packets, 2);
    assert_eq!(air.forward.offered.bytes, 2 * (40 + 8 + 1000));
    assert_eq!(air.backward.offered.packets, 0);
}

#[test]
fn what_a_killed_run_leaves_behind_is_gone_after_the_next_has_begun() {
    let Some(Driver::Lab { programs }) = here() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut scenario = bare(folder.path(), 0.9, &[1]);
    scenario.bound_seconds = 60.0;
    let file = folder.path().join("scenario.json");
    std::fs::write(&file, serde_json::to_vec(&scenario).unwrap()).unwrap();
    let mut victim = Command::new(&programs.laboratory)
        .args(["run", "--driver", "lab", "--overheard"])
        .arg(&programs.overheard)
        .arg(&file)
        .spawn()
        .unwrap();
    let place = format!("/run/netns/oh{}x0-station", victim.id());
    let inside = || {
        let name = place.rsplit('/').next().unwrap();
        let said = Command::new("ip").args(["netns", "pids", name]).output().unwrap();
        String::from_utf8(said.stdout).unwrap()
    };
    let deadline = Instant::now() + Duration::from_secs(20);
    // Until curl runs in there.
    while inside().is_empty() {
        assert!(Instant::now() < deadline, "no program ever ran in {place}");
        std::thread::sleep(Duration::from_millis(20));
    }
    let programs = inside();
    victim.kill().unwrap();
    victim.wait().unwrap();
    assert!(Path::new(&place).exists());
    let lock = format!("/run/overheard-lab/oh{}x0.lock", victim.id());
    let written = std::fs::read_to_string(lock).unwrap();
    assert!(Path::new(&written).exists());

    drop(Run::begin().unwrap());
    assert!(!Path::new(&place).exists());
    assert!(!Path::new(&written).exists());
    for program in programs.lines() {
        let alive = || {
            let status = std::fs::read_to_string(format!("/proc/{program}/status")).unwrap_or_default();
            status.contains("State:") && !status.contains("State:\tZ")
        };
        let deadline = Instant::now() + Duration::from_secs(5);
        while alive() {
            assert!(Instant::now() < deadline, "process {program} survived");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
