//! Waits for the socket, the device, a time, or another thread.
//!
//! It uses `ppoll`, whose timeout is in nanoseconds. An emulated link at 100 Mbit/s serves a packet in 120
//! µs, so a resolution of a millisecond is too coarse. For so few descriptors it costs no more than epoll,
//! which would need a timerfd, set and read for every packet. The call is nix's: rustix's structure of a
//! time is another one than musl's on big-endian processors of 32 bits.

use crate::Error;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use rustix::event::{EventfdFlags, eventfd};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

/// The ready sources.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ready {
    /// Datagrams have arrived.
    pub socket_in: bool,
    /// The socket takes datagrams again.
    pub socket_out: bool,
    /// The device has packets, or is gone.
    pub device_in: bool,
    /// The sniffer has frames, or an error of its interface.
    pub heard: bool,
    /// Another thread woke this one.
    pub woken: bool,
}

/// A waker for other threads.
#[derive(Debug, Clone)]
pub struct Waker(Arc<OwnedFd>);

impl Waker {
    /// A silent waker.
    pub fn new() -> Result<Self, Error> {
        let fd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(Error::call("make an eventfd"))?;
        Ok(Waker(Arc::new(fd)))
    }

    /// Makes the waiting thread look at its requests.
    pub fn wake(&self) {
        // A full counter (2^64 - 2 calls) means that the thread is about to wake.
        let _ = rustix::io::write(&*self.0, &1u64.to_ne_bytes());
    }

    fn silence(&self) {
        let _ = rustix::io::read(&*self.0, &mut [0u8; 8]);
    }
}

/// The most sockets that are waited for.
pub const MAX_SOCKETS: usize = node::MAX_LANES;
/// The longest wait. It fits the clocks of 32 bits.
const LONGEST: Duration = Duration::from_secs(1 << 20);

/// The sources to wait for.
#[derive(Debug, Clone, Copy)]
pub struct Reactor<'a, S, D> {
    /// The sockets; those beyond [`MAX_SOCKETS`] are ignored.
    pub sockets: &'a [S],
    /// The index of the socket that is also awaited for writing.
    pub wants_out: Option<usize>,
    /// Whether to wait for input of sockets and device. Otherwise another thread reads them.
    pub reads: bool,
    /// The device.
    pub device: D,
    /// The overhearing socket.
    pub sniffer: Option<BorrowedFd<'a>>,
    /// The waker of other threads.
    pub waker: &'a Waker,
}

impl<S: AsFd, D: AsFd> Reactor<'_, S, D> {
    /// Waits for a ready source, at most `patience`.
    pub fn wait(self, patience: Option<Duration>) -> Result<Ready, Error> {
        let count = self.sockets.len().min(MAX_SOCKETS);
        let waker = self.waker.0.as_fd();
        let mut watched: [PollFd<'_>; 3 + MAX_SOCKETS] =
            std::array::from_fn(|at| match (at.checked_sub(3), self.sniffer) {
                (None, _) if at == 0 && self.reads => PollFd::new(self.device.as_fd(), PollFlags::POLLIN),
                (None, _) if at == 1 => PollFd::new(waker, PollFlags::POLLIN),
                (None, Some(sniffer)) if at == 2 => PollFd::new(sniffer, PollFlags::POLLIN),
                (Some(at), _) if at < count && (self.reads || self.wants_out == Some(at)) => {
                    let mut events = PollFlags::empty();
                    events.set(PollFlags::POLLOUT, self.wants_out == Some(at));
                    events.set(PollFlags::POLLIN, self.reads);
                    PollFd::new(self.sockets[at].as_fd(), events)
                }
                // An unused slot polls for nothing.
                _ => PollFd::new(waker, PollFlags::empty()),
            });
        let patience = patience.map(|patience| TimeSpec::from_duration(patience.min(LONGEST)));
        match ppoll(&mut watched[..3 + count], patience, None) {
            Ok(_) => {}
            Err(Errno::EINTR) => return Ok(Ready::default()),
            Err(error) => return Err(Error::call("wait for packets")(error)),
        }
        let events = |watched: PollFd<'_>| watched.revents().unwrap_or(PollFlags::empty());
        let [device, waker, sniffer, sockets @ ..] = watched.map(events);
        let socket = sockets[..count].iter().fold(PollFlags::empty(), |all, one| all | *one);
        // An error or hang-up counts as readable: the read returns it.
        let readable = PollFlags::POLLIN | PollFlags::POLLERR | PollFlags::POLLHUP;
        let woken = waker.intersects(readable);
        if woken {
            self.waker.silence();
        }
        Ok(Ready {
            socket_in: self.reads && socket.intersects(readable),
            socket_out: socket.intersects(PollFlags::POLLOUT),
            device_in: device.intersects(readable),
            heard: self.sniffer.is_some() && sniffer.intersects(readable),
            woken,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;
    use std::time::Instant;

    struct Fixture {
        socket: UdpSocket,
        device: UdpSocket,
        sniffer: UdpSocket,
        waker: Waker,
    }

    impl Fixture {
        fn new() -> Self {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            let device = UdpSocket::bind("127.0.0.1:0").unwrap();
            let sniffer = UdpSocket::bind("127.0.0.1:0").unwrap();
            Fixture { socket, device, sniffer, waker: Waker::new().unwrap() }
        }

        fn wait(&self, wants_out: bool, patience: Option<Duration>) -> Ready {
            let Fixture { socket, device, sniffer, waker } = self;
            let (sockets, wants_out) = ([socket], wants_out.then_some(0));
            Reactor {
                sockets: &sockets,
                wants_out,
                reads: true,
                device,
                sniffer: Some(sniffer.as_fd()),
                waker,
            }
            .wait(patience)
            .unwrap()
        }
    }

    #[test]
    fn a_fraction_of_a_millisecond_is_kept() {
        let it = Fixture::new();
        let mut lateness = Vec::new();
        for _ in 0..50 {
            let at = Instant::now() + Duration::from_micros(200);
            assert_eq!(it.wait(false, Some(Duration::from_micros(200))), Ready::default());
            let now = Instant::now();
            assert!(now >= at, "woken before the time");
            lateness.push(now - at);
        }
        lateness.sort();
        assert!(lateness[10] < Duration::from_micros(500), "usually on time: {lateness:?}");
    }

    #[test]
    fn no_patience_does_not_wait() {
        assert_eq!(Fixture::new().wait(false, Some(Duration::ZERO)), Ready::default());
    }

    #[test]
    fn each_source_is_told_apart() {
        let it = Fixture::new();
        it.waker.wake();
        assert_eq!(it.wait(false, None), Ready { woken: true, ..Ready::default() });
        it.device.send_to(b"x", it.socket.local_addr().unwrap()).unwrap();
        assert_eq!(it.wait(false, None), Ready { socket_in: true, ..Ready::default() });
        it.socket.recv(&mut [0; 8]).unwrap();
        it.socket.send_to(b"x", it.device.local_addr().unwrap()).unwrap();
        assert_eq!(it.wait(false, None), Ready { device_in: true, ..Ready::default() });
        it.device.recv(&mut [0; 8]).unwrap();
        it.socket.send_to(b"x", it.sniffer.local_addr().unwrap()).unwrap();
        assert_eq!(it.wait(false, None), Ready { heard: true, ..Ready::default() });
        it.sniffer.recv(&mut [0; 8]).unwrap();
        assert_eq!(it.wait(true, None), Ready { socket_out: true, ..Ready::default() });
    }
}
