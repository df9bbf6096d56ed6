//! Byte ranges: RFC 9110 section 14.

use hyper::header::HeaderValue;
use std::ops::Range;

/// The most ranges in one request. For more, and for overlapping ones, the whole content is a valid answer
/// (RFC 9110 section 14.2), whose cost the client cannot inflate.
const MOST_RANGES: usize = 16;

/// One range of a Range field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteRange {
    /// From `first` to `last`, both inclusive; without `last` to the end.
    From {
        /// The first byte.
        first: u64,
        /// The last byte.
        last: Option<u64>,
    },
    /// The last bytes, by number.
    Suffix(u64),
}

impl ByteRange {
    /// Parses a Range field with one range; `None` if it is ignored (another unit, malformed, several).
    #[must_use]
    pub fn parse(value: &[u8]) -> Option<Self> {
        Self::read(set_of(value)?)
    }

    fn read(spec: &str) -> Option<Self> {
        let (first, last) = spec.trim().split_once('-')?;
        match (first, last) {
            ("", length) => Some(ByteRange::Suffix(number(length)?)),
            (first, "") => Some(ByteRange::From { first: number(first)?, last: None }),
            (first, last) => {
                let (first, last) = (number(first)?, number(last)?);
                (first <= last).then_some(ByteRange::From { first, last: Some(last) })
            }
        }
    }

    /// The bytes of a content of this length; `None` if not satisfiable (416).
    #[must_use]
    pub fn of(self, length: u64) -> Option<Range<u64>> {
        let range = match self {
            ByteRange::From { first, last } => {
                first..last.map_or(length, |last| last.saturating_add(1).min(length))
            }
            ByteRange::Suffix(bytes) => length.saturating_sub(bytes)..length,
        };
        (range.start < range.end).then_some(range)
    }
}

/// The ranges that a Range field requests of a content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// Ranges without overlap, in the requested order.
    Parts(Vec<Range<u64>>),
    /// No range inside the content (416).
    Nothing,
}

/// Parses a Range field for a content of this length; `None` if it is ignored and the whole is the answer
/// (another unit, malformed, too many, overlapping).
#[must_use]
pub fn wanted(value: &[u8], length: u64) -> Option<Wanted> {
    let set = set_of(value)?;
    if set.split(',').count() > MOST_RANGES {
        return None;
    }
    let members = set.split(',').map(str::trim).filter(|member| !member.is_empty());
    let ranges: Vec<ByteRange> = members.map(ByteRange::read).collect::<Option<_>>()?;
    let parts: Vec<Range<u64>> = ranges.iter().filter_map(|range| range.of(length)).collect();
    let overlap = |(at, one): (usize, &Range<u64>)| {
        parts.iter().skip(at + 1).any(|other| one.start < other.end && other.start < one.end)
    };
    match (ranges.is_empty(), parts.is_empty()) {
        (true, _) => None,
        (_, true) => Some(Wanted::Nothing),
        _ if parts.iter().enumerate().any(overlap) => None,
        _ => Some(Wanted::Parts(parts)),
    }
}

/// The range set of a Range field in bytes.
fn set_of(value: &[u8]) -> Option<&str> {
    let (unit, set) = std::str::from_utf8(value).ok()?.trim().split_once('=')?;
    unit.eq_ignore_ascii_case("bytes").then_some(set)
}

/// A Range field for these bytes.
#[must_use]
pub fn request_for(range: &Range<u64>) -> HeaderValue {
    HeaderValue::try_from(format!("bytes={}-{}", range.start, range.end.saturating_sub(1)))
        .unwrap_or(HeaderValue::from_static("bytes=0-"))
}

/// A Content-Range field for a 206.
#[must_use]
pub fn content_range(range: &Range<u64>, length: u64) -> HeaderValue {
    let text = format!("bytes {}-{}/{length}", range.start, range.end.saturating_sub(1));
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static("bytes */*"))
}

/// Parses the Content-Range of a 206: the range, and the total length if known.
#[must_use]
pub fn parse_content_range(value: &[u8]) -> Option<(Range<u64>, Option<u64>)> {
    let (unit, rest) = std::str::from_utf8(value).ok()?.trim().split_once(' ')?;
    let (range, length) = rest.split_once('/').filter(|_| unit.eq_ignore_ascii_case("bytes"))?;
    let (first, last) = range.split_once('-')?;
    let (first, last) = (number(first)?, number(last)?);
    let length = if length == "*" { None } else { Some(number(length)?) };
    let end = last.checked_add(1)?;
    (first <= last && length.is_none_or(|length| end <= length)).then_some((first..end, length))
}

/// Parses digits only, because `parse` would accept a sign.
fn number(text: &str) -> Option<u64> {
    (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_ranges_are_read_and_everything_else_does_not_count() {
        let from = |first, last| Some(ByteRange::From { first, last });
        assert_eq!(ByteRange::parse(b"bytes=0-99"), from(0, Some(99)));
        assert_eq!(ByteRange::parse(b"Bytes = 5-").map(|_| ()), None, "no space before the sign");
        assert_eq!(ByteRange::parse(b"bytes=5-"), from(5, None));
        assert_eq!(ByteRange::parse(b"bytes=-5"), Some(ByteRange::Suffix(5)));
        for bad in [
            "bytes=5-4",
            "bytes=1-2,3-4",
            "items=1-2",
            "bytes=+1-2",
            "bytes=-",
            "bytes=99999999999999999999-",
        ] {
            assert_eq!(ByteRange::parse(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn several_ranges_are_parts_unless_they_are_many_or_overlap() {
        let parts = |parts: &[(u64, u64)]| {
            Some(Wanted::Parts(parts.iter().map(|&(start, end)| start..end).collect()))
        };
        assert_eq!(wanted(b"bytes=5-9", 100), parts(&[(5, 10)]));
        assert_eq!(wanted(b"bytes=90-, 0-0 ,,-5", 100), None, "the last ones overlap");
        assert_eq!(wanted(b"bytes=50-60, 0-0 ,,-5", 100), parts(&[(50, 61), (0, 1), (95, 100)]));
        assert_eq!(wanted(b"bytes=0-1,200-300", 100), parts(&[(0, 2)]), "what is not there is left out");
        assert_eq!(wanted(b"bytes=100-,200-", 100), Some(Wanted::Nothing));
        assert_eq!(wanted(b"bytes=0-1,x", 100), None);
        assert_eq!(wanted(b"bytes=,", 100), None);
        let many: Vec<String> = (0..17).map(|at| format!("{at}-{at}")).collect();
        assert_eq!(wanted(format!("bytes={}", many.join(",")).as_bytes(), 100), None);
        assert!(wanted(format!("bytes={}", many[1..].join(",")).as_bytes(), 100).is_some());
    }

    #[test]
    fn ranges_are_cut_to_the_content() {
        assert_eq!(ByteRange::From { first: 5, last: Some(u64::MAX) }.of(10), Some(5..10));
        assert_eq!(ByteRange::From { first: 10, last: None }.of(10), None);
        assert_eq!(ByteRange::Suffix(20).of(10), Some(0..10));
        assert_eq!(ByteRange::Suffix(0).of(10), None);
        assert_eq!(ByteRange::Suffix(1).of(0), None);
    }

    #[test]
    fn what_an_origin_says_it_sends_must_make_sense() {
        assert_eq!(parse_content_range(b"bytes 5-9/10"), Some((5..10, Some(10))));
        assert_eq!(parse_content_range(b"bytes 5-9/*"), Some((5..10, None)));
        for bad in ["bytes 5-10/10", "bytes 9-5/10", "bytes */10", "bytes 0-18446744073709551615/*"] {
            assert_eq!(parse_content_range(bad.as_bytes()), None, "{bad}");
        }
        assert_eq!(content_range(&(5..10), 10), "bytes 5-9/10");
    }
}
