//! `snoop`: repair of TCP segments that the air lost.

use super::Mistake;
use super::file::{ReplacementName, Snoop, Switched};
use recovery::pattern::Pattern;
use recovery::{Coding, Replacement, Settings};
use std::path::Path;

/// The value of `snoop` in the file at `path`.
pub fn snoop(path: &Path, snoop: Option<Switched<Snoop>>) -> Result<Option<Settings>, Mistake> {
    let Some(table) = Switched::table(snoop) else { return Ok(None) };
    let default = Settings::default();
    let fixed = table.degree.is_some() || table.distance.is_some();
    if fixed && table.adaptive == Some(true) {
        let what =
            "follows the link, and degree and distance say what it is to be; take out one or the other";
        return Err(Mistake::at(path, "[snoop] adaptive", what));
    }
    if table.reed_solomon == Some(true) && (fixed || table.adaptive == Some(true)) {
        let what = "is one way to keep packets, and adaptive, degree and distance say another; take out one or the other";
        return Err(Mistake::at(path, "[snoop] reed_solomon", what));
    }
    let pattern = Pattern { degree: table.degree.unwrap_or(2), distance: table.distance.unwrap_or(1) };
    let coding = match (fixed, table.adaptive.unwrap_or(!fixed)) {
        _ if table.reed_solomon == Some(true) => Coding::ReedSolomon,
        (_, true) => Coding::Adaptive,
        (true, _) if pattern.degree > 1 => Coding::Fixed(pattern),
        _ => Coding::Off,
    };
    let settings = Settings {
        buffer_packets: table.buffer_packets.unwrap_or(default.buffer_packets),
        replacement: match table.replacement {
            None => default.replacement,
            Some(ReplacementName::None) => Replacement::None,
            Some(ReplacementName::Lru) => Replacement::Lru,
        },
        coding,
    };
    let pattern = Settings { coding: Coding::Fixed(pattern), ..settings };
    pattern.validate().map_err(|why| Mistake::at(path, "[snoop]", why))?;
    Ok(Some(settings))
}
