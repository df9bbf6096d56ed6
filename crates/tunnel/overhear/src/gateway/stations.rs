//! The stations of a gateway.

use super::exchange::News;
use super::narrow::NarrowCache;
use crate::knowledge::{Listener, MAX_STATIONS};
use crate::names::StationId;
use crate::removal::Profile;
use crate::settings::Association;
use re::mac::PacketMac;

/// The most rates with counts; packets of other rates are not counted.
const MAX_RATES: usize = 32;

/// Overhearing of others' packets at one rate, by one station.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OverheardAtRate {
    /// The rate, in bits a second.
    pub rate_bits_per_second: u64,
    /// Packets at this rate that the station's reports cover.
    pub packets: u64,
    /// Packets that it heard.
    pub overheard_packets: u64,
}

/// One station.
#[derive(Debug)]
pub struct Associated {
    pub station: StationId,
    pub association: Association,
    pub listener: Listener,
    /// Number of the first packet that concerns the station.
    pub joined_at: u64,
    pub mac: Option<PacketMac>,
    pub narrow: Option<NarrowCache>,
    pub profile: Profile,
    /// Whether it has not acknowledged a flush.
    pub flush_pending: bool,
    /// Others' packets that it heard since its last report.
    pub heard: u32,
    /// Its overhearing by rate.
    pub by_rate: Vec<OverheardAtRate>,
    /// Slot of the last chunk in its latest packet.
    pub last_slot: Option<u32>,
    /// Overheard packets that its own gateway has not been told; `None` if this is its own gateway.
    pub news: Option<News>,
}

impl Associated {
    /// The counts of a rate.
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

/// All stations, by column.
#[derive(Debug)]
pub struct Stations {
    by_column: [Option<Box<Associated>>; MAX_STATIONS],
    /// Columns by station, plus 1; 0 means none.
    columns: [u8; 256],
    /// Columns with knowledge about an earlier station.
    dirty: u64,
}

impl Stations {
    /// No stations.
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

    /// A station, mutable.
    #[inline]
    pub fn get_mut(&mut self, station: StationId) -> Option<&mut Associated> {
        let column = self.column(station)?;
        self.by_column[usize::from(column)].as_deref_mut()
    }

    /// The station of a column.
    pub fn of_column_mut(&mut self, column: u8) -> Option<&mut Associated> {
        self.by_column.get_mut(usize::from(column))?.as_deref_mut()
    }

    /// The rate of transmissions to a column's station, in bits a second.
    pub fn rate(&self, column: u8) -> Option<u64> {
        let associated = self.by_column.get(usize::from(column))?.as_deref()?;
        Some(associated.listener.rate_bits_per_second)
    }

    /// All stations.
    pub fn iter(&self) -> impl Iterator<Item = &Associated> + Clone {
        self.by_column.iter().filter_map(Option::as_deref)
    }

    /// All stations, mutable.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Associated> {
        self.by_column.iter_mut().filter_map(Option::as_deref_mut)
    }

    /// A column for a new station, and the columns to clean before its use.
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

    /// Removes a station.
    pub fn remove(&mut self, station: StationId) -> Option<Box<Associated>> {
        let column = std::mem::take(&mut self.columns[usize::from(station.0)]).checked_sub(1)?;
        self.dirty |= 1 << column;
        self.by_column[usize::from(column)].take()
    }
}
