//! A connection to another router or an origin that acknowledges every second segment only.
//!
//! A router that reads at once, from another router that also reads at once, acknowledges every segment: each
//! one is the last of a write, and the buffer is empty. Over radio that costs a seventh more packets than one
//! connection over all hops, and an eighth of the throughput (MeshCache's Figure 4, reproduced). Every second
//! segment suffices (RFC 9293, section 3.8.6.3). The system resets the option now and then, so it is set at
//! every read.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// The connection.
#[derive(Debug)]
pub struct DelayedAcknowledgments(TcpStream);

impl DelayedAcknowledgments {
    /// A connection around `stream`.
    #[must_use]
    pub fn new(stream: TcpStream) -> Self {
        let unhurried = DelayedAcknowledgments(stream);
        unhurried.remind();
        unhurried
    }

    fn remind(&self) {
        // A system without the option behaves as before.
        let _ = socket2::SockRef::from(&self.0).set_tcp_quickack(false);
    }
}

impl hyper_util::client::legacy::connect::Connection for DelayedAcknowledgments {
    fn connected(&self) -> hyper_util::client::legacy::connect::Connected {
        self.0.connected()
    }
}

impl AsyncRead for DelayedAcknowledgments {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = Pin::new(&mut self.0).poll_read(cx, buf);
        if buf.filled().len() > before {
            self.remind();
        }
        read
    }
}

impl AsyncWrite for DelayedAcknowledgments {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
