//! Random schedules of streams, against a model of a byte stream.
//!
//! Two engines are joined by a hop that loses, repeats, delays and reorders datagrams. Hosts on both sides
//! open connections, write, stop reading, half-close, reset and idle. Each direction of a connection is a
//! byte string: a host reads a prefix of it, and all of it if it sees an end. A seed makes a schedule again:
//!
//! ```text
//! OVERHEARD_SCHEDULES=100000 OVERHEARD_SEED=0 cargo test -p overheard-streams --profile searching \
//!     --test schedules -- --ignored --nocapture as_many
//! ```

mod conversation;
mod dice;
mod hop;
mod host;
mod plan;
mod tally;
mod world;

use plan::Plan;
use std::ops::Range;
use std::sync::Mutex;
use std::time::Instant;
use tally::Tally;
use world::World;

/// Says the seed of a schedule in which something panics.
struct Said(u64);

impl Drop for Said {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the seed of the schedule is {}", self.0);
        }
    }
}

/// Runs schedules on two threads. Their counts, and the first seeds that contradict the model.
fn run(seeds: Range<u64>) -> (Tally, Vec<String>) {
    let seeds = Mutex::new(seeds);
    let found = Mutex::new((Tally::default(), Vec::new()));
    let work = || {
        loop {
            let next = seeds.lock().expect("a range never panics").next();
            let Some(seed) = next else { break };
            let said = Said(seed);
            let outcome = World::new(&Plan::short(seed)).run();
            drop(said);
            let (tally, wrong) = &mut *found.lock().expect("no schedule panics");
            match outcome {
                Ok(its) => tally.add(&its),
                Err(what) => wrong.push(format!("seed {seed}: {what}")),
            }
        }
    };
    std::thread::scope(|scope| (0..2).for_each(|_| _ = scope.spawn(work)));
    found.into_inner().expect("no schedule panics")
}

/// The time now, for rates alone: a schedule has a time of its own.
#[allow(clippy::disallowed_methods)]
fn clock() -> Instant {
    Instant::now()
}

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).map_or(otherwise, |text| text.parse().expect("a number"))
}

#[test]
fn short_schedules_keep_to_the_model() {
    let (tally, wrong) = run(0..300);
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(tally.schedules, 300);
    assert!(tally.clean > 500 && tally.resets > 100 && tally.passed > 10, "{tally}");
}

#[test]
#[ignore = "it takes a minute or more"]
fn ten_thousand_connections_at_once_keep_to_the_model() {
    let begun = clock();
    let tally = World::new(&Plan::crowd(number("OVERHEARD_SEED", 0), 10_000)).run().unwrap();
    println!("{tally}, at most {} open; {:.1} s", tally.most_open, begun.elapsed().as_secs_f64());
    assert!(tally.most_open > 9_500 && tally.clean > 8_000, "{tally}");
}

#[test]
#[ignore = "it takes as long as it is told: OVERHEARD_SCHEDULES=NUMBER"]
fn as_many_schedules_as_told_keep_to_the_model() {
    let (count, first) = (number("OVERHEARD_SCHEDULES", 10_000), number("OVERHEARD_SEED", 0));
    let begun = clock();
    let (tally, wrong) = run(first..first + count);
    println!("{tally}; {:.1} s", begun.elapsed().as_secs_f64());
    assert!(wrong.is_empty(), "{} of {count} are wrong: {:#?}", wrong.len(), &wrong[..wrong.len().min(20)]);
}
