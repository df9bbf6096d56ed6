//! Table I: how much of an ebook, a video and web pages repeats within 10, 100 and 1000 packets.

use anyhow::Result;
use published::offline::Measure;

use crate::contents::{Content, Contents};
use crate::estimate::quantile;
use crate::figure::{Figure, Results};
use crate::row::Row;

/// Table I.
pub const FIGURE: Figure = Figure {
    id: "table-1",
    title: "Redundancy in web objects",
    x: "packets within which repetition counts",
    remark: "Bytes in repeated regions by bytes of payload, found by the paper's own encoder (w = 16, k = 4, 1460 bytes \
             a packet), in percent; net of the 14-byte fields beside it. The paper gives a range for its web pages: ours \
             is that of the quarter of pages with the least and with the most. Its ebook repeats far less than ours \
             at w = 16, where common phrases already count; at w = 32 ours has the paper's 1%. The paper does not say \
             which window Table I was made with, nor what its video was: ours, already compressed, repeats nothing.",
    needs: |_| Vec::new(),
    rows,
};

/// Pages smaller than the paper's smallest object are left out (section III-C: 40 KB to 6 MB).
const LEAST_PAGE_BYTES: u64 = 40_000;
const REACHES: [usize; 3] = [10, 100, 1000];
const EBOOK: [f64; 3] = [0.3, 0.7, 1.0];
const VIDEO: [f64; 3] = [0.009, 0.009, 1.0];
const WEB_PAGE: [[f64; 3]; 2] = [[19.0, 26.0, 26.0], [42.0, 49.0, 52.0]];

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let _ = results;
    let contents = Contents::find();
    let pages = contents.web_pages(LEAST_PAGE_BYTES)?;
    let mut rows = Vec::new();
    for (index, reach) in REACHES.into_iter().enumerate() {
        for (content, paper) in [(contents.ebook()?, EBOOK), (contents.video()?, VIDEO)] {
            rows.extend(single(&content, reach, paper[index]));
        }
        let shares: Vec<f64> = pages.iter().map(|page| redundant_percent(page, reach, 16)).collect();
        for (name, share, paper) in [("least", 0.25, WEB_PAGE[0]), ("most", 0.75, WEB_PAGE[1])] {
            let series = format!("web page: quarter with the {name}");
            let origin = pages.first().map(|page| page.origin.as_str()).unwrap_or_default();
            let row = Row::new(FIGURE.id, series, reach as f64, "%").paper(paper[index]);
            let row = Row { value: quantile(&shares, share), ..row };
            rows.push(row.note(format!("content: {} pages of at least 40 KB, {origin}", pages.len())));
        }
    }
    Ok(rows)
}

/// The rows of one content: with the paper's window, with one twice as wide, and net.
fn single(content: &Content, reach: usize, paper: f64) -> [Row; 3] {
    let row = |series: String, value: f64| {
        let row = Row::new(FIGURE.id, series, reach as f64, "%").exactly(value);
        row.note(format!("content: {}", content.origin))
    };
    let net = 100.0 * (1.0 - measure(reach, 16).of(&content.bytes).left());
    [
        row(format!("{}: w = 16", content.name), redundant_percent(content, reach, 16)).paper(paper),
        row(format!("{}: w = 32", content.name), redundant_percent(content, reach, 32)).paper(paper),
        row(format!("{}: w = 16, net of fields", content.name), net),
    ]
}

fn measure(reach: usize, window_bytes: usize) -> Measure {
    Measure { reach_packets: Some(reach), window_bytes, ..Measure::default() }
}

fn redundant_percent(content: &Content, reach: usize, window_bytes: usize) -> f64 {
    100.0 * measure(reach, window_bytes).of(&content.bytes).redundant()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_packets_to_refer_to_never_mean_less_repetition() {
        let book = Contents::substitutes().ebook().unwrap();
        let shares = REACHES.map(|reach| redundant_percent(&book, reach, 16));
        assert!(shares.is_sorted() && shares[0] > 0.0 && shares[2] < 100.0, "{shares:?}");
    }
}
