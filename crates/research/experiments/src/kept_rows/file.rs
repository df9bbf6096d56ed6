//! A file of kept rows: JSON lines without empty fields.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, anyhow};
use serde_json::{Map, Value, json};

use super::KeptRun;
use crate::row::Row;
use crate::whole_file;

/// Reads the runs of a file.
pub(super) fn read(path: &Path) -> Result<Vec<KeptRun>> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut runs = Vec::<KeptRun>::new();
    for (index, line) in text.lines().enumerate() {
        add(&mut runs, line).with_context(|| format!("{}, line {}", path.display(), index + 1))?;
    }
    Ok(runs)
}

/// Adds a run, or a row to the last run.
fn add(runs: &mut Vec<KeptRun>, line: &str) -> Result<()> {
    let mut fields: Map<String, Value> = serde_json::from_str(line)?;
    if let Some(run) = fields.remove("run") {
        runs.push(serde_json::from_value(run)?);
        return Ok(());
    }
    let run = runs.last_mut().ok_or_else(|| anyhow!("there is no run above this row"))?;
    fields.insert("figure".to_owned(), json!(run.figure));
    fields.entry("note").or_insert_with(|| json!(""));
    let row: Row = serde_json::from_value(Value::Object(fields))?;
    run.rows.push(row);
    Ok(())
}

/// Writes the runs of a file, whole or not at all.
pub(super) fn write(path: &Path, runs: &[KeptRun]) -> Result<()> {
    let mut text = String::new();
    for run in runs {
        writeln!(text, "{}", json!({ "run": run }))?;
        for row in &run.rows {
            let mut row = serde_json::to_value(row)?;
            if let Some(fields) = row.as_object_mut() {
                fields.remove("figure");
                fields.retain(|_, value| !value.is_null() && value != "");
            }
            writeln!(text, "{row}")?;
        }
    }
    whole_file::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
