//! Numbered datagrams from the station to the gateway and back.

use super::field::{Field, GATEWAY, STATION};
use anyhow::Context;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Interval of the datagrams.
const EVERY: Duration = Duration::from_millis(5);
/// Time before a fault, and after its end.
const CALM: Duration = Duration::from_millis(1500);
const TURN: Duration = Duration::from_millis(50);
const PAYLOAD_BYTES: usize = 172;

/// One datagram: when it was sent, and when it arrived.
#[derive(Debug, Clone, Copy)]
struct Passage {
    sent: Duration,
    arrived: Duration,
}

/// What passed around a fault.
#[derive(Debug)]
pub struct Observed {
    /// The fault's time.
    since: Duration,
    ended: Duration,
    there: Vec<Passage>,
    back: Vec<Passage>,
}

impl Observed {
    /// The longest time without an answer.
    pub fn outage(&self) -> Duration {
        let arrivals = self.back.iter().map(|it| it.arrived).filter(|at| *at > self.since);
        let (mut before, mut longest) = (self.since, Duration::ZERO);
        for at in arrivals.chain([self.ended]) {
            longest = longest.max(at.saturating_sub(before));
            before = at;
        }
        longest
    }

    /// The age of the oldest datagram that arrived after the fault.
    pub fn oldest(&self) -> Duration {
        let after = self.there.iter().filter(|it| it.arrived > self.since);
        after.map(|it| it.arrived.saturating_sub(it.sent)).max().unwrap_or_default()
    }
}

/// Sends while `fault` is made, until answers have come for a while, or none for `patience`.
pub fn watch(
    field: &Field,
    gateway: &IpAddr,
    patience: Duration,
    fault: impl FnOnce() -> anyhow::Result<Instant>,
) -> anyhow::Result<Observed> {
    let bind = || UdpSocket::bind("0.0.0.0:0").context("bind a socket");
    let server = field.machine(GATEWAY).enter(bind)??;
    let client = field.machine(STATION).enter(bind)??;
    for socket in [&server, &client] {
        socket.set_read_timeout(Some(TURN))?;
    }
    let to = SocketAddr::new(*gateway, server.local_addr()?.port());
    let (start, over) = (Instant::now(), AtomicBool::new(false));
    let (there, back) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
    let (since, ended) = std::thread::scope(|scope| {
        let over_at_the_end = Over(&over);
        scope.spawn(|| send(&client, to, start, &over));
        scope.spawn(|| receive(&server, start, &over, &there, true));
        scope.spawn(|| receive(&client, start, &over, &back, false));
        std::thread::sleep(CALM);
        let since = fault()?;
        let made = Instant::now();
        let is_back = |back: &Vec<Passage>| back.iter().any(|it| it.sent > made - start);
        while made.elapsed() < patience && !is_back(&back.lock().unwrap_or_else(PoisonError::into_inner)) {
            std::thread::sleep(TURN);
        }
        std::thread::sleep(CALM);
        drop(over_at_the_end);
        Ok::<_, anyhow::Error>((since - start, start.elapsed()))
    })?;
    let taken = |of: Mutex<Vec<Passage>>| of.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(Observed { since, ended, there: taken(there), back: taken(back) })
}

/// Ends the threads, also after an error.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn send(socket: &UdpSocket, to: SocketAddr, start: Instant, over: &AtomicBool) {
    let mut payload = [0; PAYLOAD_BYTES];
    while !over.load(Ordering::Relaxed) {
        let sent = start.elapsed().as_nanos() as u64;
        payload[..8].copy_from_slice(&sent.to_be_bytes());
        // Without a route it is lost.
        let _ = socket.send_to(&payload, to);
        std::thread::sleep(EVERY);
    }
}

fn receive(socket: &UdpSocket, start: Instant, over: &AtomicBool, into: &Mutex<Vec<Passage>>, answers: bool) {
    let mut payload = [0; 2 * PAYLOAD_BYTES];
    while !over.load(Ordering::Relaxed) {
        let Ok((count, from)) = socket.recv_from(&mut payload) else { continue };
        let Some(sent) = payload[..count].first_chunk() else { continue };
        let sent = Duration::from_nanos(u64::from_be_bytes(*sent));
        into.lock().unwrap_or_else(PoisonError::into_inner).push(Passage { sent, arrived: start.elapsed() });
        if answers {
            let _ = socket.send_to(&payload[..count], from);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_is_the_longest_time_without_an_answer_after_the_fault() {
        let at = Duration::from_millis;
        let passage = |sent, arrived| Passage { sent: at(sent), arrived: at(arrived) };
        let back = vec![passage(0, 10), passage(900, 910), passage(1000, 1010), passage(1500, 1510)];
        let there = vec![passage(0, 900), passage(1000, 1500)];
        let observed = Observed { since: at(950), ended: at(1600), there, back };
        assert_eq!(observed.outage(), at(500));
        assert_eq!(observed.oldest(), at(500), "what arrived before the fault does not count");
        let none = Observed { since: at(950), ended: at(2000), there: Vec::new(), back: Vec::new() };
        assert_eq!((none.outage(), none.oldest()), (at(1050), at(0)));
    }
}
