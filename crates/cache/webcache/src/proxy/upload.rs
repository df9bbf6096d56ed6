//! The content of a client's request on its way out. It may be long, but not silent.

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, Sleep};

/// Timeout of a silent client in the middle of its request.
const SILENCE: Duration = Duration::from_secs(60);

/// Time of a content's last progress.
#[derive(Debug, Clone)]
pub(super) struct Moved(Arc<Mutex<Instant>>);

impl Default for Moved {
    fn default() -> Self {
        Moved(Arc::new(Mutex::new(Instant::now())))
    }
}

impl Moved {
    fn last(&self) -> Instant {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// The result of `work`, at most `patience` after the last progress.
    pub async fn within<T>(&self, patience: Duration, work: impl Future<Output = T>) -> Option<T> {
        let mut work = std::pin::pin!(work);
        loop {
            let until = self.last() + patience;
            if let Ok(done) = tokio::time::timeout_at(until, work.as_mut()).await {
                return Some(done);
            }
            if self.last() + patience <= Instant::now() {
                return None;
            }
        }
    }
}

/// The content of a request.
pub(super) struct Upload {
    body: Incoming,
    moved: Moved,
    silence: Pin<Box<Sleep>>,
}

impl Upload {
    pub fn new(body: Incoming) -> Self {
        Upload { body, moved: Moved::default(), silence: Box::pin(tokio::time::sleep(SILENCE)) }
    }

    /// Time of its last progress.
    pub fn moved(&self) -> Moved {
        self.moved.clone()
    }
}

impl Body for Upload {
    type Data = Bytes;
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        match Pin::new(&mut self.body).poll_frame(cx) {
            Poll::Ready(frame) => {
                self.moved.note();
                self.silence.as_mut().reset(Instant::now() + SILENCE);
                Poll::Ready(frame.map(|frame| frame.map_err(Into::into)))
            }
            Poll::Pending if self.silence.as_mut().poll(cx).is_ready() => {
                Poll::Ready(Some(Err("the client is silent in the middle of its request".into())))
            }
            Poll::Pending => Poll::Pending,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
