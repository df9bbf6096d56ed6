//! The page.

use ::page::figures;
use ::page::files::File;
use maud::{DOCTYPE, html};
use webcache::proxy::Report;
use webcache::statistics::Answered;

/// What the page consists of beside itself and what all pages share.
pub(super) const FILES: [File; 2] = [
    ("/page.css", "text/css; charset=utf-8", include_str!("../../assets/cache/page.css")),
    ("/page.js", "text/javascript; charset=utf-8", include_str!("../../assets/cache/page.js")),
];
/// Sites shown.
const SITES: usize = 50;

/// The state for a reader.
pub(super) fn page(report: &Report) -> String {
    let counters = &report.counters;
    let mut sites: Vec<_> = counters.sites.iter().collect();
    sites.sort_by_key(|(_, site)| std::cmp::Reverse(site.bytes.all()));
    let share = |answered: &Answered| figures::share(answered.kept_off() as f64, answered.all() as f64);
    let count: fn(u64) -> String = |count| count.to_string();
    let since_the_start =
        [("requests", &counters.requests, count), ("bytes", &counters.bytes, figures::bytes)];
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                title { "Overheard cache " (report.name) }
                link rel="icon" href="icon.svg" type="image/svg+xml";
                link rel="stylesheet" href="uPlot.css";
                link rel="stylesheet" href="page.css";
                script src="uPlot.js" defer {}
                script src="page.js" defer {}
            }
            body {
                h1 { "Cache " (report.name) }
                p { "Plain HTTP is served from here, from a neighbour, or from its origin. HTTPS passes untouched: nothing of it can be kept, and nothing of it is counted here." }
                p {
                    label { "Time " select id="span" { option value="1" { "the last 10 minutes" } option value="10" { "the last hour" } } }
                    " " span id="state" role="status" {}
                }
                figure { figcaption { "Answered, by where it came from" } div id="answered" {} }
                figure { figcaption { "Requests" } div id="requests" {} }
                h2 { "Since the start" }
                table {
                    tr { th { "answered" } th { "local" } th { "ph-local" } th { "validated" } th { "stale" } th { "remote" } th { "miss" } th { "not kept" } th { "off the gateway" } }
                    @for (name, answered, told) in since_the_start {
                        tr { td { (name) } td { (told(answered.local)) } td { (told(answered.ph_local)) } td { (told(answered.validated)) } td { (told(answered.stale)) } td { (told(answered.remote)) } td { (told(answered.miss)) } td { (told(answered.pass)) } td { (share(answered)) } }
                    }
                }
                h2 { "Kept" }
                p { (report.store.objects) " responses, " (figures::bytes(report.store.memory_bytes)) " in memory, " (figures::bytes(report.store.disk_bytes)) " on disk, " (figures::bytes(report.store.deduplicated_bytes)) " not kept twice." }
                h2 { "Sites" }
                table {
                    tr { th { "site" } th { "requests" } th { "bytes" } th { "off the gateway" } }
                    @for (name, site) in sites.iter().take(SITES) {
                        tr { td { (name) } td { (site.requests.all()) } td { (figures::bytes(site.bytes.all())) } td { (share(&site.bytes)) } }
                    }
                }
                @if !counters.neighbours.is_empty() {
                    h2 { "Neighbours" }
                    table {
                        tr { th { "address" } th { "asked us" } th { "failed us" } }
                        @for (address, neighbour) in &counters.neighbours {
                            tr { td { (address) } td { (neighbour.asked_us) } td { (neighbour.failed) } }
                        }
                    }
                }
            }
        }
    };
    page.into_string()
}
