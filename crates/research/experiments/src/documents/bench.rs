//! The block of a benchmark: figures of one machine.

use super::figure::{matrix, provenance};
use crate::kept_rows::{BENCH, KeptRows, KeptRun};
use crate::row::Driver;

/// Sizes of programs, by the processor that they are built for.
const ROUTERS: &str = "routers";

/// The rows of a benchmark as a table, or the command that gives them.
pub(super) fn block(kept: &KeptRows, bench: &str) -> String {
    let runs = kept.of_figure(BENCH, Driver::Lab, bench);
    let tables: Vec<String> = runs.map(of_run).collect();
    if tables.is_empty() {
        let command = match bench {
            ROUTERS => "scripts/router-sizes".to_owned(),
            _ => format!("overheard-lab bench {bench}"),
        };
        return format!("**Not run.** `{command} --keep-rows docs/rows`, on a quiet machine.");
    }
    tables.join("\n")
}

fn of_run(run: &KeptRun) -> String {
    let rows: Vec<_> = run.rows.iter().collect();
    let axis = if run.figure == ROUTERS { "targets" } else { "rounds" };
    format!("{}\n{}", provenance(run, Driver::Lab), matrix(&rows, axis).text())
}
