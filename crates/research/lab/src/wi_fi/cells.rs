//! The air of Wi-Fi networks: an emulated [`Medium`] each, between the kernel's simulated radios.

use std::collections::HashMap;
use std::time::Duration;

use air::medium::{Delivery, Ended, Medium, StationCounters};
use air::{Bitrate, ConfigError};
use rustix::fd::OwnedFd;

use super::daemons::MEGAHERTZ;
use super::kernel::{KernelRadios, LEAST_DBM, Receipt, SentFrame};
use super::{MovedRadios, WiFi};
use crate::error::{Doing, LabError};
use crate::ethernet;
use crate::outcome::StationCount;

/// Where the first address of a frame is, the receiver's (IEEE Std 802.11-2012, 8.2.3).
const ADDRESS: std::ops::Range<usize> = 4..10;

/// The networks of a run, and the simulated radios between which they are the air.
pub struct Cells {
    kernel: KernelRadios,
    cells: Vec<Cell>,
}

/// One network.
struct Cell {
    /// The addresses of the radios, by member.
    radios: Vec<[u8; 6]>,
    medium: Medium,
    /// The frames that wait or are on the air, by their numbers.
    sent: HashMap<u64, Receipt>,
    /// The number of the next frame.
    next: u64,
}

impl Cells {
    /// The air between the radios of these networks, seeded by `seed` of a network's number.
    pub(crate) fn between(
        networks: &[WiFi],
        radios: &MovedRadios,
        seed: impl Fn(u8) -> u64,
    ) -> Result<Self, LabError> {
        let mut addresses = radios.addresses();
        let cell = |(number, network): (u8, &WiFi)| {
            let radios = addresses.by_ref().take(network.members().count()).collect();
            Cell::new(network, radios, seed(number)).map_err(|error| LabError::Scenario {
                name: network.name.clone(),
                detail: format!("the Wi-Fi network `{}`: {error}", network.name),
            })
        };
        let cells = (0_u8..).zip(networks).map(cell).collect::<Result<_, _>>()?;
        Ok(Self { kernel: KernelRadios::register()?, cells })
    }

    /// Readable while frames of radios wait.
    pub(crate) fn watch(&self) -> Result<OwnedFd, LabError> {
        self.kernel.watch().doing(|| "watch the simulated radios".to_owned())
    }

    /// Time of the next possible arrival or end.
    pub(crate) fn due(&self) -> Option<Duration> {
        self.cells.iter().filter_map(|cell| cell.medium.poll_timeout()).min()
    }

    /// Passes a frame from a radio to the air, if one waits.
    pub(crate) fn accept(&mut self, now: Duration) {
        let Some(SentFrame { from, octets, megahertz, receipt }) = self.kernel.receive() else { return };
        let sender = self.cells.iter_mut().find_map(|cell| Some((cell.member(from)?, cell)));
        match sender {
            Some((from, cell)) if megahertz == MEGAHERTZ => cell.send(now, from, octets, receipt),
            // A radio of nobody's, or a scan of another channel.
            _ => self.kernel.conclude(&receipt, false, 0),
        }
    }

    /// Passes arrivals to radios, and the ends of frames to their senders.
    pub(crate) fn deliver(&mut self, now: Duration) {
        for cell in &mut self.cells {
            while let Some(delivery) = cell.medium.poll_deliver(now) {
                cell.hand_over(&self.kernel, delivery);
            }
            while let Some(ended) = cell.medium.poll_ended(now) {
                if let Some(receipt) = cell.sent.remove(&ended.id) {
                    let Ended { acknowledged, tries, .. } = ended;
                    self.kernel.conclude(&receipt, acknowledged, tries);
                }
            }
        }
    }

    /// Counts of each network's members.
    pub(crate) fn counts(&self) -> Vec<Vec<StationCount>> {
        let counts = |cell: &Cell| {
            let counters = (0..cell.radios.len()).map(|member| cell.medium.counters(member));
            let count = |it: &StationCounters| StationCount {
                broadcast: it.broadcast.into(),
                ..StationCount::from(it)
            };
            counters.map(count).collect()
        };
        self.cells.iter().map(counts).collect()
    }
}

impl Cell {
    fn new(network: &WiFi, radios: Vec<[u8; 6]>, seed: u64) -> Result<Self, ConfigError> {
        let medium = Medium::new(&network.listened_medium(), seed)?;
        Ok(Self { radios, medium, sent: HashMap::new(), next: 0 })
    }

    fn member(&self, address: [u8; 6]) -> Option<usize> {
        self.radios.iter().position(|radio| *radio == address)
    }

    fn send(&mut self, now: Duration, from: usize, octets: Vec<u8>, receipt: Receipt) {
        let to =
            octets.get(ADDRESS).and_then(|address| <[u8; 6]>::try_from(address).ok()).unwrap_or_default();
        // A frame to a radio that is not here has a number that no member has: it ends at once.
        let absent = self.radios.len();
        let to = (!ethernet::is_group(to)).then(|| self.member(to).unwrap_or(absent));
        let (id, tries) = (self.next, receipt.tries());
        self.next += 1;
        self.sent.insert(id, receipt);
        self.medium.send_frame(now, from, to, octets, (id, &tries));
    }

    fn hand_over(&self, kernel: &KernelRadios, delivery: Delivery) {
        let Delivery { from, to, frame, rate, .. } = delivery;
        let rate = rate.unwrap_or(Bitrate::from_megabits_per_second(6));
        for member in to {
            let power = self.medium.propagation().power(from, member);
            let dbm = (f64::from(LEAST_DBM) + 10.0 * power.log10()).clamp(-95.0, -20.0) as i32;
            kernel.deliver(self.radios[member], frame.clone(), rate, dbm);
        }
    }
}
