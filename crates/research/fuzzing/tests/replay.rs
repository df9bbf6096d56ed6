//! Every target on its seeds, on what fuzzing ever found, and on many mutations of both.

// A test that cannot read its inputs has failed; one of them measures its time.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use fuzzing::search::Search;
use fuzzing::{TARGETS, Target};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

fn folder(kind: &str, target: &Target) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fuzz").join(kind).join(target.name)
}

/// The files of a folder, by name; none if there is no such folder.
fn inputs_in(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

/// Runs the target; after a panic it prints the input.
fn check(target: &Target, input: &[u8]) -> bool {
    let outcome = catch_unwind(AssertUnwindSafe(|| (target.check)(input)));
    outcome.unwrap_or_else(|_| {
        let hex: String = input.iter().map(|byte| format!("{byte:02x}")).collect();
        panic!("the target {} fails on the input {hex}", target.name);
    })
}

#[test]
fn every_seed_is_accepted() {
    for target in TARGETS {
        let stored = inputs_in(&folder("seeds", target));
        assert!(!stored.is_empty(), "{} has no stored seeds: run `make seeds`", target.name);
        for (path, input) in stored {
            assert!(
                check(target, &input),
                "{} is refused: run `make seeds` if the format changed",
                path.display()
            );
        }
        for seed in (target.seeds)() {
            assert!(check(target, &seed.bytes), "the seed {} of {} is refused", seed.name, target.name);
        }
    }
}

#[test]
fn what_fuzzing_found_does_not_come_back() {
    for target in TARGETS {
        for (_, input) in inputs_in(&folder("regressions", target)) {
            check(target, &input);
        }
    }
}

/// What fuzzing ever found.
fn regressions(target: &Target) -> Vec<Vec<u8>> {
    inputs_in(&folder("regressions", target)).into_iter().map(|(_, input)| input).collect()
}

#[test]
fn mutated_seeds_are_read_or_refused() {
    for target in TARGETS {
        let mut search = Search::new(target, regressions(target), 1);
        for _ in 0..target.mutations {
            search.step().unwrap_or_else(|found| panic!("{found}"));
        }
        let (accepted, share) = (search.accepted(), search.accepted() as f64 / target.mutations as f64);
        assert!(share > 0.01, "{} accepted only {accepted} mutations: the search is shallow", target.name);
        assert!(share < 1.0, "{} refused nothing", target.name);
    }
}

/// What strangers and members send, or clients of the web cache.
const HOSTILE: [&str; 8] =
    ["cache_fields", "cache_heads", "datagrams", "frames", "handshakes", "insider", "peer_frames", "unit"];

/// The inputs follow from a number, which `scripts/check.sh` makes of the commit: another commit has others.
#[test]
#[ignore = "it takes a minute: make check runs it"]
fn a_minute_of_other_inputs_finds_nothing() {
    let number = std::env::var("OVERHEARD_FUZZ_NUMBER").map_or(1, |number| number.parse().unwrap());
    for name in HOSTILE {
        let target = TARGETS.iter().find(|target| target.name == name).unwrap();
        let mut search = Search::new(target, regressions(target), number);
        let end = Instant::now() + Duration::from_secs(60) / HOSTILE.len() as u32;
        while Instant::now() < end {
            search.step().unwrap_or_else(|found| panic!("{found}\n(OVERHEARD_FUZZ_NUMBER={number})"));
        }
        println!(
            "{name}: {} inputs of the search {number}, {} accepted",
            search.executions(),
            search.accepted()
        );
    }
}

#[test]
fn every_target_has_its_fuzzing_program() {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fuzz/fuzz_targets");
    let mut found: Vec<String> = inputs_in(&programs)
        .into_iter()
        .map(|(path, _)| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
    found.sort();
    assert_eq!(found, names);
    let manifest = fs::read_to_string(programs.join("../Cargo.toml")).unwrap();
    for name in names {
        let program = fs::read_to_string(programs.join(format!("{name}.rs"))).unwrap();
        assert!(program.contains(&format!("fuzzing::{name}::check(bytes)")), "{name}.rs runs another target");
        assert!(manifest.contains(&format!("name = \"{name}\"")), "{name} is not in fuzz/Cargo.toml");
    }
}
