//! Claims: what rows must show, and whether they do.
//!
//! A claim names its rows. A row without a value fails its claim, whatever the other rows show. A row that no
//! plan has depends on what was [`Asked`]: it fails the claim in a complete run.

mod band;
mod judging;

pub use band::Band;
pub use judging::Judging;

/// One claim and whether it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// What must show.
    pub claim: String,
    /// The series that it reads, each as `figure: series`.
    pub series: Vec<String>,
    /// What showed.
    pub found: String,
    /// Whether that is enough; none when the run was not asked for it.
    pub holds: Option<bool>,
    /// Rows that the claim reads and the run has not.
    absent: Vec<String>,
}

/// Scope of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// All figures of an experiment, whole, by the driver that runs the whole of it.
    Everything,
    /// A few cells, some figures, or what another driver can run.
    Part,
}

impl Claim {
    /// A claim with its findings, unless there are none.
    pub fn judged(claim: impl Into<String>, found: Vec<String>, holds: bool) -> Self {
        let holds = (!found.is_empty()).then_some(holds);
        let found = if found.is_empty() { "not asked for".to_owned() } else { found.join(", ") };
        Claim { claim: claim.into(), series: Vec::new(), found, holds, absent: Vec::new() }
    }

    /// The claim for a run with this scope: in a complete run, a claim without a row fails.
    #[must_use]
    pub fn asked(self, asked: Asked) -> Self {
        let is_whole = self.holds.is_some() && self.absent.is_empty();
        if asked == Asked::Part || is_whole {
            return self;
        }
        let lacking = if self.absent.is_empty() { "any row".to_owned() } else { listed(&self.absent) };
        let found = match self.holds {
            Some(_) => format!("{}; lacks {lacking}", self.found),
            None => format!("lacks {lacking}"),
        };
        Claim { found, holds: Some(false), ..self }
    }
}

/// The first few of them, and how many there are beyond.
fn listed(names: &[String]) -> String {
    const SHOWN: usize = 6;
    let shown = names[..names.len().min(SHOWN)].join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Whether the claim that begins so holds.
#[cfg(test)]
pub(crate) fn holds(claims: &[Claim], beginning: &str) -> Option<bool> {
    claims.iter().find(|claim| claim.claim.starts_with(beginning)).expect("there is the claim").holds
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Row;

    #[test]
    fn what_a_whole_run_lacks_fails_and_what_a_part_lacks_was_not_asked_for() {
        let nothing = Claim::judged("it works", Vec::new(), true);
        assert_eq!(nothing.clone().asked(Asked::Part).holds, None);
        assert_eq!(nothing.asked(Asked::Everything).holds, Some(false));
        let found = Claim::judged("it works", vec!["0.6".to_owned()], true);
        assert_eq!(found.clone().asked(Asked::Everything), found);
    }

    #[test]
    fn a_claim_that_reads_one_of_two_rows_holds_in_a_part_and_fails_in_a_whole_run() {
        let rows = [Row::new("10", "acked", 5.0, "ratio").exactly(0.5)];
        let mut judging = Judging::new(&rows, "bytes");
        for loss in [5.0, 10.0] {
            if let Some(value) = judging.value("10", "acked", loss) {
                judging.found(value < 0.6, format!("{value}"));
            }
        }
        let claim = judging.done();
        assert_eq!(claim.clone().asked(Asked::Part).holds, Some(true));
        let whole = claim.asked(Asked::Everything);
        assert_eq!((whole.holds, whole.found.as_str()), (Some(false), "0.5; lacks 10: acked at 10"));
    }

    #[test]
    fn a_long_list_is_cut() {
        let names: Vec<String> = (0..9).map(|number| number.to_string()).collect();
        assert_eq!(listed(&names), "0, 1, 2, 3, 4, 5 and 3 more");
    }
}
