//! The downloaded content: slices of the evaluation data if it is beside the project, otherwise generated
//! substitutes with the same properties. Every row names its source.

mod generator;

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use liblzma::read::XzDecoder;

use generator::Recipe;
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

/// Names a folder of evaluation data other than the one beside the project.
const VARIABLE: &str = "OVERHEARD_DATA";

/// Source of contents.
#[derive(Debug, Clone)]
pub struct Contents {
    /// The evaluation data, where there is any.
    data: Option<PathBuf>,
}

/// Something to download.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// What rows call it.
    pub name: &'static str,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Their source, after "content:".
    pub origin: String,
    /// Whether they are generated because the evaluation data is not there.
    pub substitute: bool,
}

/// A slice of a file of the evaluation data.
struct Slice {
    file: &'static str,
    skip_bytes: usize,
    length_bytes: Option<usize>,
}

/// What file 1 has.
pub const FILE_1_BYTES: usize = 587_567;
/// More than a link of 1 MByte/s carries in half a minute.
pub const LONG_BYTES: usize = 32 << 20;

/// Content half of which was sent before.
pub const HALF_REPEATING_BYTES: usize = 10_000_000;
/// A stretch of it that repeats, or does not.
const BLOCK_BYTES: usize = 50_000;

/// The byte-caching paper's file 1 has 587,567 bytes (section IV-C), of which its encoder left .55 (section
/// VI), and an encoded packet of it referred to 4 others on average. So does this slice of web pages, at the
/// paper's own parameters and with packets of 1460 bytes of payload: .553 and 4.2.
const FILE_1: Slice =
    Slice { file: "content/webpages-150.tar", skip_bytes: 9_750_000, length_bytes: Some(FILE_1_BYTES) };
/// File 2 of the paper has many dependencies, 7 for each encoded packet, and so has a package index.
const FILE_2: Slice =
    Slice { file: "content/debian-packages-10M.txt", skip_bytes: 0, length_bytes: Some(1_000_000) };
const DOCUMENTS: Slice =
    Slice { file: "content/file10M-pydocs-library.html", skip_bytes: 0, length_bytes: None };
const EBOOK: Slice = Slice { file: "content/ebook-opticks.txt", skip_bytes: 0, length_bytes: None };
const VIDEO: Slice = Slice { file: "content/video-bigbuckbunny.mp4", skip_bytes: 0, length_bytes: None };
const WEB_PAGES: Slice = Slice { file: "content/webpages-150.tar", skip_bytes: 0, length_bytes: None };

impl Contents {
    /// The evaluation data in the folder that `OVERHEARD_DATA` names; without that variable, beside the
    /// project. None where the folder has no `content`, as with an empty variable.
    #[must_use]
    pub fn find() -> Self {
        let folders = match std::env::var_os(VARIABLE) {
            Some(named) => vec![PathBuf::from(named)],
            None => {
                let project = Path::new(env!("CARGO_MANIFEST_DIR"));
                vec![PathBuf::from("../shared/data"), project.join("../../../../shared/data")]
            }
        };
        let is_there = |folder: &PathBuf| !folder.as_os_str().is_empty() && folder.join("content").is_dir();
        Self { data: folders.into_iter().find(is_there) }
    }

    /// As where there is no evaluation data.
    #[must_use]
    pub fn substitutes() -> Self {
        Self { data: None }
    }

    /// Whether there is evaluation data.
    #[must_use]
    pub fn has_data(&self) -> bool {
        self.data.is_some()
    }

    /// The byte-caching paper's file 1: few dependencies.
    pub fn file_1(&self) -> Result<Content> {
        self.take("file 1", &FILE_1, &Recipe::FILE_1)
    }

    /// The byte-caching paper's file 2: many dependencies.
    pub fn file_2(&self) -> Result<Content> {
        self.take("file 2", &FILE_2, &Recipe::FILE_2)
    }

    /// 10 MB of documentation, as redundant as the REboost letter's video.
    pub fn documents(&self) -> Result<Content> {
        self.take("10 MB file", &DOCUMENTS, &Recipe::DOCUMENTS)
    }

    /// A recording of a link's capacity, in mahimahi's form, if the evaluation data is there.
    pub fn capacity(&self, name: &str) -> Result<Option<air::mahimahi::CapacityTrace>> {
        let Some(data) = &self.data else { return Ok(None) };
        let text = String::from_utf8(unpack(data, &format!("links/{name}"))?)
            .with_context(|| format!("{name} is no text"))?;
        Ok(Some(text.parse().with_context(|| format!("{name} is no recording of capacity"))?))
    }

    /// A book, as plain text.
    pub fn ebook(&self) -> Result<Content> {
        self.take("ebook", &EBOOK, &Recipe::EBOOK)
    }

    /// A video.
    pub fn video(&self) -> Result<Content> {
        self.take("video", &VIDEO, &Recipe::VIDEO)
    }

    /// Random bytes of this length.
    #[must_use]
    pub fn random(length_bytes: usize) -> Content {
        const SEED: u64 = 6;
        let mut bytes = vec![0; length_bytes];
        ChaCha8Rng::seed_from_u64(SEED).fill_bytes(&mut bytes);
        let origin = format!("generated (seed {SEED}, every byte random)");
        Content { name: "random bytes", bytes, origin, substitute: false }
    }

    /// Random bytes in which every second block is one of [`Contents::random`], in order.
    #[must_use]
    pub fn half_repeating() -> Content {
        const SEED: u64 = 7;
        let mut bytes = vec![0; HALF_REPEATING_BYTES];
        ChaCha8Rng::seed_from_u64(SEED).fill_bytes(&mut bytes);
        let known = Contents::random(HALF_REPEATING_BYTES / 2).bytes;
        let repeated = bytes.chunks_mut(BLOCK_BYTES).skip(1).step_by(2);
        repeated.zip(known.chunks(BLOCK_BYTES)).for_each(|(block, known)| block.copy_from_slice(known));
        let origin = format!(
            "generated (seed {SEED}, every byte random, every second block of {BLOCK_BYTES} octets from that of the random bytes)"
        );
        Content { name: "half-repeating bytes", bytes, origin, substitute: false }
    }

    /// All contents, for variety: texts, pages, pictures.
    pub fn all(&self) -> Result<Vec<Content>> {
        let mut all = vec![self.ebook()?, self.video()?];
        if let Some(data) = &self.data {
            for file in ["content/photo-IMG_20200124.jpg", "content/debian-packages-10M.txt"] {
                let bytes = unpack(data, file)?;
                all.push(Content { name: "content", bytes, origin: file.to_owned(), substitute: false });
            }
        }
        all.extend(self.web_pages(0)?);
        Ok(all)
    }

    /// A capture of the evaluation data: its file, packed or not. None where there is none.
    #[must_use]
    pub fn capture(&self, name: &str) -> Option<PathBuf> {
        let file = self.data.as_ref()?.join("pcap").join(format!("{name}.pcap"));
        [file.clone(), file.with_extension("pcap.xz")].into_iter().find(|file| file.is_file())
    }

    /// A table of recorded receptions of the evaluation data, if it is there.
    pub fn receptions(&self, name: &str) -> Result<Option<String>> {
        let Some(data) = &self.data else { return Ok(None) };
        let file = format!("links/{name}.csv");
        if !data.join(&file).is_file() && !data.join(format!("{file}.xz")).is_file() {
            return Ok(None);
        }
        let table = unpack(data, &file)?;
        Ok(Some(String::from_utf8(table).with_context(|| format!("{name} is no text"))?))
    }

    /// A request log of the evaluation data, if present. Invalid UTF-8 is replaced.
    pub fn request_log(&self, name: &str) -> Result<Option<String>> {
        let Some(data) = &self.data else { return Ok(None) };
        let file = format!("logs/{name}");
        if !data.join(&file).is_file() && !data.join(format!("{file}.xz")).is_file() {
            return Ok(None);
        }
        Ok(Some(String::from_utf8_lossy(&unpack(data, &file)?).into_owned()))
    }

    /// Web pages of at least `least_bytes`, one content each.
    pub fn web_pages(&self, least_bytes: u64) -> Result<Vec<Content>> {
        let Some(data) = &self.data else {
            let pages = (1..=Recipe::WEB_PAGES).map(Recipe::web_page);
            return Ok(pages.map(|recipe| substitute("web page", &recipe)).collect());
        };
        let tar = unpack(data, WEB_PAGES.file)?;
        let mut archive = tar::Archive::new(&*tar);
        let mut pages = Vec::new();
        for entry in archive.entries().context("read the web pages")? {
            let mut entry = entry.context("read the web pages")?;
            if entry.size() >= least_bytes && entry.header().entry_type().is_file() {
                let mut bytes = Vec::new();
                entry.read_to_end(&mut bytes).context("read a web page")?;
                let origin = format!("the pages of {}", WEB_PAGES.file);
                pages.push(Content { name: "web page", bytes, origin, substitute: false });
            }
        }
        Ok(pages)
    }

    fn take(&self, name: &'static str, slice: &Slice, recipe: &Recipe) -> Result<Content> {
        let Some(data) = &self.data else { return Ok(substitute(name, recipe)) };
        let mut bytes = unpack(data, slice.file)?;
        let end = slice.length_bytes.map_or(bytes.len(), |length| slice.skip_bytes + length);
        ensure!(end <= bytes.len(), "{} has only {} bytes", slice.file, bytes.len());
        bytes.truncate(end);
        bytes.drain(..slice.skip_bytes);
        let origin = match slice.length_bytes {
            Some(length) => format!("{length} bytes of {} from byte {}", slice.file, slice.skip_bytes),
            None => slice.file.to_owned(),
        };
        Ok(Content { name, bytes, origin, substitute: false })
    }
}

fn substitute(name: &'static str, recipe: &Recipe) -> Content {
    let origin = format!("generated, since the evaluation data is not there ({recipe})");
    Content { name, bytes: recipe.cook(), origin, substitute: true }
}

/// Reads a file of the evaluation data, which may be stored packed.
fn unpack(data: &Path, file: &str) -> Result<Vec<u8>> {
    let path = data.join(file);
    if path.is_file() {
        return fs::read(&path).with_context(|| format!("read {}", path.display()));
    }
    let packed = data.join(format!("{file}.xz"));
    let doing = || format!("unpack {}", packed.display());
    let mut bytes = Vec::new();
    XzDecoder::new(fs::File::open(&packed).with_context(doing)?)
        .read_to_end(&mut bytes)
        .with_context(doing)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use published::offline::Measure;

    /// The remaining share of a content after the paper's encoder, and the number of packets that an encoded
    /// packet refers to.
    fn properties(content: &Content) -> (f64, f64) {
        let found = Measure::default().of(&content.bytes);
        (found.left(), found.mean_references())
    }

    fn is_like_file_1(content: &Content) {
        let (left, references) = properties(content);
        assert_eq!(content.bytes.len(), 587_567);
        assert!((0.53..=0.57).contains(&left), "{left} of the bytes are left");
        assert!((3.5..=4.5).contains(&references), "{references} packets are referred to");
    }

    #[test]
    fn file_1_has_the_size_the_savings_and_the_dependencies_of_the_papers() {
        let contents = Contents::find();
        if !contents.has_data() {
            return println!("left out: the evaluation data is not there (set {VARIABLE})");
        }
        is_like_file_1(&contents.file_1().unwrap());
    }

    #[test]
    fn the_substitute_of_file_1_has_them_too() {
        is_like_file_1(&Contents::substitutes().file_1().unwrap());
    }

    #[test]
    fn the_other_substitutes_resemble_what_they_stand_for() {
        let contents = Contents::find();
        if !contents.has_data() {
            return println!("left out: the evaluation data is not there (set {VARIABLE})");
        }
        let substitutes = Contents::substitutes();
        for (real, made) in [
            (contents.file_2(), substitutes.file_2()),
            (contents.ebook(), substitutes.ebook()),
            (contents.video(), substitutes.video()),
        ] {
            let (real, made) = (real.unwrap(), made.unwrap());
            let ((left, references), (left_made, references_made)) = (properties(&real), properties(&made));
            assert!((left - left_made).abs() < 0.03, "{}: {left}, {left_made}", real.name);
            assert!(
                (references - references_made).abs() < 1.5,
                "{}: {references}, {references_made}",
                real.name
            );
        }
    }

    #[test]
    fn a_substitute_is_the_same_every_time() {
        let contents = Contents::substitutes();
        assert_eq!(contents.file_2().unwrap(), contents.file_2().unwrap());
        assert!(contents.file_2().unwrap().substitute);
    }
}
