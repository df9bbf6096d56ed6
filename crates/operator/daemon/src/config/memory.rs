//! `[memory]`: one budget for all that a node keeps.

use super::Mistake;
use super::file::Memory;
use crate::memory::allowed;
use re::{Form, Parameters, Policy};
use std::path::Path;

/// Values that are allowed, in MiB.
const LEAST_MIB: usize = 4;
const MOST_MIB: usize = 65_536;
/// Without the key, this share of the machine's memory, or of the limit of this process's group ...
const SHARE: u64 = 16;
/// ... and at least and at most so many MiB.
const LEAST_DEFAULT_MIB: u64 = 16;
const MOST_DEFAULT_MIB: u64 = 256;

/// The budget of the file at `path`. `None` with a policy or a form of an experiment: their stores stay as
/// they began.
pub fn memory(path: &Path, file: &Memory, reduce: &Parameters) -> Result<Option<node::Memory>, Mistake> {
    let mib = match file.mib {
        Some(mib) if (LEAST_MIB..=MOST_MIB).contains(&mib) => mib,
        Some(mib) => {
            let what = format!(
                "{mib} is not between {LEAST_MIB} and {MOST_MIB}; write the MiB for all peers together"
            );
            return Err(Mistake::at(path, "[memory] mib", what));
        }
        None => default_mib(allowed()),
    };
    let is_of_experiment =
        matches!(reduce.policy, Policy::Injected(_)) || matches!(reduce.form, Form::Injected(_));
    // no object is larger, so sums of two budgets fit into a word, also one of 32 bits
    let bytes = mib.saturating_mul(1 << 20).min(isize::MAX as usize);
    Ok((!is_of_experiment).then_some(node::Memory { bytes, nodes: 1 }))
}

/// The budget for a process that may have so many bytes.
fn default_mib(allowed_bytes: u64) -> usize {
    let share = (allowed_bytes / SHARE) >> 20;
    share.clamp(LEAST_DEFAULT_MIB, MOST_DEFAULT_MIB) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_a_sixteenth_within_bounds() {
        for (allowed_mib, mib) in [(64, 16), (256, 16), (512, 32), (2048, 128), (4096, 256), (65_536, 256)] {
            assert_eq!(default_mib(allowed_mib << 20), mib, "{allowed_mib}");
        }
        assert_eq!(default_mib(u64::MAX), 256);
    }

    #[test]
    fn a_budget_out_of_range_is_a_mistake_that_names_the_key() {
        let of = |mib| memory(Path::new("a.toml"), &Memory { mib }, &Parameters::default());
        assert_eq!(of(Some(64)).unwrap().map(|it| it.bytes), Some(64 << 20));
        assert!(of(Some(MOST_MIB)).unwrap().is_some_and(|it| it.bytes >= 64 << 20));
        for mib in [0, 3, 65_537, usize::MAX] {
            let said = of(Some(mib)).unwrap_err().to_string();
            assert!(said.contains("[memory] mib") && said.contains("between 4 and 65536"), "{said}");
        }
        assert!(of(None).unwrap().is_some());
    }
}
