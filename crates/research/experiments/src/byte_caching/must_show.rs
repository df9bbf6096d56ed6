//! What must come out, held against the rows.
//!
//! The paper's claims are judged on its policies as printed ([`Scheme::PAPERS`]), and have two sides. Ours
//! have one.

use super::{figure_13, parts, section_7, table_2};
use crate::cell::{File, Stack};
use crate::claim::{Band, Claim, Judging};
use crate::papers;
use crate::row::{Row, X};
use crate::scheme::{Part, Parts, Scheme};

/// The largest deviation of bytes from the paper's (Table II), in both directions.
const BYTES_WITHIN: f64 = 0.08;
/// The largest relative deviation of a delay from the paper's, in both directions.
const DELAYS_WITHIN: f64 = 0.08;
/// The largest difference of perceived and actual loss, in percentage points.
const LOSS_WITHIN_POINTS: f64 = 0.1;
/// The largest relative difference of k-distance's and cache-flush's perceived loss: "very similar".
const SIMILAR_WITHIN: f64 = 0.2;
/// The least share of naive downloads that stall: 45 of 50, our goal.
pub(super) const LEAST_STALLED: f64 = 0.9;
/// The losses of Table II.
const LOSSES: [f64; 2] = [5.0, 10.0];

/// Holds rows against every claim.
#[must_use]
pub fn claims(rows: &[Row]) -> Vec<Claim> {
    let mut claims = vec![
        naive_stalls(rows),
        complete(rows, "the paper's policies as printed", is_of_paper),
        complete(rows, "every other policy", |series| !is_of_paper(series) && !series.ends_with(": naive")),
    ];
    claims.extend([0.0, 5.0, 10.0].map(|loss| bytes_are_near(rows, loss)));
    claims.push(time_without_loss(rows));
    for loss in LOSSES {
        claims.push(bytes_are_ordered(rows, loss));
        for stack in [Stack::Modern, Stack::Plain, Stack::Reno] {
            claims.extend([delays_are_near(rows, loss, stack), delays_are_ordered(rows, loss, stack)]);
        }
    }
    claims.extend([
        tcp_seq_perceives_more(rows),
        k_distance_perceives_as_much(rows),
        sizes_are_ordered(rows),
        acked_decodes_everything(rows),
        acked_perceives_the_actual_loss(rows),
        udp_perceives_the_actual_loss(rows),
        connections_survive(rows),
        elimination_adds(rows, parts::BYTES, "bytes"),
        elimination_adds(rows, parts::DELAY, "time"),
    ]);
    claims
}

fn is_of_paper(series: &str) -> bool {
    Scheme::PAPERS.iter().any(|scheme| series.ends_with(&format!(": {scheme}")))
}

fn naive_stalls(rows: &[Row]) -> Claim {
    let mut judging = Judging::new(rows, "naive at 1% loss: at least 45 of 50 downloads stall");
    for file in [File::One, File::Ebook] {
        if let Some((row, count)) = judging.row("6", &format!("{file}: stalled"), "all") {
            let holds = count >= LEAST_STALLED * f64::from(row.seeds);
            judging.found(holds, format!("{count} of {} ({file})", row.seeds));
        }
    }
    judging.done()
}

fn complete(rows: &[Row], who: &str, chosen: impl Fn(&str) -> bool) -> Claim {
    let claim = format!(
        "{who}: all downloads complete, byte for byte, at every loss and under reordering, duplication and corruption"
    );
    let mut judging = Judging::new(rows, claim);
    // A burst is counted in bits. On a link that carries one retransmission a timeout it can last for
    // minutes, and TCP gives up in spite of the tunnel.
    let counts = |row: &Row| chosen(&row.series) && !row.x.to_string().contains("bursts");
    let mut shares = judging.all("completion", "file ", counts);
    shares.extend(judging.all("impairments", "complete: ", counts));
    for (row, share) in shares {
        let note = row.note.rsplit("; ").next().unwrap_or_default();
        judging.cell(share == 1.0, || format!("{} at {}: {note}", row.series, row.x));
    }
    judging.done()
}

fn bytes_are_near(rows: &[Row], loss: f64) -> Claim {
    let claim = format!("bytes within {BYTES_WITHIN} of the paper's at {loss}% loss");
    let mut judging = Judging::new(rows, claim);
    for scheme in Scheme::PAPERS {
        let Some([paper, _]) = table_2::paper(scheme, loss) else { continue };
        if let Some(value) = judging.value("table-2", &table_2::series("bytes", scheme, Stack::Modern), loss)
        {
            let holds = Band::around(paper, BYTES_WITHIN).has(value);
            judging.found(holds, format!("{scheme} {value:.2} (paper {paper})"));
        }
    }
    judging.done()
}

fn delays_are_near(rows: &[Row], loss: f64, stack: Stack) -> Claim {
    let percent = DELAYS_WITHIN * 100.0;
    let claim = format!("delays within {percent}% of the paper's at {loss}% loss, {stack}");
    let mut judging = Judging::new(rows, claim);
    for scheme in Scheme::PAPERS {
        let Some([_, paper]) = table_2::paper(scheme, loss) else { continue };
        if let Some(value) = judging.value("table-2", &table_2::series("delay", scheme, stack), loss) {
            let holds = Band::around_by(paper, DELAYS_WITHIN).has(value);
            judging.found(holds, format!("{scheme} {value:.2} (paper {paper})"));
        }
    }
    judging.done()
}

/// Whether the values of schemes rise in this order; one alone proves nothing.
fn ordered(
    rows: &[Row],
    claim: String,
    quantity: &str,
    stack: Stack,
    loss: f64,
    schemes: [Scheme; 3],
) -> Claim {
    let mut judging = Judging::new(rows, claim);
    let values =
        schemes.map(|scheme| judging.value("table-2", &table_2::series(quantity, scheme, stack), loss));
    if let [Some(first), Some(second), Some(third)] = values {
        let names = schemes.map(|scheme| scheme.to_string());
        let found = format!("{} {first:.2}, {} {second:.2}, {} {third:.2}", names[0], names[1], names[2]);
        judging.found(first < second && second < third, found);
    }
    judging.done()
}

fn bytes_are_ordered(rows: &[Row], loss: f64) -> Claim {
    let claim = format!("bytes at {loss}% loss: cache-flush least, k-distance most");
    ordered(rows, claim, "bytes", Stack::Modern, loss, Scheme::PAPERS)
}

fn delays_are_ordered(rows: &[Row], loss: f64, stack: Stack) -> Claim {
    // At 5% k-distance is quicker than tcp-seq in the paper, and at 10% slower.
    let [flush, tcp_seq, k_distance] = Scheme::PAPERS;
    let order = if loss == 5.0 { [flush, k_distance, tcp_seq] } else { Scheme::PAPERS };
    let names = order.map(|scheme| scheme.to_string()).join(", ");
    let claim = format!("delays at {loss}% loss in the paper's order ({names}), {stack}");
    ordered(rows, claim, "delay", stack, loss, order)
}

fn time_without_loss(rows: &[Row]) -> Claim {
    let paper = papers::BYTE_CACHING.value("section-6/time-saved-no-loss").number().left();
    let claim = format!("without loss {paper} of the time (within {BYTES_WITHIN})");
    let mut judging = Judging::new(rows, claim);
    for scheme in [Scheme::CACHE_FLUSH, Scheme::TCP_SEQ] {
        if let Some(value) = judging.value("table-2", &table_2::series("delay", scheme, Stack::Modern), 0.0) {
            judging.found(Band::around(paper, BYTES_WITHIN).has(value), format!("{scheme} {value:.2}"));
        }
    }
    judging.done()
}

/// The perceived loss of two schemes at each loss of Table II.
fn perceived(rows: &[Row], claim: String, schemes: [Scheme; 2], holds: impl Fn(f64, f64) -> bool) -> Claim {
    let mut judging = Judging::new(rows, claim);
    for loss in LOSSES {
        let values =
            schemes.map(|scheme| judging.value(figure_13::FIGURE.id, &format!("perceived: {scheme}"), loss));
        if let [Some(one), Some(other)] = values {
            let found = format!("{} {one:.1}% and {} {other:.1}% at {loss}%", schemes[0], schemes[1]);
            judging.found(holds(one, other), found);
        }
    }
    judging.done()
}

fn tcp_seq_perceives_more(rows: &[Row]) -> Claim {
    let claim = "figure 13: tcp-seq perceives more loss than cache-flush".to_owned();
    perceived(rows, claim, [Scheme::TCP_SEQ, Scheme::CACHE_FLUSH], |one, other| one > other)
}

fn k_distance_perceives_as_much(rows: &[Row]) -> Claim {
    let percent = SIMILAR_WITHIN * 100.0;
    let claim =
        format!("figure 13: k-distance perceives the loss that cache-flush does, within {percent}% of it");
    let holds = |one: f64, other: f64| (one / other - 1.0).abs() <= SIMILAR_WITHIN;
    perceived(rows, claim, [Scheme::K_DISTANCE, Scheme::CACHE_FLUSH], holds)
}

fn sizes_are_ordered(rows: &[Row]) -> Claim {
    let claim = "section VII: packets of k = 8 larger than cache-flush's, of k = 50 smaller and more";
    let mut judging = Judging::new(rows, claim);
    let schemes = [Scheme::CACHE_FLUSH, Scheme::K_DISTANCE, Scheme::k_distance(50)];
    let mut of = |series| {
        schemes.map(|scheme| judging.value(section_7::FIGURE.id, series, scheme.to_string().as_str()))
    };
    let (sizes, counts) = (of(section_7::SIZE), of(section_7::COUNT));
    if let ([Some(flush), Some(near), Some(far)], [Some(few), _, Some(many)]) = (sizes, counts) {
        let found = format!("{near:.0}, {flush:.0}, {far:.0} bytes; {few:.0} and {many:.0} packets");
        judging.found(near > flush && flush > far && many > few, found);
    }
    judging.done()
}

fn acked_decodes_everything(rows: &[Row]) -> Claim {
    let mut judging = Judging::new(rows, "acked: no undecodable packet at any loss or impairment");
    // In the paper's form a fingerprint may lead the receiver to a later packet than the confirmed one.
    let is_acked = |row: &Row| row.series == "undecodable: acked";
    for figure in ["13", "impairments"] {
        for (row, count) in judging.all(figure, "undecodable: acked", is_acked) {
            judging.cell(count == 0.0, || format!("{count} a download at {}", row.x));
        }
    }
    judging.done()
}

fn acked_perceives_the_actual_loss(rows: &[Row]) -> Claim {
    let mut judging = Judging::new(rows, "acked: perceived loss equals actual within 0.1 point, by TCP");
    let is_acked = |row: &Row| row.series == "perceived: acked";
    for (row, perceived) in judging.all("13", "perceived: acked", is_acked) {
        let X::Number(loss) = row.x else { continue };
        let Some(actual) = judging.value("13", "actual: acked", loss) else { continue };
        within(&mut judging, row, perceived - actual);
    }
    judging.done()
}

fn udp_perceives_the_actual_loss(rows: &[Row]) -> Claim {
    let mut judging = Judging::new(rows, "acked: perceived loss equals actual within 0.1 point, by UDP");
    let series = "perceived beyond actual: acked";
    for (row, points) in judging.all("udp", series, |row| row.series == series) {
        within(&mut judging, row, points);
    }
    judging.done()
}

fn within(judging: &mut Judging<'_>, row: &Row, points: f64) {
    judging.cell(points.abs() <= LOSS_WITHIN_POINTS, || format!("{points:.3} points apart at {}%", row.x));
}

/// The station must have moved: a download that ended before the last move proves nothing.
fn connections_survive(rows: &[Row]) -> Claim {
    use super::section_2::{FIGURE, MOVED, SURVIVED, Way};
    let claim = "a TCP connection survives moves between gateways and to none; through a proxy that ends TCP it does not";
    let mut judging = Judging::new(rows, claim);
    for (way, expected) in [(Way::Packets, 1.0), (Way::Proxy, 0.0)] {
        let moved = judging.value(FIGURE.id, MOVED, way.name());
        let survived = judging.value(FIGURE.id, SURVIVED, way.name());
        if let (Some(moved), Some(survived)) = (moved, survived) {
            let found = format!("{}: {survived:.2} survive, {moved:.2} were moved", way.name());
            judging.found(moved == 1.0 && survived == expected, found);
        }
    }
    judging.done()
}

/// Against what compresses and repairs without redundancy elimination. Under loss, times of one seed differ
/// by more than redundancy elimination brings; bytes do not.
fn elimination_adds(rows: &[Row], quantity: &str, costs: &str) -> Claim {
    let claim = format!("our goal: leaving redundancy elimination out of the default costs {costs}");
    let mut judging = Judging::new(rows, claim);
    let [all, without] = [Parts::ALL, Parts::ALL.without(Part::Reduce)];
    for loss in parts::LOSSES {
        let [ours, theirs] = [all, without]
            .map(|parts| judging.value(parts::FIGURE.id, &parts::series(quantity, parts), loss));
        if let (Some(ours), Some(theirs)) = (ours, theirs) {
            judging.found(ours < theirs, format!("{quantity} {ours:.2} and {theirs:.2} at {loss}%"));
        }
    }
    judging.done()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::Estimate;
    use crate::row::Driver;

    fn row(figure: &str, series: &str, x: impl Into<X>, value: f64) -> Row {
        let estimate = Estimate { value, interval: None };
        Row::new(figure, series, x, "").measured(Some(estimate), Driver::Virtual, 50)
    }

    fn holds(rows: &[Row], beginning: &str) -> Option<bool> {
        crate::claim::holds(&claims(rows), beginning)
    }

    #[test]
    fn claims_pass_at_their_bounds_and_fall_short_beyond() {
        let stalled = |count| [row("6", "file 1: stalled", "all", count)];
        assert_eq!(holds(&stalled(45.0), "naive"), Some(true));
        assert_eq!(holds(&stalled(44.0), "naive"), Some(false));

        let complete = |share| [row("completion", "file 1: acked", 5.0, share)];
        assert_eq!(holds(&complete(1.0), "every other"), Some(true));
        assert_eq!(holds(&complete(0.98), "every other"), Some(false));
        assert_eq!(holds(&complete(0.98), "the paper's policies"), None);

        let undecodable = |count| [row("13", "undecodable: acked", 5.0, count)];
        assert_eq!(holds(&undecodable(0.0), "acked: no undecodable"), Some(true));
        assert_eq!(holds(&undecodable(0.02), "acked: no undecodable"), Some(false));

        let udp = |points| [row("udp", "perceived beyond actual: acked", 5.0, points)];
        let claim = "acked: perceived loss equals actual within 0.1 point, by UDP";
        assert_eq!(holds(&udp(-0.1), claim), Some(true));
        assert_eq!(holds(&udp(-0.11), claim), Some(false));
    }

    #[test]
    fn bytes_and_delays_that_are_better_than_the_papers_are_no_nearer_than_worse_ones() {
        let bytes = |value| [row("table-2", "bytes: tcp-seq", 5.0, value)];
        let near = [0.61, 0.63, 0.77, 0.79]
            .map(|value| holds(&bytes(value), "bytes within 0.08 of the paper's at 5%"));
        assert_eq!(near, [Some(false), Some(true), Some(true), Some(false)]);
        let delay = |value| [row("table-2", "delay: tcp-seq", 5.0, value)];
        let claim = "delays within 8% of the paper's at 5% loss, modern";
        let near = [2.6, 2.7, 3.1, 3.2].map(|value| holds(&delay(value), claim));
        assert_eq!(near, [Some(false), Some(true), Some(true), Some(false)]);
    }

    #[test]
    fn an_order_needs_all_of_its_members() {
        let delay = |scheme: &str, value| row("table-2", &format!("delay: {scheme}"), 5.0, value);
        let rows = [delay("cache-flush", 1.6), delay("k-distance", 2.1), delay("tcp-seq", 2.9)];
        let claim = "delays at 5% loss in the paper's order (cache-flush, k-distance, tcp-seq), modern";
        assert_eq!(holds(&rows, claim), Some(true));
        assert_eq!(holds(&rows[..2], claim), None);
        let without_value = Row { value: None, ..delay("tcp-seq", 0.0) };
        assert_eq!(holds(&[&rows[..2], &[without_value]].concat(), claim), Some(false));
    }

    #[test]
    fn a_station_that_did_not_move_proves_nothing() {
        let rows = |moved| {
            ["byte caching on IP packets", "a proxy that ends TCP"].map(|way| {
                let survived = if way.starts_with("byte") { 1.0 } else { 0.0 };
                [
                    row("section-2", "survived: connections", way, survived),
                    row("section-2", "moved: stations", way, moved),
                ]
            })
        };
        assert_eq!(holds(rows(1.0).as_flattened(), "a TCP connection survives"), Some(true));
        assert_eq!(holds(rows(0.5).as_flattened(), "a TCP connection survives"), Some(false));
    }
}
