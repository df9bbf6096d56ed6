//! 20 flows of UDP at a fixed rate, and how many of their datagrams are lost.

use super::field::{Field, GATEWAY, STATION};
use anyhow::Context;
use rustix::net::sockopt::set_socket_recv_buffer_size_force;
use sim::traffic::Content;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const FLOWS: usize = 20;
const DATAGRAM_BYTES: usize = 1200;
/// Duration of the flows. The change comes in the middle.
const TIME: Duration = Duration::from_secs(3);
/// The sender's interval: each time it sends what is due.
const TICK: Duration = Duration::from_millis(1);
/// The wait for the last datagrams.
const LAST: Duration = Duration::from_millis(500);
const BUFFER_BYTES: usize = 16 << 20;

/// The number of lost datagrams, while `change` is made.
pub fn lost(
    field: &Field,
    gateway: &IpAddr,
    megabits: u64,
    change: impl FnOnce() -> anyhow::Result<()>,
) -> anyhow::Result<f64> {
    let bind = || UdpSocket::bind("0.0.0.0:0").context("bind a socket");
    let server = field.machine(GATEWAY).enter(bind)??;
    // A receiver that waits for a processor is not to lose anything.
    set_socket_recv_buffer_size_force(&server, BUFFER_BYTES)?;
    server.set_read_timeout(Some(LAST))?;
    let to = SocketAddr::new(*gateway, server.local_addr()?.port());
    let clients =
        field.machine(STATION).enter(|| (0..FLOWS).map(|_| bind()).collect::<Result<Vec<_>, _>>())??;
    let over = AtomicBool::new(false);
    let (sent, received, made) = std::thread::scope(|scope| {
        let sender = scope.spawn(|| send(&clients, to, megabits, &over));
        let receiver = scope.spawn(|| {
            let (mut received, mut buffer) = (0_u64, [0; 2 * DATAGRAM_BYTES]);
            loop {
                match server.recv_from(&mut buffer) {
                    Ok(_) => received += 1,
                    Err(_) if over.load(Ordering::Relaxed) => return received,
                    Err(_) => {}
                }
            }
        });
        std::thread::sleep(TIME / 2);
        let made = change();
        std::thread::sleep(TIME / 2);
        over.store(true, Ordering::Relaxed);
        (sender.join(), receiver.join(), made)
    });
    made?;
    let count = |of: std::thread::Result<u64>| of.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    Ok(count(sent).saturating_sub(count(received)) as f64)
}

/// Sends at this rate. Returns the number of datagrams that the kernel took.
fn send(sockets: &[UdpSocket], to: SocketAddr, megabits: u64, over: &AtomicBool) -> u64 {
    let per_second = megabits as f64 * 1e6 / 8.0 / DATAGRAM_BYTES as f64;
    let (mut content, mut payload) = (Content::random(3), [0; DATAGRAM_BYTES]);
    let (start, mut due, mut sent) = (Instant::now(), 0_u64, 0);
    while !over.load(Ordering::Relaxed) {
        let now_due = (start.elapsed().as_secs_f64() * per_second) as u64;
        // A sender that was held up does not send everything at once.
        let burst = now_due.saturating_sub(due).min((per_second * 0.005) as u64 + 1);
        for number in 0..burst {
            content.take(&mut payload[..64]);
            let socket = &sockets[(due + number) as usize % sockets.len()];
            sent += u64::from(socket.send_to(&payload, to).is_ok());
        }
        due = now_due;
        std::thread::sleep(TICK);
    }
    sent
}
