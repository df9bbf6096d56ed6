//! Copies bytes between two connections, in both directions, until both end or one of them breaks.

use crate::counters::Counters;
use socket2::SockRef;
use std::cell::Cell;
use std::io;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::time::Instant;

/// Bytes buffered for each direction of a connection.
pub const BUFFER_BYTES: usize = 16 << 10;

/// The end of two connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Both directions ended normally.
    InOrder,
    /// One end broke the connection, and the other one is reset.
    Reset,
    /// The connection was idle for too long, and both ends are reset.
    Idle,
}

/// Relays until the end. A break resets both connections, which are in the state of [`breaks`].
pub(crate) async fn relay(
    mut one: TcpStream,
    mut other: TcpStream,
    idle: Duration,
    counters: &Counters,
) -> Ended {
    let moved_at = Cell::new(Instant::now());
    let ended = {
        let ((from_one, to_one), (from_other, to_other)) = (one.split(), other.split());
        let both = async {
            let forward = pump(from_one, to_other, &moved_at, counters);
            let backward = pump(from_other, to_one, &moved_at, counters);
            match tokio::try_join!(forward, backward) {
                Ok(_) => Ended::InOrder,
                Err(_) => Ended::Reset,
            }
        };
        let silence = async {
            while moved_at.get().elapsed() < idle {
                tokio::time::sleep_until(moved_at.get() + idle).await;
            }
        };
        tokio::select! {
            ended = both => ended,
            () = silence => Ended::Idle,
        }
    };
    if ended == Ended::InOrder {
        for stream in [&one, &other] {
            let _ = SockRef::from(stream).set_linger(None);
        }
    }
    ended
}

/// Copies bytes, and then passes on the end of the stream.
async fn pump(
    mut from: ReadHalf<'_>,
    mut to: WriteHalf<'_>,
    moved_at: &Cell<Instant>,
    counters: &Counters,
) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let count = from.read(&mut buffer).await?;
        moved_at.set(Instant::now());
        if count == 0 {
            return to.shutdown().await;
        }
        let mut rest = &buffer[..count];
        while !rest.is_empty() {
            let written = to.write(rest).await?;
            moved_at.set(Instant::now());
            rest = &rest[written..];
        }
        counters.bytes.fetch_add(count as u64, Ordering::Relaxed);
    }
}

/// From now on a close of the socket resets the connection. If this process is killed, a truncated stream
/// must not look complete.
pub(crate) fn breaks(stream: &TcpStream) {
    let _ = SockRef::from(stream).set_linger(Some(Duration::ZERO));
}
