//! The downloaded content: the letter's file of 10 MB, contents of other ratios, and files of their remaining
//! sizes.

use std::fs;

use anyhow::{Context as _, Result};
use rand::{Rng as _, RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use crate::contents::Contents;
use crate::figure::Setting;

/// Something to download.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum File {
    /// 10 MB of web pages, as redundant as the letter's video.
    Pages,
    /// Content of which this many percent remain when it is sent.
    Ratio(u32),
    /// Content with 5 to 100% new bytes, another share every 8 KB.
    Varying,
    /// Nothing repeats.
    Random,
    /// Random bytes for as long as two flows compete.
    Long,
    /// As redundant as the pages, for as long.
    LongMixed,
}

/// Bytes of generated content.
const BYTES: usize = 10_000_000;
/// In a content of some ratio, new and copied bytes alternate within this length.
const STRETCH_BYTES: usize = 1024;
/// How often the share of new bytes varies.
const BLOCK_BYTES: usize = 8192;
/// The least distance of copies, so that the copied bytes are confirmed by then.
const LEAST_REACH_BYTES: usize = 1 << 19;
/// ... and from no further: it is still in the stores, which hold 16 MiB.
const MOST_REACH_BYTES: usize = 8 << 20;

impl File {
    /// The contents of different ratios.
    pub const RATIOS: [File; 4] = [File::Pages, File::Ratio(15), File::Ratio(80), File::Varying];

    /// What rows call it, and its file.
    pub fn name(self) -> String {
        match self {
            File::Pages => "10 MB file".to_owned(),
            File::Ratio(percent) => format!("ratio {}", f64::from(percent) / 100.0),
            File::Varying => "ratio varying".to_owned(),
            File::Random => "random bytes".to_owned(),
            File::Long => "many random bytes".to_owned(),
            File::LongMixed => "many bytes of ratio 0.45".to_owned(),
        }
    }

    /// As a server of the lab takes it.
    pub fn content(self, setting: &Setting<'_>) -> Result<lab::Content> {
        self.write(setting, &self.name(), || self.bytes(setting))
    }

    /// A file of as many random bytes as are sent of this one once it is encoded, for the fair reference.
    /// `left` is their share.
    pub fn compressed(self, setting: &Setting<'_>, left: f64) -> Result<lab::Content> {
        let name = format!("{} compressed", self.name());
        self.write(setting, &name, || {
            let bytes = (self.bytes(setting)?.len() as f64 * left) as usize;
            Ok(Contents::random(bytes).bytes)
        })
    }

    fn write(
        self,
        setting: &Setting<'_>,
        name: &str,
        bytes: impl FnOnce() -> Result<Vec<u8>>,
    ) -> Result<lab::Content> {
        let slug: String = name.chars().map(|it| if it.is_ascii_alphanumeric() { it } else { '-' }).collect();
        let file = setting.testbed.folder().join(&slug);
        if !file.exists() {
            fs::write(&file, bytes()?).with_context(|| format!("cannot write {}", file.display()))?;
        }
        Ok(lab::Content { name: slug, file, skip_bytes: 0, length_bytes: None })
    }

    fn bytes(self, setting: &Setting<'_>) -> Result<Vec<u8>> {
        Ok(match self {
            File::Pages => setting.contents.documents()?.bytes,
            File::Ratio(percent) => mixed(BYTES, |_| new_share(f64::from(percent) / 100.0)),
            File::Varying => mixed(BYTES, |rng| rng.random_range(0.05..1.0)),
            File::LongMixed => mixed(25 * BYTES, |_| new_share(0.45)),
            File::Random => Contents::random(BYTES).bytes,
            File::Long => Contents::random(25 * BYTES).bytes,
        })
    }
}

/// The share of new bytes for a remaining share: headers, references and the beginning of a content are sent
/// in addition. It is fitted to the sent bytes of contents with shares of .15 and .8.
fn new_share(left: f64) -> f64 {
    ((left - 0.15) / 0.885).clamp(0.0, 1.0)
}

/// New bytes and copies of earlier ones in turn; `share` of new ones, drawn for every block.
fn mixed(length_bytes: usize, share: impl Fn(&mut ChaCha8Rng) -> f64) -> Vec<u8> {
    const SEED: u64 = 10;
    let rng = &mut ChaCha8Rng::seed_from_u64(SEED);
    let mut bytes = vec![0; LEAST_REACH_BYTES + STRETCH_BYTES];
    rng.fill_bytes(&mut bytes);
    while bytes.len() < length_bytes {
        let fresh_share = share(rng);
        for _ in 0..BLOCK_BYTES / STRETCH_BYTES {
            let fresh_bytes = (fresh_share * STRETCH_BYTES as f64) as usize;
            let end = bytes.len() + fresh_bytes;
            bytes.resize(end, 0);
            rng.fill_bytes(&mut bytes[end - fresh_bytes..]);
            let from = rng.random_range(end.saturating_sub(MOST_REACH_BYTES)..end - LEAST_REACH_BYTES);
            bytes.extend_from_within(from..from + STRETCH_BYTES - fresh_bytes);
        }
    }
    bytes.truncate(length_bytes);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use published::offline::Measure;

    #[test]
    fn what_is_left_of_a_content_is_what_it_is_called_after() {
        let measure = Measure { window_bytes: 32, sample_bits: 5, ..Measure::default() };
        for percent in [15, 80] {
            let found = measure.of(&mixed(2_000_000, |_| f64::from(percent) / 100.0));
            let fresh = 1.0 - found.redundant();
            // the beginning is new
            let new = (LEAST_REACH_BYTES + STRETCH_BYTES) as f64 / 2e6;
            let wanted = f64::from(percent) / 100.0 * (1.0 - new) + new;
            assert!((fresh - wanted).abs() < 0.05, "{percent}: {fresh}");
        }
    }
}
