//! Bulk transfers by TCP, timed where they arrive.

use super::ground::{Ground, Way};
use anyhow::Context;
use sim::traffic::Content;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// Length of the content before it repeats: longer than any store that could find it.
const CONTENT_BYTES: usize = 96 << 20;
/// Distance of the original of the repeated half: it is confirmed and still stored.
const REACH_BYTES: usize = 8 << 20;
/// Before this nothing counts: TCP's slow start.
pub(super) const WARM_UP: Duration = Duration::from_millis(500);
/// A transfer without progress for this time has failed.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);
/// Bytes for one system call.
pub(super) const PIECE_BYTES: usize = 256 << 10;

/// Nothing in it repeats.
pub fn incompressible() -> Vec<u8> {
    filled(Content::random(1))
}

/// Half of it repeats.
pub fn half_repeating() -> Vec<u8> {
    filled(Content::repeating(2, 0.5, REACH_BYTES, CONTENT_BYTES))
}

fn filled(mut content: Content) -> Vec<u8> {
    let mut bytes = vec![0; CONTENT_BYTES];
    content.take(&mut bytes);
    bytes
}

/// Gbit/s of `content` from station to gateway by so many connections together, over `time`. Each connection
/// begins at another place in it.
pub fn rate(
    ground: &Ground,
    way: Way,
    content: &[u8],
    connections: usize,
    time: Duration,
) -> anyhow::Result<f64> {
    let address = SocketAddr::new(way.gateway(), 0);
    let listener = ground.gateway.enter(|| TcpListener::bind(address))?.context("listen for TCP")?;
    let address = listener.local_addr()?;
    std::thread::scope(|scope| {
        let receivers: Vec<_> = (0..connections).map(|_| scope.spawn(|| receive(&listener, time))).collect();
        let senders: Vec<_> = (0..connections)
            .map(|index| {
                let begins = content.len() / connections * index;
                let station = &ground.station;
                scope.spawn(move || station.enter(|| send(address, content, begins, WARM_UP + time)))
            })
            .collect();
        let failed = || format!("a transfer by {way} failed");
        for sender in senders {
            let sent = sender.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            sent?.with_context(failed)?;
        }
        let mut rate = 0.0;
        for receiver in receivers {
            let received = receiver.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            rate += received.with_context(failed)?;
        }
        Ok(rate)
    })
}

/// Sends what `begins` there for `time`, and then the end of the stream.
fn send(to: SocketAddr, content: &[u8], begins: usize, time: Duration) -> std::io::Result<()> {
    let mut stream = TcpStream::connect_timeout(&to, PATIENCE)?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let start = Instant::now();
    for piece in content.chunks(PIECE_BYTES).cycle().skip(begins / PIECE_BYTES) {
        if start.elapsed() >= time {
            break;
        }
        match stream.write_all(piece) {
            // the receiver has seen enough
            Err(error) if matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) => break,
            written => written?,
        }
    }
    Ok(())
}

/// Gbit/s of what arrives after the warm-up.
fn receive(listener: &TcpListener, time: Duration) -> std::io::Result<f64> {
    let (mut stream, _) = accepted(listener)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut buffer = vec![0; PIECE_BYTES];
    let start = Instant::now();
    while start.elapsed() < WARM_UP {
        if stream.read(&mut buffer)? == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
    }
    let (start, mut bytes) = (Instant::now(), 0);
    while start.elapsed() < time {
        match stream.read(&mut buffer)? {
            0 => break,
            count => bytes += count,
        }
    }
    Ok(bytes as f64 * 8.0 / 1e9 / start.elapsed().as_secs_f64())
}

/// Accepts within patience, so that a sender that never comes does not hold everything up.
fn accepted(listener: &TcpListener) -> std::io::Result<(TcpStream, SocketAddr)> {
    listener.set_nonblocking(true)?;
    let end = Instant::now() + PATIENCE;
    loop {
        match listener.accept() {
            Err(error) if error.kind() == ErrorKind::WouldBlock && Instant::now() < end => {
                std::thread::sleep(Duration::from_millis(1));
            }
            accepted => {
                let (stream, from) = accepted?;
                stream.set_nonblocking(false)?;
                return Ok((stream, from));
            }
        }
    }
}
