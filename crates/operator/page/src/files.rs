//! Files that pages share: the script that draws charts, its library (uPlot, with its licence), the style and
//! the icon.

/// A file of a page: path, media type, and contents.
pub type File = (&'static str, &'static str, &'static str);

/// The files.
pub const FILES: [File; 5] = [
    ("/icon.svg", "image/svg+xml", include_str!("../assets/icon.svg")),
    ("/page.css", "text/css; charset=utf-8", include_str!("../assets/page.css")),
    ("/charts.js", "text/javascript; charset=utf-8", include_str!("../assets/charts.js")),
    ("/uPlot.css", "text/css; charset=utf-8", include_str!("../assets/uPlot.min.css")),
    ("/uPlot.js", "text/javascript; charset=utf-8", include_str!("../assets/uPlot.iife.min.js")),
];

/// The requested file, among `own` and the shared ones.
#[must_use]
pub fn asked_for(question: crate::Question<'_>, own: &[File]) -> Option<crate::Answer> {
    let (_, kind, text) = own.iter().chain(&FILES).find(|(path, ..)| *path == question.path)?;
    Some(crate::said(crate::StatusCode::OK, kind, *text))
}
