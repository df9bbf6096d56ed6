//! A client's connection that can be broken off, so that a response cut short is never taken for a whole one.
//!
//! Where neither a length nor chunks frame a response (HTTP/1.0), the end of the connection does; only a reset tells
//! the client that there was more.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// Says that a connection is to end with a reset.
#[derive(Debug, Clone, Default)]
pub struct Abort(Arc<AtomicBool>);

impl Abort {
    /// From now on the connection's end is a reset.
    pub fn set(&self) {
        self.0.store(true, Ordering::Release);
    }
}

/// The connection.
pub struct Abortable {
    stream: TcpStream,
    abort: Abort,
}

impl Abortable {
    /// Around `stream`.
    #[must_use]
    pub fn new(stream: TcpStream, abort: Abort) -> Self {
        Abortable { stream, abort }
    }
}

impl Drop for Abortable {
    fn drop(&mut self) {
        if self.abort.0.load(Ordering::Acquire) {
            let _ = socket2::SockRef::from(&self.stream).set_linger(Some(std::time::Duration::ZERO));
        }
    }
}

impl AsyncRead for Abortable {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Abortable {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.abort.0.load(Ordering::Acquire) {
            // a FIN would look like the end
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
