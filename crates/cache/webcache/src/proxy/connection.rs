//! A client's connection. It can end by a reset, and can delay its last segment.
//!
//! If neither a length nor chunks frame a response (HTTP/1.0), the end of the connection does. Only a reset
//! then shows the client that content is missing. Such a connection ends by a reset unless the response was
//! complete; the kernel also resets it when this process is killed.
//!
//! Heads are checked before they are parsed ([`Heads`]).
//!
//! Content forwarded segment by segment would be pushed segment by segment, and a client acknowledges pushed
//! data at once. That is half as many acknowledgments again as for a file from disk, and costs a twentieth of
//! the throughput over radio (MeshCache's Figure 4, reproduced). A response that is known to continue is
//! therefore not pushed (MSG_MORE). Its last segment waits for more data unless it is full (TCP_CORK).

use crate::semantics::heads::{Heads, Wrong};
use rustix::net::{SendAncillaryBuffer, SendFlags, sendmsg};
use socket2::SockRef;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;

/// The most parts of one system call.
const MOST_PARTS: usize = 64;

/// The connection, as seen by its response.
#[derive(Debug, Clone, Default)]
pub struct Outlet(Arc<Told>);

#[derive(Debug, Default)]
struct Told {
    abort: AtomicBool,
    ends_the_content: AtomicBool,
    more: AtomicBool,
    /// The first malformed head, by its number.
    wrong: OnceLock<(u64, Wrong)>,
}

impl Outlet {
    /// Makes the connection end by a reset.
    pub fn abort(&self) {
        self.0.abort.store(true, Ordering::Release);
    }

    /// Makes the connection's end the content's end (RFC 9112 section 6.3, rule 8).
    pub fn ends_the_content(&self) {
        self.0.ends_the_content.store(true, Ordering::Release);
    }

    /// Sets whether more of the response follows the next write.
    pub fn more(&self, more: bool) {
        self.0.more.store(more, Ordering::Release);
    }

    /// The fault of the connection's request of this number, from 0, or of an earlier one.
    pub fn wrong(&self, request: u64) -> Option<Wrong> {
        self.0.wrong.get().filter(|(first, _)| *first <= request).map(|(_, wrong)| *wrong)
    }

    fn is_aborted(&self) -> bool {
        self.0.abort.load(Ordering::Acquire)
    }

    fn has_more(&self) -> bool {
        self.0.more.load(Ordering::Acquire)
    }

    fn is_the_end(&self) -> bool {
        self.0.ends_the_content.load(Ordering::Acquire)
    }
}

/// The connection.
pub struct Connection {
    stream: TcpStream,
    told: Outlet,
    heads: Heads,
    corked: bool,
    /// Whether closing the connection resets it.
    resets: bool,
}

impl Connection {
    /// A connection around `stream`.
    #[must_use]
    pub fn new(stream: TcpStream, told: Outlet) -> Self {
        Connection { stream, told, heads: Heads::default(), corked: false, resets: false }
    }

    /// Before a write: delays the last segment if more follows, and sets the reset at close if the
    /// connection's end would be the content's.
    fn hold(&mut self) {
        if self.told.is_the_end() && !self.resets {
            self.resets = SockRef::from(&self.stream).set_linger(Some(Duration::ZERO)).is_ok();
        }
        if self.told.has_more() && !self.corked {
            self.corked = SockRef::from(&self.stream).set_tcp_cork(true).is_ok();
        }
    }

    /// Writes data without a push.
    fn poll_write_unpushed(
        &self,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        loop {
            std::task::ready!(self.stream.poll_write_ready(cx))?;
            let sent = self.stream.try_io(Interest::WRITABLE, || {
                let mut nothing_beside = SendAncillaryBuffer::default();
                Ok(sendmsg(&self.stream, parts, &mut nothing_beside, SendFlags::MORE | SendFlags::NOSIGNAL)?)
            });
            match sent {
                Err(full) if full.kind() == io::ErrorKind::WouldBlock => {}
                sent => return Poll::Ready(sent),
            }
        }
    }

    /// After a write: sends the delayed segment if nothing follows. The system does so itself after 200 ms.
    fn let_go(&mut self) {
        if self.corked && !self.told.has_more() {
            self.corked = SockRef::from(&self.stream).set_tcp_cork(false).is_err();
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if self.told.is_aborted() {
            let _ = SockRef::from(&self.stream).set_linger(Some(Duration::ZERO));
        }
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = std::task::ready!(Pin::new(&mut self.stream).poll_read(cx, buf));
        if let Some(wrong) = self.heads.look(buf.filled().get(before..).unwrap_or_default()) {
            let _ = self.told.0.wrong.set(wrong);
        }
        Poll::Ready(read)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.hold();
        if self.told.has_more() {
            return self.poll_write_unpushed(cx, &[io::IoSlice::new(buf)]);
        }
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.hold();
        if self.told.has_more() {
            return self.poll_write_unpushed(cx, &bufs[..bufs.len().min(MOST_PARTS)]);
        }
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.let_go();
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.told.is_aborted() {
            // A FIN would look like the content's end.
            return Poll::Ready(Ok(()));
        }
        if self.resets {
            // The response is complete, so its end is the content's.
            self.resets = SockRef::from(&self.stream).set_linger(None).is_err();
        }
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    #[tokio::test]
    async fn a_segment_waits_while_more_is_to_come_and_no_longer() {
        let door = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let stream = TcpStream::connect(door.local_addr().unwrap()).await.unwrap();
        let (mut client, _) = door.accept().await.unwrap();
        let outlet = Outlet::default();
        let mut connection = Connection::new(stream, outlet.clone());
        let is_held = |connection: &Connection| SockRef::from(&connection.stream).tcp_cork().unwrap();
        connection.write_all(b"head").await.unwrap();
        connection.flush().await.unwrap();
        assert!(!is_held(&connection), "nobody said that more comes");
        outlet.more(true);
        connection.write_all(b"a part").await.unwrap();
        connection.flush().await.unwrap();
        assert!(is_held(&connection));
        outlet.more(false);
        connection.write_all(b"the end").await.unwrap();
        assert!(is_held(&connection), "the end goes with what was held back");
        connection.flush().await.unwrap();
        assert!(!is_held(&connection));
        let mut came = [0; 17];
        client.read_exact(&mut came).await.unwrap();
        assert_eq!(&came, b"heada partthe end");
    }
}
