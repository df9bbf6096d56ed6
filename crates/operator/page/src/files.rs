//! What pages share: the script that draws charts, the library that it draws with (uPlot, whose licence
//! stands beside it), the style and the icon.

/// A file of a page: its path, its media type, and what is in it.
pub type File = (&'static str, &'static str, &'static str);

/// The files.
pub const FILES: [File; 5] = [
    ("/icon.svg", "image/svg+xml", include_str!("../assets/icon.svg")),
    ("/page.css", "text/css; charset=utf-8", include_str!("../assets/page.css")),
    ("/charts.js", "text/javascript; charset=utf-8", include_str!("../assets/charts.js")),
    ("/uPlot.css", "text/css; charset=utf-8", include_str!("../assets/uPlot.min.css")),
    ("/uPlot.js", "text/javascript; charset=utf-8", include_str!("../assets/uPlot.iife.min.js")),
];

/// The file that is asked for, of `own` and of those that pages share.
#[must_use]
pub fn asked_for(question: crate::Question<'_>, own: &[File]) -> Option<crate::Answer> {
    let (_, kind, text) = own.iter().chain(&FILES).find(|(path, ..)| *path == question.path)?;
    Some(crate::said(crate::StatusCode::OK, kind, *text))
}
