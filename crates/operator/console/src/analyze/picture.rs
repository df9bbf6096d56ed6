//! The curve of savings over the size of the store, as SVG.

use anyhow::{anyhow, bail};
use capture::{Report, TunnelReport};
use plotters::prelude::*;
use std::fs;
use std::path::Path;

const SIZE: (u32, u32) = (740, 420);
const TUNNEL: RGBColor = RGBColor(0, 114, 178);
const TO_TAKE: RGBColor = RGBColor(213, 94, 0);
const MAX_MATCH: RGBColor = RGBColor(90, 90, 90);

/// Draws the curve of a capture into a file.
///
/// # Errors
///
/// If there is no curve, or if the file cannot be written.
pub fn draw(svg: &Path, capture: &Path, report: &Report) -> anyhow::Result<()> {
    if report.stores.is_empty() {
        bail!(
            "there is no curve to draw: it needs the method `default`, and a capture that can be read again"
        );
    }
    let name = capture.file_name().unwrap_or_default().to_string_lossy();
    let text = picture(&name, report).map_err(|why| anyhow!("{why}"))?;
    Ok(fs::write(svg, text)?)
}

fn picture(name: &str, report: &Report) -> Result<String, Box<dyn std::error::Error>> {
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let last = report.stores.iter().map(place).fold(1.0, f64::max);
        let lowest = report.stores.iter().map(|point| point.saved_percent).fold(0.0, f64::min);
        let mut chart = ChartBuilder::on(&area)
            .caption(name, ("sans-serif", 16))
            .margin(10)
            .margin_right(20)
            .x_label_area_size(45)
            .y_label_area_size(60)
            .build_cartesian_2d(0.0..last, lowest..100.0)?;
        chart
            .configure_mesh()
            .x_desc("store of each direction, MiB")
            .y_desc("saved, %")
            .x_labels(report.stores.len() + 1)
            .x_label_formatter(&|x| if x.fract() == 0.0 { format!("{}", x.exp2()) } else { String::new() })
            .label_style(("sans-serif", 12))
            .axis_desc_style(("sans-serif", 14))
            .draw()?;
        let points = || report.stores.iter().map(|point| (place(point), point.saved_percent));
        chart
            .draw_series(LineSeries::new(points(), TUNNEL.stroke_width(2)))?
            .label("the tunnel, of packets")
            .legend(|(x, y)| PathElement::new([(x, y), (x + 16, y)], TUNNEL.stroke_width(2)));
        chart.draw_series(points().map(|at| Circle::new(at, 3, TUNNEL.filled())))?;
        if let Some(max_match) = report.method("max-match") {
            let saved = max_match.total.saved_percent;
            chart
                .draw_series(LineSeries::new([(0.0, saved), (last, saved)], MAX_MATCH.stroke_width(1)))?
                .label("max-match, of the payload")
                .legend(|(x, y)| PathElement::new([(x, y), (x + 16, y)], MAX_MATCH.stroke_width(1)));
        }
        if let Some(best) = report.best_tunnel().filter(|_| report.store_mib_to_take.is_some()) {
            let at = (place(best), best.saved_percent);
            chart
                .draw_series([Circle::new(at, 7, TO_TAKE.stroke_width(2))])?
                .label("the size to take")
                .legend(|(x, y)| Circle::new((x + 8, y), 5, TO_TAKE.stroke_width(2)));
        }
        chart.configure_series_labels().border_style(MAX_MATCH).background_style(WHITE).draw()?;
        area.present()?;
    }
    Ok(text)
}

/// The place of a store on the axis: the number of times that 1 MiB is doubled.
fn place(point: &TunnelReport) -> f64 {
    (point.store_mib as f64).log2()
}
