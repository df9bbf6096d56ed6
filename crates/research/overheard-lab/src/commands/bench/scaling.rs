//! A gateway with four peers on one thread, and shared out over two.
//!
//! Measured by the clock. The shortest run counts, because other load on the machine only lengthens a run.
//! Runs on one thread and on two take turns.

use super::{Row, gigabits_per_second};
use re::Policy;
use sim::Tunnel;
use sim::workload::{Crowd, Group, packets_to};
use std::time::{Duration, Instant};

const STATIONS: usize = 4;
const PACKETS: usize = 6_000;
/// As many packets as a driver takes from a device at once.
const BATCH: usize = 32;
/// Over how many threads.
const CORES: [usize; 2] = [1, 2];

pub fn measure(runs: u32) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    for percent in [0, 50] {
        let packets: Vec<Vec<Vec<u8>>> =
            (1..=STATIONS).map(|station| packets_to(station, f64::from(percent) / 100.0, PACKETS)).collect();
        let bytes: usize = packets.iter().flatten().map(Vec::len).sum();
        let mut crowds = Vec::new();
        for cores in CORES {
            crowds.push(Crowd::new(1, &Tunnel::from(Policy::Acked), STATIONS, cores)?);
        }
        let mut shortest = [Duration::MAX; CORES.len()];
        // the first pass warms stores and buffers up
        for run in 0..=runs {
            for (crowd, shortest) in crowds.iter_mut().zip(&mut shortest) {
                let time = once(crowd, &packets)?;
                if run > 0 {
                    *shortest = time.min(*shortest);
                }
            }
        }
        for (cores, time) in CORES.into_iter().zip(shortest) {
            let name = format!("node.acked-{percent}.peers-{STATIONS}.cores-{cores}.rate");
            rows.push(Row::new(name, gigabits_per_second(bytes, time), "Gbit/s"));
        }
        let name = format!("node.acked-{percent}.peers-{STATIONS}.cores-2-to-1");
        rows.push(Row::new(name, shortest[0].as_secs_f64() / shortest[1].as_secs_f64(), "ratio"));
    }
    Ok(rows)
}

fn once(crowd: &mut Crowd, packets: &[Vec<Vec<u8>>]) -> anyhow::Result<Duration> {
    let start = Instant::now();
    let right: usize = std::thread::scope(|scope| {
        let threads: Vec<_> =
            crowd.groups.iter_mut().map(|group| scope.spawn(|| drive(group, packets))).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .sum()
    });
    let time = start.elapsed();
    let sent = STATIONS * PACKETS;
    anyhow::ensure!(right == sent, "{} packets did not come out as they went in", sent - right);
    Ok(time)
}

/// The stations take turns, as packets for them would come.
fn drive(group: &mut Group, packets: &[Vec<Vec<u8>>]) -> usize {
    let stations: Vec<usize> = group.stations().collect();
    let mut right = 0;
    for start in (0..PACKETS).step_by(BATCH) {
        for station in &stations {
            let batch = &packets[station - 1][start..PACKETS.min(start + BATCH)];
            right += group.carry(*station, batch);
        }
    }
    right
}
