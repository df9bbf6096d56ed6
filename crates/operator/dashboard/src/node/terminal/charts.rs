//! The two charts: offered and sent traffic, and loss on the air.

use crate::figures::{bits_per_second, percent};
use crate::node::sample::Sample;
use ::page::ring::Step;
use ratatui::Frame;
use ratatui::layout::{Alignment, Rect};
use ratatui::style::{Color, Style};
use ratatui::symbols::Marker;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Axis, Block, Chart, Dataset, GraphType};

/// Times of the steps.
#[derive(Clone, Copy)]
pub struct Times<'a> {
    pub step: Step,
    pub uptime_seconds: f64,
    /// End and duration of each step.
    pub times: &'a [(f64, f64)],
}

impl Times<'_> {
    /// Time span of the charts.
    fn span_seconds(&self) -> f64 {
        self.step.span_seconds(self.uptime_seconds).into()
    }

    /// Points of a line, by their age.
    fn line(&self, samples: &[Sample], value: impl Fn(&Sample, f64) -> f64) -> Vec<(f64, f64)> {
        let point = |(sample, (end, seconds)): (&Sample, &(f64, f64))| {
            (end - self.uptime_seconds, value(sample, seconds.max(1e-3)))
        };
        samples.iter().zip(self.times).map(point).collect()
    }
}

/// A line with its name.
struct Named {
    name: &'static str,
    color: Color,
    points: Vec<(f64, f64)>,
}

/// Bits a second offered and sent.
pub fn traffic(frame: &mut Frame<'_>, area: Rect, subject: &str, times: Times<'_>, samples: &[Sample]) {
    let lines = [
        Named {
            name: "offered",
            color: Color::Yellow,
            points: times.line(samples, |it, seconds| 8.0 * it.offered_bytes as f64 / seconds),
        },
        Named {
            name: "sent",
            color: Color::Cyan,
            points: times.line(samples, |it, seconds| 8.0 * it.sent_bytes as f64 / seconds),
        },
    ];
    chart(frame, area, &format!("{subject}: "), times, &lines, bits_per_second);
}

/// The loss rate on the air.
pub fn loss(frame: &mut Frame<'_>, area: Rect, times: Times<'_>, samples: &[Sample]) {
    let points = times.line(samples, |it, _| it.loss_ppm as f64 / 1e6);
    chart(frame, area, "", times, &[Named { name: "loss", color: Color::Red, points }], percent);
}

fn chart(
    frame: &mut Frame<'_>,
    area: Rect,
    title: &str,
    times: Times<'_>,
    lines: &[Named],
    written: impl Fn(f64) -> String,
) {
    let highest = lines.iter().flat_map(|line| &line.points).map(|(_, y)| *y).fold(0.0, f64::max);
    let top = if highest > 0.0 { highest * 1.05 } else { 1.0 };
    let newest = |line: &Named| line.points.last().map_or(0.0, |(_, y)| *y);
    let mut head = vec![Span::raw(format!(" {title}"))];
    for line in lines {
        let said = format!("{} {} ", line.name, written(newest(line)));
        head.push(Span::styled(said, Style::default().fg(line.color)));
    }
    let datasets = lines.iter().map(|line| {
        Dataset::default()
            .marker(Marker::Braille)
            .graph_type(GraphType::Line)
            .style(Style::default().fg(line.color))
            .data(&line.points)
    });
    let span = times.span_seconds();
    let chart = Chart::new(datasets.collect())
        .block(Block::bordered().title(Line::from(head)))
        .x_axis(Axis::default().bounds([-span, 0.0]).labels([ago(span), ago(span / 2.0), "now".to_owned()]))
        .y_axis(
            Axis::default()
                .bounds([0.0, top])
                .labels(["0".to_owned(), written(highest)])
                .labels_alignment(Alignment::Right),
        );
    frame.render_widget(chart, area);
}

/// A time before now, in minutes or in seconds.
fn ago(seconds: f64) -> String {
    if seconds < 60.0 { format!("-{seconds} s") } else { format!("-{} min", seconds / 60.0) }
}
