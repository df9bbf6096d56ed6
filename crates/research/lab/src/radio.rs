//! The radio: one thread that carries packets between TAP devices through the emulated air, between pairs
//! over a link and among many over a channel. It also carries frames between simulated radios of Wi-Fi.
//!
//! The air is the sans-IO [`air::Link`] and [`air::Medium`]. This thread supplies the time and the TAPs'
//! packets, and wakes for due events. It sleeps in `ppoll`, whose timeout has the precision of
//! high-resolution timers.
//!
//! The Ethernet header represents a real radio's header. It is removed before the air and added after it. The
//! air thus counts, delays and corrupts the packet's octets, and a link's rate is its rate for packets. A
//! radio with its own header has it in `overhead_bytes`.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use air::LinkConfig;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use tun_rs::SyncDevice;

use crate::channel::{AirChannel, Channel, FRAME_BYTES};
use crate::error::{Doing, LabError};
use crate::ethernet;
use crate::outcome::{LinkCount, StationCount};
use crate::program::timespec;
use crate::wi_fi::Cells;

/// Two TAPs and the air between them.
pub struct AirLink {
    /// The two ends.
    pub taps: [SyncDevice; 2],
    /// Their addresses.
    pub macs: [[u8; 6]; 2],
    /// The links between them, by [`Direction`].
    pub links: [air::Link; 2],
}

/// Direction over a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// From the first end to the second.
    Forward = 0,
    /// From the second end to the first.
    Backward = 1,
}

/// A running radio. Dropping it stops it.
pub struct Radio {
    orders: Sender<Order>,
    wake: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

enum Order {
    Configure { link: usize, direction: Direction, config: Box<LinkConfig>, done: Sender<Result<(), String>> },
    Count(Sender<Counts>),
    Stop,
}

/// Counts of each link, by direction, and of each channel's stations.
#[derive(Debug, Default)]
pub struct Counts {
    /// The links.
    pub links: Vec<[LinkCount; 2]>,
    /// The channels.
    pub channels: Vec<Vec<StationCount>>,
    /// The Wi-Fi networks.
    pub cells: Vec<Vec<StationCount>>,
}

impl Radio {
    /// Starts carrying frames. The TAPs must not block.
    ///
    /// # Errors
    ///
    /// [`LabError::System`] if the thread cannot be started.
    pub fn start(
        links: Vec<AirLink>,
        channels: Vec<AirChannel>,
        cells: Option<Cells>,
    ) -> Result<Self, LabError> {
        let wake = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)
            .doing(|| "make the radio's wake-up".to_owned())?;
        let wake = Arc::new(wake);
        let watched = cells.map(|cells| cells.watch().map(|watch| (cells, watch))).transpose()?;
        let (orders, receiver) = channel();
        let woken = Arc::clone(&wake);
        let thread = std::thread::Builder::new()
            .name("radio".to_owned())
            .spawn(move || carry(links, channels, watched, &receiver, &woken))
            .doing(|| "start the radio".to_owned())?;
        Ok(Self { orders, wake, thread: Some(thread) })
    }

    /// Changes one direction of a link from now on.
    ///
    /// # Errors
    ///
    /// [`LabError::Scenario`] if the air refuses the configuration.
    pub fn configure(&self, link: usize, direction: Direction, config: &LinkConfig) -> Result<(), LabError> {
        let (done, answer) = channel();
        self.order(Order::Configure { link, direction, config: Box::new(config.clone()), done });
        let answer = answer.recv().unwrap_or_else(|_| Err("the radio has stopped".to_owned()));
        answer.map_err(|detail| LabError::Scenario { name: "air".to_owned(), detail })
    }

    /// Counts so far; empty after the radio has stopped.
    pub fn counts(&self) -> Counts {
        let (reply, answer) = channel();
        self.order(Order::Count(reply));
        answer.recv().unwrap_or_default()
    }

    fn order(&self, order: Order) {
        // A stopped radio takes no orders; the caller sees the closed channel.
        let _ = self.orders.send(order);
        let _ = rustix::io::write(&*self.wake, &1_u64.to_ne_bytes());
    }
}

impl Drop for Radio {
    fn drop(&mut self) {
        self.order(Order::Stop);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The radio's thread: orders, deliveries, sleep, arrivals.
fn carry(
    links: Vec<AirLink>,
    channels: Vec<AirChannel>,
    cells: Option<(Cells, OwnedFd)>,
    orders: &Receiver<Order>,
    wake: &OwnedFd,
) {
    let origin = Instant::now();
    let (taps, mut pairs): (Vec<[SyncDevice; 2]>, Vec<Pair>) =
        links.into_iter().map(|link| (link.taps, Pair { macs: link.macs, links: link.links })).unzip();
    let mut watched = vec![PollFd::new(wake, PollFlags::IN)];
    watched.extend(taps.iter().flatten().map(|tap| PollFd::new(tap, PollFlags::IN)));
    let (stations, mut channels): (Vec<Vec<SyncDevice>>, Vec<Channel>) =
        channels.into_iter().map(|it| (it.taps, Channel::new(it.macs, it.medium))).unzip();
    let of_links = watched.len();
    watched.extend(stations.iter().flatten().map(|tap| PollFd::new(tap, PollFlags::IN)));
    let of_channels = watched.len();
    let (mut cells, radios) = cells.unzip();
    watched.extend(radios.iter().map(|radios| PollFd::new(radios, PollFlags::IN)));
    let mut incoming = vec![0; FRAME_BYTES];
    let mut outgoing = Vec::with_capacity(FRAME_BYTES);
    let mut now = origin.elapsed();
    loop {
        while let Ok(order) = orders.try_recv() {
            match order {
                Order::Configure { link, direction, config, done } => {
                    let configured = match pairs.get_mut(link) {
                        Some(pair) => pair.links[direction as usize]
                            .set_config(&config)
                            .map_err(|error| error.to_string()),
                        None => Err(format!("there is no link number {link}")),
                    };
                    let _ = done.send(configured);
                }
                Order::Count(reply) => {
                    let links = pairs.iter().map(Pair::counts).collect();
                    let channels = channels.iter().map(Channel::counts).collect();
                    let cells = cells.as_ref().map(Cells::counts).unwrap_or_default();
                    drop(reply.send(Counts { links, channels, cells }));
                }
                Order::Stop => return,
            }
        }
        for (pair, taps) in pairs.iter_mut().zip(&taps) {
            pair.deliver(now, taps, &mut outgoing);
        }
        for (channel, taps) in channels.iter_mut().zip(&stations) {
            channel.deliver(now, taps, &mut outgoing);
        }
        if let Some(cells) = &mut cells {
            cells.deliver(now);
        }
        let due = pairs.iter().flat_map(|pair| &pair.links).filter_map(air::Link::poll_timeout);
        let due = due.chain(channels.iter().filter_map(Channel::due));
        let due = due.chain(cells.as_ref().and_then(Cells::due)).min();
        match poll(&mut watched, due.map(|due| timespec(due.saturating_sub(now))).as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return tracing::error!("the radio stops: {error}"),
        }
        // One clock reading and one frame from each TAP a turn: in virtual time a system call is the largest
        // cost here, and reading an empty TAP is one.
        now = origin.elapsed();
        if watched[0].revents().contains(PollFlags::IN) {
            let _ = rustix::io::read(wake, &mut [0; 8]);
        }
        let ready = watched[1..of_links].iter().map(|tap| tap.revents().contains(PollFlags::IN));
        let ends = pairs.iter_mut().zip(&taps).flat_map(|(pair, taps)| taps.iter().zip(&mut pair.links));
        for ((tap, link), _) in ends.zip(ready).filter(|(_, ready)| *ready) {
            accept(tap, link, now, &mut incoming);
        }
        let mut ready =
            watched[of_links..of_channels].iter().map(|tap| tap.revents().contains(PollFlags::IN));
        for (channel, taps) in channels.iter_mut().zip(&stations) {
            for (station, tap) in taps.iter().enumerate() {
                if ready.next() == Some(true) {
                    channel.accept(tap, station, now, &mut incoming);
                }
            }
        }
        let is_waiting = watched[of_channels..].iter().any(|radios| !radios.revents().is_empty());
        if let Some(cells) = cells.as_mut().filter(|_| is_waiting) {
            cells.accept(now);
        }
    }
}

/// The air between two TAPs, without the TAPs.
struct Pair {
    macs: [[u8; 6]; 2],
    links: [air::Link; 2],
}

/// Passes a frame from a TAP to the air, if one is present.
fn accept(tap: &SyncDevice, link: &mut air::Link, now: Duration, frame: &mut [u8]) {
    if let Ok(length) = tap.recv(frame)
        && let Some(packet) = ethernet::packet_of(&frame[..length])
    {
        link.send(now, packet.to_vec());
    }
}

impl Pair {
    /// Passes arrivals from the air to the TAPs.
    fn deliver(&mut self, now: Duration, taps: &[SyncDevice; 2], frame: &mut Vec<u8>) {
        let [first, second] = self.macs;
        let ends = [(&taps[1], first, second), (&taps[0], second, first)];
        for (link, (tap, from, to)) in self.links.iter_mut().zip(ends) {
            while let Some(packet) = link.poll_deliver(now) {
                frame.clear();
                ethernet::frame_into(frame, from, to, &packet);
                // A TAP refuses frames only while it is down, which is a loss like any other.
                let _ = tap.send(frame);
            }
        }
    }

    fn counts(&self) -> [LinkCount; 2] {
        self.links.each_ref().map(|link| LinkCount::from(link.counters()))
    }
}
