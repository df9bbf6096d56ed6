//! An attacker that sends datagrams at a rate until it is dropped.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The longest attack.
const LONGEST: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(2);

/// A socket and a destination.
pub type Way = (Arc<UdpSocket>, SocketAddr);

/// A running attack.
pub struct Attack {
    over: Arc<AtomicBool>,
    sent: Arc<AtomicU64>,
    since: Instant,
    thread: Option<JoinHandle<()>>,
}

impl Attack {
    /// Sends this many datagrams a second, by each way in turn. `datagram` makes the datagram of each number.
    pub fn begin(
        per_second: u32,
        ways: Vec<Way>,
        mut datagram: impl FnMut(u64) -> Vec<u8> + Send + 'static,
    ) -> Self {
        let (over, sent, since) =
            (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)), Instant::now());
        let (ends, count) = (Arc::clone(&over), Arc::clone(&sent));
        let thread = std::thread::spawn(move || {
            let mut number = 0;
            while !ends.load(Ordering::Relaxed) && since.elapsed() < LONGEST {
                let due = (since.elapsed().as_secs_f64() * f64::from(per_second)) as u64;
                while number < due {
                    let (socket, to) = &ways[number as usize % ways.len()];
                    let _ = socket.send_to(&datagram(number), to);
                    number += 1;
                }
                count.store(number, Ordering::Relaxed);
                std::thread::sleep(PAUSE);
            }
        });
        Attack { over, sent, since, thread: Some(thread) }
    }

    /// The achieved rate in datagrams a second.
    pub fn rate(&self) -> f64 {
        self.sent.load(Ordering::Relaxed) as f64 / self.since.elapsed().as_secs_f64()
    }
}

impl Drop for Attack {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
