//! UDP as fast as the sender sends, counted where it arrives. Datagrams leave one by one, as iperf3 sends them,
//! or in rows for one system call, as QUIC does.

use super::ground::{Ground, Way};
use anyhow::Context;
use io::udp::Udp;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Bytes of a datagram: QUIC's least, which passes every tunnel here.
const DATAGRAM_BYTES: usize = 1200;
/// Datagrams in a row: quinn sends as many at once.
const ROW_DATAGRAMS: usize = 10;
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
        let sender = scope.spawn(move || {
            let start = Instant::now();
            for row in content.chunks_exact(row_bytes).cycle() {
                if start.elapsed() >= WARM_UP + time {
                    break;
                }
                // what the socket does not take now is lost, as by any sender without a pace
                if from.send(address, 0, row, DATAGRAM_BYTES).is_err() {
                    std::thread::yield_now();
                }
            }
        });
        let received = receive(&mut to, time);
        sender.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        received.with_context(|| format!("datagrams by {way} do not arrive"))
    })
}

/// Gbit/s of what arrives after the warm-up.
fn receive(socket: &mut Udp, time: Duration) -> anyhow::Result<f64> {
    let start = Instant::now();
    let mut bytes = 0;
    while start.elapsed() < WARM_UP + time {
        let counts = start.elapsed() >= WARM_UP;
        let any = socket.receive(|received| bytes += if counts { received.datagram.len() } else { 0 })?;
        if !any {
            let mut watched = [rustix::event::PollFd::new(socket, rustix::event::PollFlags::IN)];
            let patience = rustix::time::Timespec { tv_sec: 0, tv_nsec: 10_000_000 };
            rustix::event::poll(&mut watched, Some(&patience))?;
        }
    }
    Ok(bytes as f64 * 8.0 / 1e9 / time.as_secs_f64())
}
