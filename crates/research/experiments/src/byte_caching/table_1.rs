//! Table I: how much of an ebook, a video and web pages repeats within 10, 100 and 1000 packets.

use anyhow::Result;
use published::offline::Measure;

use crate::contents::{Content, Contents};
use crate::estimate::quantile;
use crate::figure::{Figure, Results};
use crate::papers::{self, Stated};
use crate::row::Row;

/// Table I.
pub const FIGURE: Figure = Figure {
    id: "table-1",
    title: "Redundancy in web objects",
    x: "packets within which repetition counts",
    remark: "Bytes in repeated regions by bytes of payload, found by the paper's own encoder (w = 16, k = 4, 1460 bytes \
             a packet), in percent; net of the 14-byte fields beside it. The paper gives a range for its web pages: ours \
             is that of the quarter of pages with the least and with the most. Its ebook repeats far less than ours \
             at w = 16, where common phrases already count; at w = 32 ours has the paper's {byte-caching/table-1/ebook/k-1000}. The paper does not say \
             which window Table I was made with, nor what its video was: ours, already compressed, repeats nothing.",
    needs: |_| Vec::new(),
    rows,
};

const REACHES: [usize; 3] = [10, 100, 1000];
/// The ids of the paper's values, by reach.
const EBOOK: [&str; 3] = ["table-1/ebook/k-10", "table-1/ebook/k-100", "table-1/ebook/k-1000"];
const VIDEO: [&str; 3] = ["table-1/video/k-10", "table-1/video/k-100", "table-1/video/k-1000"];
const WEB_PAGE: [&str; 3] = ["table-1/web-page/k-10", "table-1/web-page/k-100", "table-1/web-page/k-1000"];

/// Pages smaller than the paper's smallest object are left out.
fn least_page_bytes() -> u64 {
    papers::BYTE_CACHING.value("section-3.c/object-size-min").number().thousands().get() as u64
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let _ = results;
    let contents = Contents::find();
    let pages = contents.web_pages(least_page_bytes())?;
    let least = papers::BYTE_CACHING.value("section-3.c/object-size-min");
    let mut rows = Vec::new();
    for (index, reach) in REACHES.into_iter().enumerate() {
        for (content, paper) in [(contents.ebook()?, EBOOK[index]), (contents.video()?, VIDEO[index])] {
            rows.extend(single(&content, reach, papers::BYTE_CACHING.value(paper).number()));
        }
        let shares: Vec<f64> = pages.iter().map(|page| redundant_percent(page, reach, 16)).collect();
        let paper = papers::BYTE_CACHING.value(WEB_PAGE[index]);
        for (name, share, paper) in [("least", 0.25, paper.low()), ("most", 0.75, paper.high())] {
            let series = format!("web page: quarter with the {name}");
            let origin = pages.first().map(|page| page.origin.as_str()).unwrap_or_default();
            let row = Row::new(FIGURE.id, series, reach as f64, "%").paper(paper);
            let row = Row { value: quantile(&shares, share), ..row };
            rows.push(row.note(format!("content: {} pages of at least {least}, {origin}", pages.len())));
        }
    }
    Ok(rows)
}

/// The rows of one content: with the paper's window, with one twice as wide, and net.
fn single(content: &Content, reach: usize, paper: Stated) -> [Row; 3] {
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
    fn the_papers_pages_repeat_more_than_its_book_and_its_video() {
        let stated = |id| papers::BYTE_CACHING.value(id).number().get();
        for ((book, video), page) in EBOOK.into_iter().zip(VIDEO).zip(WEB_PAGE) {
            let page = papers::BYTE_CACHING.value(page);
            assert!(
                page.low().get() > stated(book).max(stated(video)) && page.low().get() < page.high().get()
            );
        }
        assert_eq!(least_page_bytes(), 40_000);
    }

    #[test]
    fn more_packets_to_refer_to_never_mean_less_repetition() {
        let book = Contents::substitutes().ebook().unwrap();
        let shares = REACHES.map(|reach| redundant_percent(&book, reach, 16));
        assert!(shares.is_sorted() && shares[0] > 0.0 && shares[2] < 100.0, "{shares:?}");
    }
}
