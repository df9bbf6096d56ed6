//! The page, rendered by the cache.

use ::page::figures;
use ::page::files::File;
use maud::{DOCTYPE, html};
use webcache::proxy::Report;
use webcache::statistics::Answered;

/// The page's own files beside the shared ones.
pub(super) const FILES: [File; 1] =
    [("/page.js", "text/javascript; charset=utf-8", include_str!("../../assets/cache/page.js"))];
/// The meanings of [`OUTCOMES`](super::OUTCOMES), which a browser shows at the pointer.
const MEANINGS: [&str; super::OUTCOMES.len()] = [
    "from this router, for content that its own clients requested before",
    "from this router, for content that it stored for another router",
    "from this router, after validation at the origin",
    "from this router, stale",
    "from another router",
    "from the origin; this router stored the content",
    "from the origin; this router did not store the content",
];
/// The meaning of a share.
const OFF_THE_GATEWAY: &str = "the share that did not come from the origin";
/// The most sites shown.
const SITES: usize = 50;

/// The state as HTML.
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
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "Overheard cache " (report.name) }
                link rel="icon" href="icon.svg" type="image/svg+xml";
                link rel="stylesheet" href="uPlot.css";
                link rel="stylesheet" href="page.css";
                script src="uPlot.js" defer {}
                script src="charts.js" defer {}
                script src="page.js" defer {}
            }
            body {
                header {
                    h1 { "Cache " (report.name) }
                    p { "Plain HTTP is served from here, from a neighbour, or from its origin. HTTPS passes untouched: nothing of it can be kept, and nothing of it is counted here." }
                    nav {
                        label { "Time " select id="span" { option value="1" { "the last 10 minutes" } option value="10" { "the last hour" } } }
                        span id="state" role="status" {}
                    }
                }
                main {
                    section class="charts" {
                        figure { figcaption { "Answered, by where it came from" } div id="answered" {} }
                        figure { figcaption { "Requests" } div id="requests" {} }
                    }
                    section {
                        h2 { "Since the start" }
                        table {
                            tr { th { "answered" } @for (outcome, meaning) in super::OUTCOMES.iter().zip(MEANINGS) { th title=(meaning) { (outcome) } } th title=(OFF_THE_GATEWAY) { "off the gateway" } }
                            @for (name, answered, told) in since_the_start {
                                tr { td { (name) } @for (_, count) in answered.by_outcome() { td { (told(count)) } } td { (share(answered)) } }
                            }
                        }
                    }
                    section {
                        h2 { "Kept" }
                        p { (report.store.objects) " responses, " (figures::bytes(report.store.memory_bytes)) " in memory, " (figures::bytes(report.store.disk_bytes)) " on disk, " (figures::bytes(report.store.deduplicated_bytes)) " not kept twice." }
                    }
                    section {
                        h2 { "Sites" }
                        table {
                            tr { th { "site" } th { "requests" } th { "bytes" } th title=(OFF_THE_GATEWAY) { "off the gateway" } }
                            @for (name, site) in sites.iter().take(SITES) {
                                tr { td { (name) } td { (site.requests.all()) } td { (figures::bytes(site.bytes.all())) } td { (share(&site.bytes)) } }
                            }
                        }
                    }
                    @if !counters.neighbours.is_empty() {
                        section {
                            h2 { "Neighbours" }
                            table {
                                tr { th { "address" } th title="requests of the neighbour that this router answered" { "asked us" } th title="failed requests to the neighbour" { "failed us" } }
                                @for (address, neighbour) in &counters.neighbours {
                                    tr { td { (address) } td { (neighbour.asked_us) } td { (neighbour.failed) } }
                                }
                            }
                        }
                    }
                }
                footer {
                    p { "As JSON: " a href="history.json?step=10" { "history.json" } ", " a href="status.json" { "status.json" } ". For Prometheus: " a href="metrics" { "metrics" } "." }
                }
            }
        }
    };
    page.into_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use webcache::statistics::Counters;

    #[test]
    fn a_cache_s_page_names_only_what_is_answered_there() {
        let counters = Counters {
            neighbours: [("192.0.2.1".parse().unwrap(), Default::default())].into(),
            ..Default::default()
        };
        let report =
            Report { version: "0", name: "roof".to_owned(), store: Default::default(), counters, mesh: None };
        let page = page(&report);
        let files = FILES.iter().chain(&::page::files::FILES).map(|(path, ..)| &path[1..]);
        let answered: Vec<&str> = files.chain(["history.json?step=10", "status.json", "metrics"]).collect();
        let named = ["src=\"", "href=\""].map(|attribute| {
            page.split(attribute).skip(1).filter_map(|rest| rest.split('"').next()).collect::<Vec<_>>()
        });
        assert!(named.iter().all(|named| named.len() > 2), "{named:?}");
        for named in named.iter().flatten() {
            assert!(answered.contains(named), "{named}");
        }
        assert!(!page.contains("style=") && !page.contains("onclick"), "the policy forbids it");
        assert!(
            page.contains(&format!("<th title=\"{}\">not kept</th>", MEANINGS[6]))
                && page.contains("<td>192.0.2.1</td>"),
            "{page}"
        );
    }
}
