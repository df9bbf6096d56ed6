//! Content on its way to a client. If a hop, a neighbour or the origin fails, the rest is requested by range
//! along the next best way. If the rest is unavailable, the client's connection is reset. Content never ends
//! short.

use super::request::Asked;
use super::{Outlet, Proxy};
use crate::semantics::fields::{self, Framing};
use crate::semantics::{range, validators};
use crate::store::{Fill, Next, Object, Reader};
use bytes::Bytes;
use hyper::body::{Body as _, Frame, Incoming};
use hyper::header::{CONTENT_RANGE, HeaderValue, IF_RANGE, RANGE};
use hyper::{Response, StatusCode};
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// Timeout of a silent sender.
const SILENCE: Duration = Duration::from_secs(60);
/// The most consecutive requests for the rest without progress.
const ATTEMPTS: u32 = 4;
/// Longest wait of a partly filled segment for more content.
const SOON: Duration = Duration::from_millis(10);
/// Content without a reader is fetched to its end if at most this many octets are missing.
const FINISHED_ALONE_BYTES: u64 = 16 << 20;

/// Reason why content stopped.
#[derive(Debug, thiserror::Error)]
enum Stopped {
    #[error("the rest of the content cannot be had")]
    NoRest,
    #[error("the content is another one by now")]
    Changed,
}

/// Reads content for one client, and requests missing parts.
pub(super) struct Stream {
    proxy: Arc<Proxy>,
    asked: Arc<Asked>,
    reader: Reader,
    outlet: Outlet,
    attempts: u32,
}

impl Stream {
    pub(super) fn new(proxy: Arc<Proxy>, asked: Arc<Asked>, reader: Reader, outlet: Outlet) -> Self {
        Stream { proxy, asked, reader, outlet, attempts: 0 }
    }

    pub(super) fn into_frames(
        self,
    ) -> impl futures_util::Stream<Item = Result<Frame<Bytes>, Box<dyn std::error::Error + Send + Sync>>>
    {
        futures_util::stream::unfold(Some(self), |stream| async move {
            let mut stream = stream?;
            match stream.next().await {
                Ok(Some(bytes)) => Some((Ok(Frame::data(bytes)), Some(stream))),
                Ok(None) => None,
                Err(stopped) => {
                    stream.outlet.abort();
                    stream.proxy.statistics.cut_off();
                    Some((Err(stopped.into()), None))
                }
            }
        })
    }

    async fn next(&mut self) -> Result<Option<Bytes>, Stopped> {
        loop {
            match self.next_soon().await {
                Next::Bytes(bytes) => {
                    self.attempts = 0;
                    self.outlet.more(self.reader.has_more());
                    return Ok(Some(bytes));
                }
                Next::End => return Ok(None),
                Next::Missing(missing) => {
                    self.attempts += 1;
                    if self.attempts > ATTEMPTS {
                        return Err(Stopped::NoRest);
                    }
                    let object = self.reader.object().clone();
                    let Ok(_turn) = object.mending.try_lock() else {
                        // Another client's stream is requesting the rest: wait for its result.
                        self.attempts -= 1;
                        drop(object.mending.lock().await);
                        continue;
                    };
                    self.proxy.mend(&object, &self.asked, missing, self.attempts).await?;
                }
            }
        }
    }

    /// The next bytes. Written bytes do not wait for them for long.
    async fn next_soon(&mut self) -> Next {
        let mut next = std::pin::pin!(self.reader.next());
        match tokio::time::timeout(SOON, &mut next).await {
            Ok(next) => next,
            Err(_) => {
                self.outlet.more(false);
                next.await
            }
        }
    }
}

impl Proxy {
    /// Requests the `missing` bytes of an object. Returns when they begin to arrive.
    async fn mend(
        self: &Arc<Self>,
        object: &Arc<Object>,
        asked: &Asked,
        missing: Range<u64>,
        attempt: u32,
    ) -> Result<(), Stopped> {
        let stored = object.head();
        let Some(validator) = validators::strong_validator(&stored.headers) else {
            // The content can never be completed; the next client gets it anew.
            self.store.remove(object);
            return Err(Stopped::NoRest);
        };
        let start = object.joins_at(missing.start);
        let wanted = match missing.end {
            u64::MAX => HeaderValue::try_from(format!("bytes={start}-")).map_err(|_| Stopped::NoRest)?,
            end => range::request_for(&(start..end)),
        };
        let mut headers = asked.headers.clone();
        validators::remove_conditions(&mut headers);
        headers.insert(RANGE, wanted);
        headers.insert(IF_RANGE, validator);
        let ways = self.ways(asked).await.unwrap_or_default();
        // Another way each time, because the last one may have failed.
        let turn = (attempt as usize).saturating_sub(1) % ways.len().max(1);
        let mut changed = false;
        for way in ways.iter().cycle().skip(turn).take(ways.len()) {
            let answer = self.upstream.send(*way, hyper::Method::GET, &asked.key, &headers).await;
            let answer = match answer {
                Ok(answer) => answer,
                Err(error) => {
                    self.note_failure(*way, &asked.key);
                    tracing::debug!("{} from {start} by {way:?}: {error}", asked.key.as_str());
                    continue;
                }
            };
            let Some((part, length)) = part_of(&answer) else { continue };
            if !validators::is_same_content(&stored.headers, answer.headers()) {
                // That was one way's answer; another one may still have the content.
                changed = true;
                continue;
            }
            let whole = answer.status() == StatusCode::OK;
            let joins = match length {
                Some(length) => (whole || part.start == start) && object.learn_length(length),
                None => whole,
            };
            if joins {
                self.statistics.mended();
                let ends = if whole { object.length() } else { Some(part.end) };
                if whole {
                    object.comes_in_order();
                }
                let fill = Fill::begin(self.store.clone(), object.clone(), part.start, ends);
                tokio::spawn(pump(self.clone(), answer.into_body(), fill));
                return Ok(());
            }
        }
        if changed {
            self.store.remove(object);
            return Err(Stopped::Changed);
        }
        if attempt < ATTEMPTS {
            tokio::time::sleep(Duration::from_millis(200) * attempt).await;
            return Ok(());
        }
        Err(Stopped::NoRest)
    }
}

/// Range and total length of the answer to a Range: a part, or the whole if ranges are not served. `None` if
/// neither.
fn part_of(answer: &Response<Incoming>) -> Option<(Range<u64>, Option<u64>)> {
    match answer.status() {
        StatusCode::PARTIAL_CONTENT => {
            range::parse_content_range(answer.headers().get(CONTENT_RANGE)?.as_bytes())
        }
        StatusCode::OK => match fields::framing(answer.headers()).ok()? {
            Framing::Length(length) => Some((0..length, Some(length))),
            Framing::Chunked => Some((0..u64::MAX, None)),
            Framing::Close => None,
        },
        _ => None,
    }
}

/// Fills an object from a body. After a break, the object stays if it can be continued.
pub(super) async fn pump(proxy: Arc<Proxy>, mut body: Incoming, mut fill: Fill) {
    let object = fill.object().clone();
    let ended = loop {
        let frame = std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx));
        let frame = match tokio::time::timeout(SILENCE, frame).await {
            Ok(Some(Ok(frame))) => frame,
            Ok(None) => break fill.finish().await.map_err(|broken| broken.to_string()),
            Ok(Some(Err(error))) => break Err(error.to_string()),
            Err(_) => break Err("the sender is silent".to_owned()),
        };
        let Ok(bytes) = frame.into_data() else { continue };
        if let Err(broken) = fill.push(bytes).await {
            break Err(broken.to_string());
        }
        let left = fill.left();
        if fill.readers() == 0 && left.end - left.start > FINISHED_ALONE_BYTES {
            break Err("no reader is left".to_owned());
        }
    };
    if let Err(why) = ended {
        tracing::debug!("{}: {why}", object.key.as_str());
        let resumable =
            validators::strong_validator(&object.head().headers).is_some() && object.length().is_some();
        if !resumable {
            proxy.store.remove(&object);
        }
    }
}
