//! One chart, as SVG: a curve a series with its intervals, and the paper's values as rings of the same
//! colour. What the colours mean stands beside the chart, where it hides nothing. Places that are names stand
//! below each other, where long ones can be read, with their values beside them.

use std::ops::Range;

use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

use super::{Curve, Panel};
use crate::papers::Stated;
use crate::row::{Row, X};

const CHART_WIDTH: u32 = 740;
const LEGEND_WIDTH: u32 = 280;
const HEIGHT: u32 = 420;
/// Distance of two lines of the legend.
const LINE: i32 = 18;
/// Distance of two names, margin around them, and the largest width of a letter.
const NAME_HEIGHT: u32 = 24;
const AROUND_NAMES: u32 = 80;
const LETTER_WIDTH: usize = 7;
/// Colours that differ for most eyes (Okabe and Ito's, and two more).
const COLOURS: [RGBColor; 10] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(90, 90, 90),
    RGBColor(120, 60, 20),
    RGBColor(150, 150, 0),
    RGBColor(0, 0, 0),
];

/// Draws a panel. None when it cannot be drawn, which leaves the reader its table.
pub fn svg(panel: &Panel<'_>, x_label: &str) -> Option<String> {
    let mut text = String::new();
    let lines = |names: Vec<String>| names.len().max(panel.curves.len() + 1) as u32;
    let height = panel.names().map_or(HEIGHT, |names| AROUND_NAMES + NAME_HEIGHT * lines(names));
    {
        let area =
            SVGBackend::with_string(&mut text, (CHART_WIDTH + LEGEND_WIDTH, height)).into_drawing_area();
        area.fill(&WHITE).ok()?;
        let (left, right) = area.split_horizontally(CHART_WIDTH);
        draw(&left, panel, x_label).ok()?;
        legend(&right, panel).ok()?;
        area.present().ok()?;
    }
    // A number that changes from run to run would make equal reports differ.
    Some(text)
}

type Failure = Box<dyn std::error::Error>;
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

fn curves<'a>(panel: &'a Panel<'a>) -> impl Iterator<Item = (&'a Curve<'a>, RGBColor)> {
    panel.curves.iter().zip(COLOURS.into_iter().cycle())
}

fn draw(area: &Area<'_>, panel: &Panel<'_>, x_label: &str) -> Result<(), Failure> {
    match panel.names() {
        Some(names) => draw_named(area, panel, x_label, &names),
        None => draw_curves(area, panel, x_label),
    }
}

/// Numbers from left to right, values upwards.
fn draw_curves(area: &Area<'_>, panel: &Panel<'_>, x_label: &str) -> Result<(), Failure> {
    let place = |row: &Row| if let X::Number(number) = row.x { number } else { f64::NAN };
    let (places, values) = ranges(panel, &place).ok_or("nothing to draw")?;
    let mut chart = ChartBuilder::on(area)
        .margin(10)
        .margin_right(20)
        .x_label_area_size(45)
        .y_label_area_size(60)
        .build_cartesian_2d(places, values)?;
    chart
        .configure_mesh()
        .x_desc(x_label)
        .y_desc(panel.label())
        .x_labels(11)
        .x_label_formatter(&|x| format!("{x}"))
        .light_line_style(WHITE)
        .label_style(("sans-serif", 12))
        .axis_desc_style(("sans-serif", 14))
        .draw()?;
    let at = |row: &Row, value: f64| (place(row), value);
    for (curve, colour) in curves(panel) {
        let points = curve.rows.iter().filter_map(|row| Some(at(row, row.value?)));
        chart.draw_series(LineSeries::new(points, colour.stroke_width(2)))?;
    }
    draw_values(&mut chart, panel, 2, at)
}

/// Names below each other, values to the right.
fn draw_named(area: &Area<'_>, panel: &Panel<'_>, x_label: &str, names: &[String]) -> Result<(), Failure> {
    // the first on top
    let line = |name: &String| names.iter().rev().position(|other| other == name).unwrap_or(0) as f64;
    let place = |row: &Row| if let X::Name(name) = &row.x { line(name) } else { f64::NAN };
    let (places, values) = ranges(panel, &place).ok_or("nothing to draw")?;
    let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let names_width = ((longest * LETTER_WIDTH + 40) as u32).min(CHART_WIDTH / 2);
    let mut chart = ChartBuilder::on(area)
        .margin(10)
        .margin_right(20)
        .x_label_area_size(45)
        .y_label_area_size(names_width)
        .build_cartesian_2d(values, places)?;
    let label = |y: &f64| match names.iter().rev().nth(*y as usize) {
        Some(name) if y.fract() == 0.0 && *y >= 0.0 => name.clone(),
        _ => String::new(),
    };
    chart
        .configure_mesh()
        .x_desc(panel.label())
        .y_desc(x_label)
        .y_labels(2 * names.len() + 1)
        .y_label_formatter(&label)
        .light_line_style(WHITE)
        .label_style(("sans-serif", 12))
        .axis_desc_style(("sans-serif", 14))
        .draw()?;
    draw_values(&mut chart, panel, 4, |row, value| (value, place(row)))
}

/// Points with their intervals, and the paper's values, at the positions that `at` gives.
fn draw_values(
    chart: &mut Chart<'_, '_>,
    panel: &Panel<'_>,
    radius: u32,
    at: impl Fn(&Row, f64) -> (f64, f64),
) -> Result<(), Failure> {
    for (curve, colour) in curves(panel) {
        let points = curve.rows.iter().filter_map(|row| Some(at(row, row.value?)));
        chart.draw_series(points.map(|point| Circle::new(point, radius, colour.filled())))?;
        let strokes = curve.rows.iter().filter_map(|row| Some([at(row, row.low?), at(row, row.high?)]));
        chart.draw_series(strokes.map(|ends| PathElement::new(ends, colour.mix(0.5))))?;
        let paper = curve.rows.iter().filter_map(|row| Some(at(row, row.paper?.get())));
        chart.draw_series(paper.map(|point| Circle::new(point, 6, colour.stroke_width(2))))?;
    }
    Ok(())
}

/// Colours of the series, and the meaning of rings.
fn legend(area: &Area<'_>, panel: &Panel<'_>) -> Result<(), Failure> {
    let font = ("sans-serif", 12).into_font();
    let mut y = LINE;
    for (curve, colour) in curves(panel) {
        area.draw(&PathElement::new([(4, y), (20, y)], colour.stroke_width(3)))?;
        area.draw(&Text::new(curve.name, (28, y - 6), font.clone()))?;
        y += LINE;
    }
    if panel.has_the_papers() {
        area.draw(&Circle::new((12, y), 6, BLACK.stroke_width(2)))?;
        area.draw(&Text::new("in the paper", (28, y - 6), font))?;
    }
    Ok(())
}

/// What the axes must span, of places and of values, with a little air; values begin at 0.
fn ranges(panel: &Panel<'_>, place: &impl Fn(&Row) -> f64) -> Option<(Range<f64>, Range<f64>)> {
    let rows = || panel.curves.iter().flat_map(|curve| &curve.rows);
    let places: Vec<f64> = rows().map(|row| place(row)).collect();
    let left = places.iter().copied().reduce(f64::min)?;
    let right = places.iter().copied().reduce(f64::max)?;
    let values = || rows().flat_map(|row| [row.value, row.paper.map(Stated::get)]).flatten();
    // An interval far above everything else must not flatten the curves.
    let top = values().reduce(f64::max)?.max(1e-9) * 1.15;
    let bottom = values().reduce(f64::min)?.min(0.0) * 1.15;
    let air = ((right - left) * 0.04).max(0.5);
    Some((left - air..right + air, bottom..top))
}
