//! Waiting: for the socket, the device, a timer, or another thread.
//!
//! Timers go through a timerfd with absolute times in nanoseconds; an emulated link at 100 Mbit/s serves a packet
//! in 120 µs, which a timer of a millisecond's resolution would make nonsense of.

use crate::Error;
use crate::clock::Clock;
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

const SOCKET: u64 = 0;
const DEVICE: u64 = 1;
const TIMER: u64 = 2;
const WAKE: u64 = 3;

/// What there is to do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ready {
    /// Datagrams have arrived.
    pub socket_in: bool,
    /// The socket takes datagrams again.
    pub socket_out: bool,
    /// The device has packets, or is gone.
    pub device_in: bool,
    /// Another thread rang.
    pub woken: bool,
}

/// Rings from another thread.
#[derive(Debug, Clone)]
pub struct Bell(Arc<OwnedFd>);

impl Bell {
    pub(crate) fn new() -> Result<Self, Error> {
        let fd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(Error::call("make an eventfd"))?;
        Ok(Bell(Arc::new(fd)))
    }

    /// Makes the waiting thread look at its requests.
    pub fn ring(&self) {
        // full (2^64 - 2 rings) means that it rings already
        let _ = rustix::io::write(&*self.0, &1u64.to_ne_bytes());
    }

    fn silence(&self) {
        let _ = rustix::io::read(&*self.0, &mut [0u8; 8]);
    }
}

/// The set of things waited for.
pub struct Reactor {
    epoll: OwnedFd,
    timer: OwnedFd,
    bell: Bell,
    clock: Clock,
    armed: Option<Duration>,
    wants_out: bool,
    events: Vec<Event>,
}

impl Reactor {
    /// Waits for `socket`, `device`, timers of `clock` and `bell`.
    pub fn new(socket: impl AsFd, device: impl AsFd, bell: Bell, clock: Clock) -> Result<Self, Error> {
        let what = "set up waiting for packets";
        let epoll = epoll::create(CreateFlags::CLOEXEC).map_err(Error::call(what))?;
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)
            .map_err(Error::call(what))?;
        let add = |fd: BorrowedFd<'_>, token| {
            epoll::add(&epoll, fd, EventData::new_u64(token), EventFlags::IN).map_err(Error::call(what))
        };
        add(socket.as_fd(), SOCKET)?;
        add(device.as_fd(), DEVICE)?;
        add(timer.as_fd(), TIMER)?;
        add(bell.0.as_fd(), WAKE)?;
        Ok(Reactor {
            epoll,
            timer,
            bell,
            clock,
            armed: None,
            wants_out: false,
            events: Vec::with_capacity(8),
        })
    }

    /// Whether to wait until `socket` takes datagrams, too.
    pub fn want_out(&mut self, socket: impl AsFd, wanted: bool) -> Result<(), Error> {
        if wanted != self.wants_out {
            let flags = if wanted { EventFlags::IN | EventFlags::OUT } else { EventFlags::IN };
            epoll::modify(&self.epoll, socket, EventData::new_u64(SOCKET), flags)
                .map_err(Error::call("wait for the socket"))?;
            self.wants_out = wanted;
        }
        Ok(())
    }

    /// Waits until there is something to do, or the clock shows `until`.
    pub fn wait(&mut self, until: Option<Duration>) -> Result<Ready, Error> {
        self.arm(until)?;
        self.events.clear();
        match epoll::wait(&self.epoll, spare_capacity(&mut self.events), None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(Error::call("wait for packets")(error)),
        }
        let mut ready = Ready::default();
        for event in &self.events {
            // An error or hang-up shows as readable: reading it tells what it is.
            let (out, others) = (EventFlags::OUT, EventFlags::IN | EventFlags::ERR | EventFlags::HUP);
            let Event { flags, data } = *event;
            match data.u64() {
                SOCKET => {
                    ready.socket_in = flags.intersects(others);
                    ready.socket_out = flags.intersects(out);
                }
                DEVICE => ready.device_in = true,
                WAKE => {
                    self.bell.silence();
                    ready.woken = true;
                }
                _ => {
                    let _ = rustix::io::read(&self.timer, &mut [0u8; 8]);
                    self.armed = None;
                }
            }
        }
        Ok(ready)
    }

    fn arm(&mut self, until: Option<Duration>) -> Result<(), Error> {
        if until == self.armed {
            return Ok(());
        }
        let never = Timespec { tv_sec: 0, tv_nsec: 0 };
        let at = until.map_or(never, |until| self.clock.monotonic_at(until));
        timerfd_settime(
            &self.timer,
            TimerfdTimerFlags::ABSTIME,
            &Itimerspec { it_interval: never, it_value: at },
        )
        .map_err(Error::call("set a timer"))?;
        self.armed = until;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;

    struct Fixture {
        socket: UdpSocket,
        device: UdpSocket,
        bell: Bell,
        clock: Clock,
        reactor: Reactor,
    }

    fn fixture() -> Fixture {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let device = UdpSocket::bind("127.0.0.1:0").unwrap();
        let (bell, clock) = (Bell::new().unwrap(), Clock::start());
        let reactor = Reactor::new(&socket, &device, bell.clone(), clock).unwrap();
        Fixture { socket, device, bell, clock, reactor }
    }

    #[test]
    fn a_timer_of_a_fraction_of_a_millisecond_is_kept() {
        let mut it = fixture();
        let mut lateness = Vec::new();
        for _ in 0..50 {
            let at = it.clock.now() + Duration::from_micros(200);
            assert_eq!(it.reactor.wait(Some(at)).unwrap(), Ready::default());
            let now = it.clock.now();
            assert!(now >= at, "woken before the time");
            lateness.push(now - at);
        }
        lateness.sort();
        assert!(lateness[10] < Duration::from_micros(500), "usually on time: {lateness:?}");
    }

    #[test]
    fn a_time_that_has_passed_does_not_wait() {
        let mut it = fixture();
        std::thread::sleep(Duration::from_millis(2));
        it.reactor.wait(Some(Duration::from_nanos(1))).unwrap();
        it.reactor.wait(Some(Duration::ZERO)).unwrap();
        assert!(it.clock.now() < Duration::from_secs(5));
    }

    #[test]
    fn each_source_is_told_apart() {
        let mut it = fixture();
        it.bell.ring();
        assert_eq!(it.reactor.wait(None).unwrap(), Ready { woken: true, ..Ready::default() });
        it.device.send_to(b"x", it.socket.local_addr().unwrap()).unwrap();
        assert_eq!(it.reactor.wait(None).unwrap(), Ready { socket_in: true, ..Ready::default() });
        it.socket.recv(&mut [0; 8]).unwrap();
        it.socket.send_to(b"x", it.device.local_addr().unwrap()).unwrap();
        assert_eq!(it.reactor.wait(None).unwrap(), Ready { device_in: true, ..Ready::default() });
        it.device.recv(&mut [0; 8]).unwrap();
        it.reactor.want_out(&it.socket, true).unwrap();
        assert_eq!(it.reactor.wait(None).unwrap(), Ready { socket_out: true, ..Ready::default() });
    }
}
