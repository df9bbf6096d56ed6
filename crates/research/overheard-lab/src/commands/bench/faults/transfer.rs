//! One TCP connection from the station to the gateway.

use super::field::{Field, GATEWAY, STATION};
use anyhow::Context;
use sim::traffic::Content;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Time before a fault.
const CALM: Duration = Duration::from_secs(2);
/// Time after it. A stall that has not ended then is waited for.
const AFTER: Duration = Duration::from_secs(8);
const TURN: Duration = Duration::from_millis(50);
const PIECE_BYTES: usize = 64 << 10;

/// The longest time without a byte after a fault, at most `patience`.
pub fn longest_stall(
    field: &Field,
    gateway: &IpAddr,
    patience: Duration,
    fault: impl FnOnce() -> anyhow::Result<Instant>,
) -> anyhow::Result<Duration> {
    let listener = field.machine(GATEWAY).enter(|| TcpListener::bind("0.0.0.0:0"))?.context("listen")?;
    let to = SocketAddr::new(*gateway, listener.local_addr()?.port());
    let sender =
        field.machine(STATION).enter(|| TcpStream::connect_timeout(&to, CALM))?.context("connect")?;
    let (receiver, _) = listener.accept().context("accept")?;
    receiver.set_read_timeout(Some(TURN))?;
    sender.set_write_timeout(Some(TURN))?;
    let over = AtomicBool::new(false);
    // The last byte's time, and the longest time without one since the fault.
    let seen = Mutex::new((Instant::now(), Duration::ZERO));
    let lock = || seen.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let made = std::thread::scope(|scope| {
        scope.spawn(|| send(&sender, &over));
        scope.spawn(|| {
            let mut buffer = vec![0; PIECE_BYTES];
            while !over.load(Ordering::Relaxed) {
                if (&receiver).read(&mut buffer).is_ok_and(|count| count > 0) {
                    let (mut seen, now) = (lock(), Instant::now());
                    *seen = (now, seen.1.max(now - seen.0));
                }
            }
        });
        std::thread::sleep(CALM);
        *lock() = (Instant::now(), Duration::ZERO);
        let made = fault();
        let end = Instant::now() + AFTER;
        while made.is_ok() && (Instant::now() < end || (TURN * 4..patience).contains(&lock().0.elapsed())) {
            std::thread::sleep(TURN);
        }
        over.store(true, Ordering::Relaxed);
        made
    });
    made?;
    let (last, longest) = *lock();
    Ok(longest.max(last.elapsed()).min(patience))
}

fn send(mut stream: &TcpStream, over: &AtomicBool) {
    let (mut content, mut piece) = (Content::random(7), vec![0; PIECE_BYTES]);
    let mut sent = PIECE_BYTES;
    while !over.load(Ordering::Relaxed) {
        if sent == PIECE_BYTES {
            content.take(&mut piece);
            sent = 0;
        }
        sent += stream.write(&piece[sent..]).unwrap_or(0);
    }
}
