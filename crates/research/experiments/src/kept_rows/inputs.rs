//! A hash of what a figure is made from.

use anyhow::{Context as _, Result};
use blake2::digest::consts::U8;
use blake2::{Blake2b, Digest as _};

use crate::figure::{Figure, Need, Setting};
use crate::testbed::Testbed;

/// A hash of all contents, from which those of figures go on.
pub struct Inputs(Blake2b<U8>);

impl Inputs {
    /// Origin of a setting's contents.
    ///
    /// # Errors
    ///
    /// When they cannot be read.
    pub fn of(setting: &Setting<'_>) -> Result<Self> {
        let mut hash = Self(Blake2b::new());
        for content in setting.contents.all()?.iter().chain(&setting.contents.web_pages(0)?) {
            hash.add(&content.bytes);
        }
        for file in crate::cell::File::ALL {
            hash.add(&setting.testbed.content(file).bytes);
        }
        Ok(hash)
    }

    /// A hash of the contents and, where the figure needs runs, of their scenarios and seeds: sixteen
    /// hexadecimal digits. Figures without runs of their own follow from the contents, the extent and the
    /// commit.
    ///
    /// # Errors
    ///
    /// When a scenario cannot be written.
    pub fn digest(&self, figure: &Figure, setting: &Setting<'_>, only: &[String]) -> Result<String> {
        let mut hash = Self(self.0.clone());
        hash.add(format!("{} {:?} {}", figure.id, setting.plan, setting.driver).as_bytes());
        for need in (figure.needs)(setting).into_iter().filter(|need| need.is_among(only)) {
            hash.add(described(&need, setting.testbed)?.as_bytes());
        }
        Ok(hash.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }

    fn add(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }
}

/// What a need is: scenarios as JSON, without the names of temporary folders.
fn described(need: &Need, testbed: &Testbed) -> Result<String> {
    match need {
        Need::Cell(cell, seeds) => in_words(&testbed.scenario(cell, 1..=u64::from(*seeds))),
        Need::Pair { cell, baseline, least, most } => {
            let seeds = || 1..=u64::from(*least);
            let (ours, theirs) = (testbed.scenario(cell, seeds()), testbed.scenario(baseline, seeds()));
            Ok(format!("{} {} {most}", in_words(&ours)?, in_words(&theirs)?))
        }
        Need::Scenario(scenario) => in_words(scenario),
    }
}

fn in_words(scenario: &lab::Scenario) -> Result<String> {
    let json = serde_json::to_string(scenario).context("a scenario cannot be written")?;
    Ok(without_temporary(&json))
}

/// A text whose temporary folders, such as `/tmp/overheard-keys-x7Gq2B`, have lost their random letters.
fn without_temporary(text: &str) -> String {
    let mut parts = text.split("/overheard-");
    let mut kept = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(['/', '"', ' ', '\\']).unwrap_or(part.len());
        let (folder, rest) = part.split_at(end);
        let name = folder.rsplit_once('-').map_or(folder, |(name, _)| name);
        kept.push_str("/overheard-");
        kept.push_str(name);
        kept.push_str(rest);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contents::Contents;
    use crate::plan::{Extent, Plan, Traced};
    use crate::row::Driver;
    use crate::{byte_caching, xbc};

    #[test]
    fn equal_inputs_have_equal_hashes_and_other_inputs_have_others() {
        let contents = Contents::substitutes();
        let hash = |figure: &Figure, seeds| {
            let testbed = Testbed::new(&contents).unwrap();
            let plan = Plan { extent: Extent::Quick, seeds: Some(seeds), trace: Traced::default() };
            let setting = Setting { plan, testbed: &testbed, contents: &contents, driver: Driver::Virtual };
            Inputs::of(&setting).unwrap().digest(figure, &setting, &[]).unwrap()
        };
        for experiment in [byte_caching::EXPERIMENT, xbc::EXPERIMENT] {
            let figure = experiment.figures.iter().find(|figure| figure.id.starts_with('6')).unwrap();
            assert_eq!(hash(figure, 1), hash(figure, 1), "{}", figure.id);
            assert_ne!(hash(figure, 1), hash(figure, 2), "{}", figure.id);
        }
    }

    #[test]
    fn temporary_folders_lose_what_differs_each_time() {
        let text = r#"{"file":"/tmp/overheard-experiment-aB3/file-1","run":["up /tmp/overheard-keys-x9/a"]}"#;
        let plain = r#"{"file":"/tmp/overheard-experiment/file-1","run":["up /tmp/overheard-keys/a"]}"#;
        assert_eq!(without_temporary(text), plain);
    }
}
