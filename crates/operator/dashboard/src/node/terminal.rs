//! The series as characters, for `overheard top`.
//!
//! [`View`] is the user's choice. [`draw`] renders it on a frame of ratatui's, in a terminal or in a test's
//! memory.

mod charts;
mod stations;
mod streams;
mod summary;

use crate::figures::duration;
use crate::node::gathered::Gathered;
use crate::node::report::Report;
use crate::node::sample::Sample;
use ::page::ring::Step;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Wrap};
use std::time::Duration;

/// Number of lines below which the second row of charts is omitted.
const LINES_FOR_ALL: u16 = 28;

/// The user's choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    /// Length of steps.
    pub step: Step,
    /// The subject of the charts: 0 for the whole node, then the peers in turn.
    pub subject: usize,
    /// Whether the meaning of the columns is in place of the charts.
    pub legend: bool,
}

impl Default for View {
    fn default() -> Self {
        View { step: Step::Second, subject: 0, legend: false }
    }
}

impl View {
    /// Moves to the next or the previous subject.
    pub fn go(&mut self, forwards: bool, peers: usize) {
        let subjects = peers + 1;
        self.subject = (self.subject.min(peers) + if forwards { 1 } else { subjects - 1 }) % subjects;
    }

    /// Switches the length of steps.
    pub fn change_step(&mut self) {
        self.step = match self.step {
            Step::Second => Step::TenSeconds,
            Step::TenSeconds => Step::Second,
        };
    }
}

/// The data of a picture.
#[derive(Debug, Clone, Copy)]
pub struct Shown<'a> {
    /// The node's latest report.
    pub report: &'a Report,
    /// The series.
    pub gathered: &'a Gathered,
    /// Further messages, such as a node without an answer, or a local web cache's line.
    pub notes: &'a [String],
}

impl Shown<'_> {
    /// Name and samples of the charts' subject.
    fn subject(&self, view: View) -> (&str, &[Sample]) {
        match view.subject.checked_sub(1).and_then(|at| self.gathered.peers.get(at)) {
            Some((name, samples)) => (name, samples),
            None => ("all stations", &self.gathered.whole),
        }
    }
}

/// Draws the picture.
pub fn draw(frame: &mut Frame<'_>, view: View, shown: Shown<'_>) {
    let (subject, samples) = shown.subject(view);
    let peers = shown.gathered.peers.len() as u16;
    let lines = frame.area().height;
    let of_table = (peers + 2).min(lines / 3).max(3);
    let of_legend = if lines < LINES_FOR_ALL { 0 } else { lines_of(stations::LEGEND, frame.area().width) };
    let of_streams = streams::told(view, &shown);
    let lines_of_streams = of_streams.as_ref().map_or(0, |text| lines_of(text, frame.area().width).min(3));
    let [head, notes, charts, table, streams, legend, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(shown.notes.len().min(4) as u16),
        Constraint::Fill(1),
        Constraint::Length(of_table),
        Constraint::Length(lines_of_streams),
        Constraint::Length(of_legend.min(4)),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    frame.render_widget(legend_text(), legend);
    frame.render_widget(Paragraph::new(of_streams.unwrap_or_default()).wrap(Wrap { trim: true }), streams);
    frame.render_widget(header(shown.report), head);
    let said: Vec<Line<'_>> =
        shown.notes.iter().map(|note| Line::from(note.as_str()).fg(Color::Yellow)).collect();
    frame.render_widget(Paragraph::new(said), notes);
    stations::table(frame, table, view, &shown);
    frame.render_widget(footer(view), foot);
    if view.legend {
        frame.render_widget(legend_text(), charts);
        return;
    }
    let [left, right] = Layout::horizontal([Constraint::Fill(3), Constraint::Fill(2)]).areas(charts);
    let below = if lines < LINES_FOR_ALL { 0 } else { 2 };
    let halves =
        |area: Rect| Layout::vertical([Constraint::Fill(3), Constraint::Fill(below)]).areas::<2>(area);
    let ([above_left, below_left], [above_right, below_right]) = (halves(left), halves(right));
    let times = charts::Times {
        step: view.step,
        uptime_seconds: shown.gathered.uptime_seconds,
        times: &shown.gathered.times,
    };
    charts::traffic(frame, above_left, subject, times, samples);
    summary::saved(frame, above_right, view, &shown, samples);
    if below > 0 {
        charts::loss(frame, below_left, times, samples);
        summary::repairs(frame, below_right, samples);
    }
}

/// The meaning of the stations' columns.
fn legend_text() -> Paragraph<'static> {
    Paragraph::new(Line::from(stations::LEGEND).fg(Color::Gray)).wrap(Wrap { trim: true })
}

/// Lines of a text that is wrapped at spaces.
fn lines_of(text: &str, width: u16) -> u16 {
    let (mut lines, mut cells) = (1, 0);
    for word in text.split(' ') {
        let longer = if cells == 0 { word.len() } else { cells + 1 + word.len() };
        (lines, cells) = if longer > usize::from(width) { (lines + 1, word.len()) } else { (lines, longer) };
    }
    lines
}

fn header(report: &Report) -> Line<'_> {
    let (about, node) = (&report.about, &report.snapshot.node);
    let uptime = duration(Duration::from_secs_f64(node.uptime_seconds.clamp(0.0, 1e9)));
    Line::from(vec![
        Span::styled(
            format!("{} on {}", about.role, about.interface),
            Style::default().add_modifier(Modifier::BOLD),
        ),
        Span::raw(format!(
            "  mtu {}, up for {uptime}, policy {}, version {}",
            about.mtu, node.policy, about.version
        )),
    ])
}

fn footer(view: View) -> Line<'static> {
    let span = match view.step {
        Step::Second => "the last 10 minutes",
        Step::TenSeconds => "the last hour",
    };
    let key = |key: &'static str| Span::styled(key, Style::default().add_modifier(Modifier::REVERSED));
    Line::from(vec![
        key(" q "),
        Span::raw(" quit  "),
        key(" ↑ ↓ "),
        Span::raw(" station  "),
        key(" t "),
        Span::raw(format!(" time: {span}  ")),
        key(" ? "),
        Span::raw(" columns"),
    ])
}

#[cfg(test)]
mod tests;
