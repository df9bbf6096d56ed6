//! A client's connection, whose end can be a reset and whose last segment can wait for more.
//!
//! Where neither a length nor chunks frame a response (HTTP/1.0), the end of the connection does; only a
//! reset tells the client that there was more. Such a connection ends with a reset unless the response was
//! sent whole: the kernel resets it also when this process is killed.
//!
//! Heads are looked at before they are parsed ([`Heads`]).
//!
//! What passes on segment by segment would be pushed segment by segment, and a client's system acknowledges
//! at once what was pushed: half as many acknowledgments again as for a file that is sent from a disk, over
//! radio a twentieth of the throughput (MeshCache's Figure 4, run again). A response that is known to have
//! more to come is not pushed (MSG_MORE), and its last segment, where that is not full, waits for what comes
//! (TCP_CORK).

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

/// Parts that the system takes at once.
const MOST_PARTS: usize = 64;

/// The connection as a response sees it that leaves by it.
#[derive(Debug, Clone, Default)]
pub struct Outlet(Arc<Told>);

#[derive(Debug, Default)]
struct Told {
    abort: AtomicBool,
    ends_the_content: AtomicBool,
    more: AtomicBool,
    /// The first head that is wrong, by its number.
    wrong: OnceLock<(u64, Wrong)>,
}

impl Outlet {
    /// From now on the connection's end is a reset.
    pub fn abort(&self) {
        self.0.abort.store(true, Ordering::Release);
    }

    /// The connection's end is the end of the content (RFC 9112 section 6.3, rule 8).
    pub fn ends_the_content(&self) {
        self.0.ends_the_content.store(true, Ordering::Release);
    }

    /// Whether more of the response is about to follow what is written next.
    pub fn more(&self, more: bool) {
        self.0.more.store(more, Ordering::Release);
    }

    /// The fault of the connection's request of this number, from 0, or of one before it.
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
    /// Whether the system resets the connection when it is closed.
    resets: bool,
}

impl Connection {
    /// Around `stream`.
    #[must_use]
    pub fn new(stream: TcpStream, told: Outlet) -> Self {
        Connection { stream, told, heads: Heads::default(), corked: false, resets: false }
    }

    /// Before what is written: holds back the last segment if more follows, and lets the system reset the
    /// connection if its end would be the content's.
    fn hold(&mut self) {
        if self.told.is_the_end() && !self.resets {
            self.resets = SockRef::from(&self.stream).set_linger(Some(Duration::ZERO)).is_ok();
        }
        if self.told.has_more() && !self.corked {
            self.corked = SockRef::from(&self.stream).set_tcp_cork(true).is_ok();
        }
    }

    /// Writes what is not to be pushed.
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

    /// After what was written: lets go of it if nothing does. A system does so by itself after 200 ms.
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
            // a FIN would look like the end
            return Poll::Ready(Ok(()));
        }
        if self.resets {
            // all of it was written: the end is the content's
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
