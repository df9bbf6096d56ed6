//! The stations of a gateway.

use super::exchange::News;
use super::narrow::NarrowCache;
use crate::knowledge::{Listener, MAX_STATIONS};
use crate::names::StationId;
use crate::removal::Profile;
use crate::settings::Association;
use re::mac::PacketMac;

/// Rates that a station's overhearing is counted for, the most; of others nothing is counted.
const MAX_RATES: usize = 32;

/// What a station overheard of what others were sent at one rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OverheardAtRate {
    /// The rate, in bits a second.
    pub rate_bits_per_second: u64,
    /// Packets that were sent so, of which the station has said whether it heard them.
    pub packets: u64,
    /// Those that it heard.
    pub overheard_packets: u64,
}

/// One station.
#[derive(Debug)]
pub struct Associated {
    pub station: StationId,
    pub association: Association,
    pub listener: Listener,
    /// What was sent before is not its concern.
    pub joined_at: u64,
    pub mac: Option<PacketMac>,
    pub narrow: Option<NarrowCache>,
    pub profile: Profile,
    /// It has not acknowledged a flush.
    pub flush_pending: bool,
    /// Packets of others that it heard since its last report.
    pub heard: u32,
    /// What it overheard, by rate.
    pub by_rate: Vec<OverheardAtRate>,
    /// Whose chunk its last packet ended with.
    pub last_slot: Option<u32>,
    /// What it overheard and its own gateway was not told yet; none where this is its own.
    pub news: Option<News>,
}

impl Associated {
    /// What was counted for a rate.
    pub fn at_rate(&mut self, rate_bits_per_second: u64) -> Option<&mut OverheardAtRate> {
        let at = self.by_rate.iter().position(|at| at.rate_bits_per_second == rate_bits_per_second);
        let at = at.or_else(|| {
            (self.by_rate.len() < MAX_RATES).then(|| {
                let (packets, overheard_packets) = (0, 0);
                self.by_rate.push(OverheardAtRate { rate_bits_per_second, packets, overheard_packets });
                self.by_rate.len() - 1
            })
        })?;
        self.by_rate.get_mut(at)
    }
}

/// All of them, by column.
#[derive(Debug)]
pub struct Stations {
    by_column: [Option<Box<Associated>>; MAX_STATIONS],
    /// Columns by station, plus 1; 0: none.
    columns: [u8; 256],
    /// Columns whose knowledge is another station's.
    dirty: u64,
}

impl Stations {
    /// None.
    pub fn new() -> Self {
        Stations { by_column: [const { None }; MAX_STATIONS], columns: [0; 256], dirty: 0 }
    }

    /// A station's column.
    #[inline]
    pub fn column(&self, station: StationId) -> Option<u8> {
        self.columns[usize::from(station.0)].checked_sub(1)
    }

    /// A station.
    pub fn get(&self, station: StationId) -> Option<&Associated> {
        self.by_column[usize::from(self.column(station)?)].as_deref()
    }

    /// A station, to be changed.
    #[inline]
    pub fn get_mut(&mut self, station: StationId) -> Option<&mut Associated> {
        let column = self.column(station)?;
        self.by_column[usize::from(column)].as_deref_mut()
    }

    /// The station of a column.
    pub fn of_column_mut(&mut self, column: u8) -> Option<&mut Associated> {
        self.by_column.get_mut(usize::from(column))?.as_deref_mut()
    }

    /// At which rate the station of a column is sent to.
    pub fn rate(&self, column: u8) -> Option<u64> {
        let associated = self.by_column.get(usize::from(column))?.as_deref()?;
        Some(associated.listener.rate_bits_per_second)
    }

    /// All.
    pub fn iter(&self) -> impl Iterator<Item = &Associated> + Clone {
        self.by_column.iter().filter_map(Option::as_deref)
    }

    /// All, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Associated> {
        self.by_column.iter_mut().filter_map(Option::as_deref_mut)
    }

    /// A column for a new station, and which columns must be cleaned before it is used.
    pub fn free_column(&mut self) -> Option<(u8, u64)> {
        let taken = self.iter().fold(0u64, |taken, station| taken | 1 << station.listener.column);
        if taken == u64::MAX {
            return None;
        }
        let clean = !(taken | self.dirty);
        if clean != 0 {
            return Some((clean.trailing_zeros() as u8, 0));
        }
        let cleaned = std::mem::take(&mut self.dirty);
        Some((cleaned.trailing_zeros() as u8, cleaned))
    }

    /// Adds a station in its column.
    pub fn insert(&mut self, associated: Associated) {
        let column = associated.listener.column;
        self.columns[usize::from(associated.station.0)] = column + 1;
        self.by_column[usize::from(column)] = Some(Box::new(associated));
    }

    /// Takes a station out.
    pub fn remove(&mut self, station: StationId) -> Option<Box<Associated>> {
        let column = std::mem::take(&mut self.columns[usize::from(station.0)]).checked_sub(1)?;
        self.dirty |= 1 << column;
        self.by_column[usize::from(column)].take()
    }
}
