//! A channel shared by places: the emulated [`air::Medium`] between TAPs, one for each place.
//!
//! The Ethernet header selects the receivers and is then removed: a station's address selects that station, a
//! group's address selects all that hear it. Frames for unknown addresses are dropped.

use std::time::Duration;

use air::Medium;
use tun_rs::SyncDevice;

use crate::ethernet::{self, HEADER_BYTES};
use crate::outcome::{Count, StationCount};

/// The TAPs of one channel and the air between them.
pub struct AirChannel {
    /// By station.
    pub taps: Vec<SyncDevice>,
    /// By station.
    pub macs: Vec<[u8; 6]>,
    /// The medium between them.
    pub medium: Medium,
}

/// The air between TAPs, without the TAPs.
pub(crate) struct Channel {
    macs: Vec<[u8; 6]>,
    medium: Medium,
    link_local: Vec<Count>,
    broadcast: Vec<Count>,
}

impl Channel {
    pub(crate) fn new(macs: Vec<[u8; 6]>, medium: Medium) -> Self {
        let none = vec![Count::default(); macs.len()];
        Self { link_local: none.clone(), broadcast: none, macs, medium }
    }

    /// Time of the next possible arrival.
    pub(crate) fn due(&self) -> Option<Duration> {
        self.medium.poll_timeout()
    }

    /// Passes a frame from a station's TAP to the air, if one is present.
    pub(crate) fn accept(&mut self, tap: &SyncDevice, station: usize, now: Duration, frame: &mut [u8]) {
        let Ok(length) = tap.recv(frame) else { return };
        let frame = &frame[..length];
        let Some(packet) = ethernet::packet_of(frame) else { return };
        let Some(to) = frame.first_chunk::<6>() else { return };
        let to = match ethernet::is_group(*to) {
            true => None,
            false => match self.macs.iter().position(|mac| mac == to) {
                Some(to) => Some(to),
                None => return,
            },
        };
        let counted = match (ethernet::is_link_local(packet), to) {
            (true, _) => Some(&mut self.link_local[station]),
            (false, None) => Some(&mut self.broadcast[station]),
            (false, Some(_)) => None,
        };
        if let Some(counted) = counted {
            counted.packets += 1;
            counted.bytes += packet.len() as u64;
        }
        self.medium.send(now, station, to, packet.to_vec());
    }

    /// Passes arrivals from the air to the TAPs.
    pub(crate) fn deliver(&mut self, now: Duration, taps: &[SyncDevice], frame: &mut Vec<u8>) {
        while let Some(delivery) = self.medium.poll_deliver(now) {
            let from = self.macs[delivery.from];
            for &station in &delivery.to {
                frame.clear();
                let addressee = self.macs[delivery.addressee.unwrap_or(station)];
                let to = ethernet::group_of(&delivery.frame).unwrap_or(addressee);
                ethernet::frame_into(frame, from, to, &delivery.frame);
                // A TAP refuses frames only while it is down, which is a loss like any other.
                let _ = taps[station].send(frame);
            }
        }
    }

    /// Counts of each station.
    pub(crate) fn counts(&self) -> Vec<StationCount> {
        let count = |station: usize| {
            let (link_local, broadcast) = (self.link_local[station], self.broadcast[station]);
            StationCount { link_local, broadcast, ..StationCount::from(self.medium.counters(station)) }
        };
        (0..self.macs.len()).map(count).collect()
    }
}

/// Room for the longest frame of a channel.
pub(crate) const FRAME_BYTES: usize = 65_536 + HEADER_BYTES;
