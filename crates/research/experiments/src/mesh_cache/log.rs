//! Recorded requests, of the evaluation data.

use std::collections::HashMap;

use anyhow::Result;

use crate::contents::Contents;

/// One request for something that a cache may keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Request {
    /// The client, counted from 0 in order of first requests.
    pub client: usize,
    /// The object; `None` for uncacheable ones.
    pub object: Option<usize>,
    /// Length of the answer; 0 if the log does not have it.
    pub bytes: u64,
}

/// Requests in order of time.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Log {
    pub requests: Vec<Request>,
    pub clients: usize,
}

/// The logs that there are, by the names of their files, and what the rows call them.
pub(super) const LOGS: [(&str, &str); 2] =
    [("nasa_19950801.tsv", "NASA 1995"), ("apache_logs_semicomplete", "semicomplete 2015")];
/// Longer contents are not cached (the paper's section 2).
const LONGEST_BYTES: u64 = 16 << 20;

impl Log {
    /// Takes a log from where the data is; `None` where it is not.
    pub(super) fn take(contents: &Contents, file: &str) -> Result<Option<Self>> {
        Ok(contents.request_log(file)?.map(|text| Self::parse(&text)))
    }

    /// Reads either of two forms: the combined log format, or columns that tabulators part, the host first,
    /// then, from the fourth on, method, path, status and length. Lines that are neither are left out.
    fn parse(text: &str) -> Self {
        let mut log = Self::default();
        let (mut clients, mut objects) = (HashMap::new(), HashMap::new());
        for line in text.lines() {
            let Some((host, method, path, status, bytes)) = by_columns(line).or_else(|| combined(line))
            else {
                continue;
            };
            if method != "GET" {
                continue;
            }
            let next = clients.len();
            let client = *clients.entry(host).or_insert(next);
            // As in the paper, contents for one request and long ones are not cached.
            let kept = !path.contains(['?', '=']) && !path.contains("cgi") && bytes <= LONGEST_BYTES;
            let kept = kept && ["200", "304"].contains(&status);
            let next = objects.len();
            let object = kept.then(|| *objects.entry(path).or_insert(next));
            log.requests.push(Request { client, object, bytes });
        }
        log.clients = clients.len();
        log
    }
}

/// Host, method, path, status, length.
type Line<'a> = (&'a str, &'a str, &'a str, &'a str, u64);

fn by_columns(line: &str) -> Option<Line<'_>> {
    let mut columns = line.split('\t');
    let host = columns.next()?;
    let mut rest = columns.skip(2);
    let (method, path, status) = (rest.next()?, rest.next()?, rest.next()?);
    Some((host, method, path, status, rest.next()?.parse().unwrap_or(0)))
}

fn combined(line: &str) -> Option<Line<'_>> {
    let (head, rest) = line.split_once('"')?;
    let (request, rest) = rest.split_once('"')?;
    let mut words = request.split(' ');
    let (method, path) = (words.next()?, words.next()?);
    let mut numbers = rest.trim_start().split(' ');
    let status = numbers.next()?;
    Some((head.split(' ').next()?, method, path, status, numbers.next()?.parse().unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_read_and_what_is_never_kept_is_known() {
        let text = "host\tlogname\ttime\tmethod\turl\tresponse\tbytes\treferer\tuseragent\n\
                    a.b\t-\t807256800\tGET\t/x.gif\t200\t1713\t\t\n\
                    c\t-\t807256801\tGET\t/x.gif\t304\t0\n\
                    c\t-\t807256801\tPOST\t/x\t200\t10\n\
                    c\t-\t807256801\tGET\t/cgi-bin/x\t200\t10\n\
                    1.2.3.4 - - [17/May/2015:10:05:03 +0000] \"GET /y HTTP/1.1\" 200 203023 \"http://z/\" \"w\"\n\
                    1.2.3.4 - - [17/May/2015:10:05:03 +0000] \"GET /y?q=1 HTTP/1.1\" 200 -\n";
        let request = |client, object, bytes| Request { client, object, bytes };
        let log = Log::parse(text);
        assert_eq!(
            log.requests,
            [
                request(0, Some(0), 1713),
                request(1, Some(0), 0),
                request(1, None, 10),
                request(2, Some(1), 203_023),
                request(2, None, 0),
            ]
        );
        assert_eq!(log.clients, 3);
    }
}
