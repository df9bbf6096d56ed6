//! Savings and repairs in the shown time, by mechanism.

use super::{Shown, View};
use crate::figures::{bytes, share};
use crate::node::sample::Sample;
use ratatui::Frame;
use ratatui::layout::{Constraint, Rect};
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Row, Table};

/// Width of a bar that represents all offered bytes.
const BAR_CELLS: f64 = 14.0;

/// The sum of one figure.
pub fn sum(samples: &[Sample], figure: impl Fn(&Sample) -> u64) -> u64 {
    samples.iter().map(figure).sum()
}

/// Bytes saved by each mechanism.
pub fn saved(frame: &mut Frame<'_>, area: Rect, view: View, shown: &Shown<'_>, samples: &[Sample]) {
    let offered = sum(samples, |it| it.offered_bytes) as f64;
    let sent = sum(samples, |it| it.sent_bytes);
    let mechanisms: [(&str, Color, u64); 4] = [
        ("RE", Color::Cyan, sum(samples, |it| it.reduced_bytes)),
        ("headers, text", Color::Magenta, sum(samples, |it| it.shortened_bytes)),
        ("overheard", Color::Green, sum(samples, |it| it.overheard_bytes)),
        ("packing", Color::Yellow, sum(samples, |it| it.packed_bytes)),
    ];
    let row = |name: &str, color: Color, count: String, part: f64| {
        let bar = "▇".repeat((BAR_CELLS * (part / offered.max(1.0)).clamp(0.0, 1.0)).round() as usize);
        Row::new([
            Line::from(name.to_owned()),
            Line::from(count).right_aligned(),
            Line::from(share(part, offered)).right_aligned(),
            Line::from(Span::styled(bar, Style::default().fg(color))),
        ])
    };
    let mut rows: Vec<Row<'_>> = mechanisms
        .iter()
        .map(|(name, color, count)| row(name, *color, bytes(*count), *count as f64))
        .collect();
    let (offered_bytes, rest) = (offered as u64, sum(samples, |it| it.offered_bytes).abs_diff(sent));
    if sent > offered_bytes {
        rows.push(Row::new([Line::from("overhead"), Line::from(bytes(rest)).right_aligned()]));
    } else {
        rows.push(row("not sent", Color::White, bytes(rest), rest as f64));
    }
    if view.subject == 0 {
        let (offered, sent) =
            shown.gathered.air.iter().fold((0.0, 0.0), |(all, of), (a, b)| (all + a, of + b));
        rows.push(Row::new([
            Line::from("air time".to_owned()),
            Line::from(format!("{:.1} s", (offered - sent).max(0.0))).right_aligned(),
            Line::from(share((offered - sent).max(0.0), offered)).right_aligned(),
            Line::from(format!("at {}", shown.gathered.air_rate)),
        ]));
    }
    // A narrow terminal omits the bars.
    let bar = if area.width < 46 { 0 } else { BAR_CELLS as u16 };
    let widths = [Constraint::Min(8), Constraint::Length(8), Constraint::Length(6), Constraint::Length(bar)];
    frame.render_widget(
        Table::new(rows, widths).block(Block::bordered().title(" saved, of what was offered ")),
        area,
    );
}

/// Losses, repairs by mechanism, and packets that were not repaired.
pub fn repairs(frame: &mut Frame<'_>, area: Rect, samples: &[Sample]) {
    let row = |name: &'static str, count: u64| {
        Row::new([Line::from(name), Line::from(count.to_string()).right_aligned()])
    };
    let rows = [
        row("sent again by the hop", sum(samples, |it| it.hop_repaired)),
        row("TCP segments sent again", sum(samples, |it| it.segments_repaired)),
        row("... combined (XBC)", sum(samples, |it| it.segments_coded)),
        row("missed on arrival", sum(samples, |it| it.missed)),
        row("dropped from the queue", sum(samples, |it| it.queue_dropped)),
    ];
    let widths = [Constraint::Fill(1), Constraint::Length(10)];
    frame.render_widget(Table::new(rows, widths).block(Block::bordered().title(" packets ")), area);
}
