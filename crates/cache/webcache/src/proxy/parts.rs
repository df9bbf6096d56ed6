//! Several parts of a content in one answer: multipart/byteranges (RFC 9110 section 14.6).

use super::Body;
use crate::semantics::range::content_range;
use bytes::Bytes;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Body as _, Frame};
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue};
use std::collections::VecDeque;
use std::ops::Range;
use std::pin::Pin;

/// The parts, each with the lines before it, and the final line.
pub(super) struct Parts {
    parts: VecDeque<(Bytes, Range<u64>)>,
    end: Bytes,
}

impl Parts {
    /// The parts of a content of this length. `headers` become those of the answer.
    pub fn of(ranges: &[Range<u64>], length: u64, headers: &mut HeaderMap) -> Self {
        // The boundary is random, so that no content can contain it on purpose.
        let boundary = format!("{:032x}", rand::random::<u128>());
        let kind =
            headers.get(CONTENT_TYPE).map(|kind| [b"Content-Type: ", kind.as_bytes(), b"\r\n"].concat());
        let kind = kind.unwrap_or_default();
        let lines = |range: &Range<u64>| {
            let mut lines = format!("\r\n--{boundary}\r\n").into_bytes();
            lines.extend_from_slice(&kind);
            lines.extend_from_slice(b"Content-Range: ");
            lines.extend_from_slice(content_range(range, length).as_bytes());
            lines.extend_from_slice(b"\r\n\r\n");
            (Bytes::from(lines), range.clone())
        };
        let parts: VecDeque<(Bytes, Range<u64>)> = ranges.iter().map(lines).collect();
        let end = Bytes::from(format!("\r\n--{boundary}--\r\n"));
        let total: u64 =
            parts.iter().map(|(lines, range)| lines.len() as u64 + range.end - range.start).sum();
        headers.insert(CONTENT_LENGTH, HeaderValue::from(total + end.len() as u64));
        let kind = HeaderValue::try_from(format!("multipart/byteranges; boundary={boundary}"));
        kind.map(|kind| headers.insert(CONTENT_TYPE, kind)).ok();
        Parts { parts, end }
    }

    /// The body of the answer. `part` opens a part after those before it were sent.
    pub fn into_body(self, part: impl FnMut(Range<u64>) -> Body + Send + 'static) -> Body {
        let sending = Sending { parts: self.parts, end: Some(self.end), open: None, part };
        let frames = futures_util::stream::unfold(sending, |mut sending| async move {
            let frame = sending.next().await?;
            Some((frame, sending))
        });
        StreamBody::new(frames).boxed_unsync()
    }
}

struct Sending<F> {
    parts: VecDeque<(Bytes, Range<u64>)>,
    end: Option<Bytes>,
    open: Option<Body>,
    part: F,
}

impl<F: FnMut(Range<u64>) -> Body> Sending<F> {
    async fn next(&mut self) -> Option<Result<Frame<Bytes>, Box<dyn std::error::Error + Send + Sync>>> {
        if let Some(open) = &mut self.open {
            match std::future::poll_fn(|cx| Pin::new(&mut *open).poll_frame(cx)).await {
                Some(frame) => return Some(frame),
                None => self.open = None,
            }
        }
        let lines = match self.parts.pop_front() {
            Some((lines, range)) => {
                self.open = Some((self.part)(range));
                lines
            }
            None => self.end.take()?,
        };
        Some(Ok(Frame::data(lines)))
    }
}
