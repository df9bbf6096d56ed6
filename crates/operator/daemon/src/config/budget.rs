//! `[memory]`: the budget for stores and caches.

use super::Mistake;
use super::file::Memory;
use std::path::Path;

/// Part of the machine's memory that the budget is by default: one in so many bytes.
const SHARE: usize = 8;
/// Range of the default, in MiB.
const DEFAULT_MIB: std::ops::RangeInclusive<usize> = 16..=1024;
/// Range of the key, in MiB.
const MIB: std::ops::RangeInclusive<usize> = 4..=1 << 20;

/// Bytes of the budget for `peers` peers. `cache_bytes`: memory of the caches of overheard content that the
/// node has by itself.
pub fn budget_bytes(path: &Path, file: &Memory, peers: usize, cache_bytes: usize) -> Result<usize, Mistake> {
    let cache_mib = cache_bytes.div_ceil(1 << 20);
    let Some(mib) = file.mib else { return Ok((default_mib(total_bytes()) + cache_mib) << 20) };
    let wrong = |what: String| Mistake::at(path, "[memory] mib", what);
    if !MIB.contains(&mib) {
        return Err(wrong(format!("{mib} is not between {} and {}", MIB.start(), MIB.end())));
    }
    let least = cache_mib + node::least_memory_bytes(peers).div_ceil(1 << 20);
    if mib < least {
        let caches = if cache_mib > 0 { ", of which [overhear] takes most" } else { "" };
        return Err(wrong(format!("{mib} is too little for {peers} peers; write at least {least}{caches}")));
    }
    Ok(mib << 20)
}

/// The default for a machine with so much memory, in MiB.
fn default_mib(total_bytes: usize) -> usize {
    ((total_bytes / SHARE) >> 20).clamp(*DEFAULT_MIB.start(), *DEFAULT_MIB.end())
}

/// The machine's memory. 0 if the system does not tell.
fn total_bytes() -> usize {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    total_of(&text).unwrap_or(0)
}

fn total_of(meminfo: &str) -> Option<usize> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: usize = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_an_eighth_of_the_machines_memory_within_bounds() {
        let kib = |kib: usize| total_of(&format!("MemTotal: {kib:>15} kB\nMemFree: 1 kB\n"));
        assert_eq!(kib(4 << 20), Some(4 << 30));
        assert_eq!(total_of("nothing"), None);
        assert_eq!(default_mib(4 << 30), 512);
        assert_eq!((default_mib(0), default_mib(64 << 20), default_mib(1 << 40)), (16, 16, 1024));
    }

    #[test]
    fn a_budget_too_small_for_the_peers_is_refused_with_the_least_one() {
        let of = |mib, peers, cache_mib: usize| {
            budget_bytes(Path::new("node.toml"), &Memory { mib: Some(mib) }, peers, cache_mib << 20)
                .map_err(|why| why.to_string())
        };
        assert_eq!(of(64, 10, 0), Ok(64 << 20));
        assert!(of(3, 1, 0).unwrap_err().contains("is not between 4 and"));
        let why = of(64, 100, 0).unwrap_err();
        assert!(why.contains("[memory] mib") && why.contains("write at least 125"), "{why}");
        assert!(of(64, 1, 80).unwrap_err().contains("[overhear]"));
    }
}
