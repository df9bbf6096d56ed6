//! UDP from station to gateway, counted where it arrives. Datagrams leave one by one, as iperf3 sends them,
//! or in rows for one system call, as QUIC does.
//!
//! The receiver tells how much has come, and the sender has no more than a window under way, as QUIC. Without
//! that, the sender takes the processors from the tunnels, and little arrives by any.

use super::ground::{Ground, Way};
use anyhow::Context;
use io::udp::Udp;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Bytes of a datagram: QUIC's least, which passes every tunnel here.
const DATAGRAM_BYTES: usize = 1200;
/// Datagrams in a row: quinn sends as many at once.
const ROW_DATAGRAMS: usize = 10;
/// Bytes that may be under way: less than the tunnels' and the receiver's queues hold.
const WINDOW_BYTES: u64 = 256 << 10;
/// Bytes under way count as lost after this time without news.
const LOST_AFTER: Duration = Duration::from_millis(20);
/// Before this nothing counts.
const WARM_UP: Duration = Duration::from_millis(200);

/// How datagrams leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leave {
    /// One with each system call.
    Singly,
    /// Several with each.
    InRows,
}

/// Gbit/s of `content` that arrive at the gateway, over `time`.
pub fn rate(ground: &Ground, way: Way, content: &[u8], leave: Leave, time: Duration) -> anyhow::Result<f64> {
    let bind = |address| Udp::bind(address).context("bind a socket");
    let mut to = ground.gateway.enter(|| bind(SocketAddr::new(way.gateway(), 0)))??;
    let mut from = ground.station.enter(|| bind(SocketAddr::from(([0, 0, 0, 0], 0))))??;
    let address = to.local();
    let row_bytes = DATAGRAM_BYTES * if leave == Leave::InRows { ROW_DATAGRAMS } else { 1 };
    std::thread::scope(|scope| {
        let sender = scope.spawn(move || send(&mut from, address, content.chunks_exact(row_bytes), time));
        let received = receive(&mut to, time);
        let sent = sender.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        sent.and(received).with_context(|| format!("datagrams by {way} do not arrive"))
    })
}

/// Sends rows again and again, as the window opens.
fn send<'a>(
    socket: &mut Udp,
    to: SocketAddr,
    rows: impl Iterator<Item = &'a [u8]> + Clone,
    time: Duration,
) -> anyhow::Result<()> {
    let start = Instant::now();
    // Bytes sent; those that have arrived, by the receiver; those that are taken for lost.
    let (mut sent, mut arrived, mut lost, mut news) = (0, 0, 0, start);
    for row in rows.cycle() {
        loop {
            let before = arrived;
            while socket.receive(|received| {
                arrived =
                    received.datagram.first_chunk().map_or(0, |it| u64::from_be_bytes(*it)).max(arrived);
            })? {}
            if arrived > before {
                news = Instant::now();
            } else if news.elapsed() >= LOST_AFTER {
                (lost, news) = (sent - arrived, Instant::now());
            }
            if start.elapsed() >= WARM_UP + time {
                return Ok(());
            }
            if sent.saturating_sub(arrived + lost) < WINDOW_BYTES {
                break;
            }
            await_datagrams(socket)?;
        }
        // what the socket does not take now is lost
        let datagrams: Vec<&[u8]> = row.chunks(DATAGRAM_BYTES).collect();
        let _ = socket.send(to, 0, &datagrams);
        sent += row.len() as u64;
    }
    Ok(())
}

/// Gbit/s of what arrives after the warm-up.
fn receive(socket: &mut Udp, time: Duration) -> anyhow::Result<f64> {
    let start = Instant::now();
    let (mut all, mut uncounted, mut sender) = (0u64, 0, None);
    while start.elapsed() < WARM_UP + time {
        if start.elapsed() < WARM_UP {
            uncounted = all;
        }
        let any = socket.receive(|received| {
            all += received.datagram.len() as u64;
            sender = Some(received.from);
        })?;
        match sender {
            Some(sender) if any => drop(socket.send(sender, 0, &[all.to_be_bytes()])),
            _ => await_datagrams(socket)?,
        }
    }
    Ok((all - uncounted) as f64 * 8.0 / 1e9 / time.as_secs_f64())
}

/// Waits a moment for datagrams.
fn await_datagrams(socket: &Udp) -> anyhow::Result<()> {
    let mut watched = [PollFd::new(socket, PollFlags::IN)];
    poll(&mut watched, Some(&Timespec { tv_sec: 0, tv_nsec: 5_000_000 }))?;
    Ok(())
}
