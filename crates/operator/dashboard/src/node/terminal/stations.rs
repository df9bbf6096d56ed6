//! The table of stations in the shown time.

use super::summary::sum;
use super::{Shown, View};
use crate::figures::{bytes, milliseconds, percent, saved};
use crate::node::sample::Sample;
use ratatui::Frame;
use ratatui::layout::{Constraint, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Row, Table, TableState};

const HEAD: [&str; 11] =
    ["STATION", "OFFERED", "SENT", "SAVED", "LOSS", "MISSED", "RTT", "REPAIRED", "RE", "OVERHEARD", "QUEUE"];
/// The meaning of the columns, in the time shown. LOSS, RTT and QUEUE are those of now.
pub const LEGEND: &str = "OFFERED: bytes for the station. SENT: all datagrams for them. SAVED: the share not sent; +: SENT \
                          beyond OFFERED. LOSS: packets that the air lost. MISSED: arrived packets that were not restored at \
                          once. RTT: round trip of the hop. REPAIRED: sent again. RE: repetitions left out. OVERHEARD: left \
                          out because the station had it. QUEUE: waits to be sent.";
const CELLS: u16 = 9;
/// The least width of a name.
const NAME_CELLS: u16 = 12;

/// Draws the table; the charts' subject is highlighted.
pub fn table(frame: &mut Frame<'_>, area: Rect, view: View, shown: &Shown<'_>) {
    // A narrow terminal omits the last columns.
    let columns = (area.width.saturating_sub(NAME_CELLS) / (CELLS + 1)).min(HEAD.len() as u16 - 1);
    let head = Row::new(HEAD.iter().enumerate().map(|(at, name)| aligned(at, (*name).to_owned())));
    let rows = shown.gathered.peers.iter().map(|(name, samples)| {
        let silent =
            shown.report.snapshot.node.peers.iter().any(|peer| peer.name == *name && !peer.reachable);
        let name = if silent { format!("{name} (silent)") } else { name.clone() };
        row(name, samples)
    });
    let figures = (0..columns).map(|_| Constraint::Length(CELLS));
    let widths = [Constraint::Min(NAME_CELLS)].into_iter().chain(figures);
    let table = Table::new(rows, widths)
        .header(head.style(Style::default().add_modifier(Modifier::BOLD)))
        .row_highlight_style(Style::default().add_modifier(Modifier::REVERSED));
    let mut state = TableState::default().with_selected(view.subject.checked_sub(1));
    frame.render_stateful_widget(table, area, &mut state);
}

fn row(name: String, samples: &[Sample]) -> Row<'static> {
    let offered = sum(samples, |it| it.offered_bytes);
    let sent = sum(samples, |it| it.sent_bytes);
    let now = samples.last().copied().unwrap_or_default();
    let repaired = sum(samples, |it| it.hop_repaired + it.segments_repaired + it.segments_coded);
    let cells = [
        name,
        bytes(offered),
        bytes(sent),
        saved(offered, sent, "+"),
        percent(now.loss_ppm as f64 / 1e6),
        sum(samples, |it| it.missed).to_string(),
        milliseconds(now.srtt_microseconds as f64 / 1e6),
        repaired.to_string(),
        bytes(sum(samples, |it| it.reduced_bytes)),
        bytes(sum(samples, |it| it.overheard_bytes)),
        bytes(now.queue_bytes),
    ];
    Row::new(cells.into_iter().enumerate().map(|(at, cell)| aligned(at, cell)))
}

/// Names are left-aligned, figures right-aligned.
fn aligned(column: usize, cell: String) -> Line<'static> {
    if column == 0 { Line::from(cell) } else { Line::from(cell).right_aligned() }
}
