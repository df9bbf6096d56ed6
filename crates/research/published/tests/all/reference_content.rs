//! Substitutes for the byte-caching paper's files, measured by the paper's own encoder.
//!
//! These tests need the evaluation data beside the workspace (`../shared/data`) and skip absent files.

use published::offline::{Measure, Redundancy};
use std::io::Read;
use std::path::Path;

/// The bytes of file 1 (paper, section IV-C).
const FILE_1_BYTES: usize = 587_567;
/// Where in the web pages the slice starts that stands for file 1.
const FILE_1_OFFSET: usize = 9_460_000;

fn content(name: &str) -> Option<Vec<u8>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared/data/content").join(name);
    let Ok(mut file) = std::fs::File::open(&path) else {
        println!("passed over: {name} is not there");
        return None;
    };
    let mut bytes = Vec::new();
    if name.ends_with(".xz") {
        liblzma::read::XzDecoder::new(file).read_to_end(&mut bytes).expect("the archive is whole");
    } else {
        file.read_to_end(&mut bytes).expect("the file can be read");
    }
    Some(bytes)
}

/// The paper's values for file 1 without loss: .55 of the bytes, and 4 packets referred to.
fn stands_for_file_1(found: &Redundancy) -> bool {
    (found.left() - 0.55).abs() <= 0.02 && (found.mean_references() - 4.0).abs() <= 0.5
}

#[test]
fn a_slice_of_the_web_pages_stands_for_file_1() {
    let Some(pages) = content("webpages-150.tar.xz") else { return };
    let found = Measure::default().of(&pages[FILE_1_OFFSET..FILE_1_OFFSET + FILE_1_BYTES]);
    assert!(stands_for_file_1(&found), "{} left, {} referred to", found.left(), found.mean_references());
}

#[test]
fn the_first_megabyte_of_the_package_list_stands_for_file_2() {
    let Some(list) = content("debian-packages-10M.txt.xz") else { return };
    let found = Measure::default().of(&list[..1_000_000]);
    assert!((found.mean_references() - 7.0).abs() <= 0.5, "{} referred to", found.mean_references());
    assert!((found.left() - 0.68).abs() <= 0.02, "{} left", found.left());
}

/// Percentages of bytes that another program found with the same window, sampling and reach: in repeated
/// regions, and less 14 bytes a region.
#[test]
fn what_is_found_within_a_thousand_packets_is_what_another_program_found() {
    let contents = [
        ("ebook-opticks.txt.xz", 11.89, 4.48),
        ("debian-packages-10M.txt.xz", 54.96, 39.89),
        ("webpages-150.tar.xz", 52.10, 38.73),
        ("video-bigbuckbunny.mp4", 0.02, 0.01),
    ];
    for (name, redundant, net) in contents {
        let Some(bytes) = content(name) else { continue };
        let found = Measure { reach_packets: Some(1000), ..Measure::default() }.of(&bytes);
        assert!((100.0 * found.redundant() - redundant).abs() < 0.7, "{name}: {}", found.redundant());
        assert!((100.0 * (1.0 - found.left()) - net).abs() < 0.7, "{name}: {}", found.left());
    }
}

/// Prints the offsets around 9,500,000 whose slices would do.
/// `cargo test --release -p overheard-published --test reference_content -- --ignored --nocapture`
#[test]
#[ignore = "81 measurements to choose an offset once"]
fn which_slices_could_stand_for_file_1() {
    let Some(pages) = content("webpages-150.tar.xz") else { return };
    let mut offsets = Vec::new();
    for offset in (9_100_000..=9_900_000).step_by(10_000) {
        let found = Measure::default().of(&pages[offset..offset + FILE_1_BYTES]);
        let fits = stands_for_file_1(&found);
        println!("{offset} {:.3} {:.2} {fits}", found.left(), found.mean_references());
        offsets.extend(fits.then_some(offset));
    }
    assert!(offsets.contains(&FILE_1_OFFSET));
}
