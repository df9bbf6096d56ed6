//! The gateway's part of a flush (REfactor, section 3.3).

use super::Gateway;
use crate::names::StationId;
use crate::settings::Collisions;
use std::time::Duration;

impl Gateway {
    /// The number of a flush that all stations are to be asked for now.
    /// [`Station::flush`](crate::Station::flush) takes it.
    pub fn poll_flush(&mut self, now: Duration) -> Option<u32> {
        let Collisions::Mark(after) = &self.settings.collisions else { return None };
        if self.flush.begins(after, self.cache.marked_share()) {
            self.stations.iter_mut().for_each(|station| station.flush_pending = true);
            self.end_flush_if_most_have();
        }
        let pending = self.stations.iter().any(|station| station.flush_pending);
        (pending && self.flush.asks(now)).then(|| self.flush.number())
    }

    /// Notes that a station has emptied its cache for flush `number`.
    pub fn record_flush(&mut self, by: StationId, number: u32, _now: Duration) {
        let current = self.flush.number();
        let Some(associated) = self.stations.get_mut(by).filter(|station| station.flush_pending) else {
            return;
        };
        if number != current {
            return;
        }
        associated.flush_pending = false;
        if let Some(narrow) = &mut associated.narrow {
            narrow.clear();
        }
        let column = associated.listener.column;
        // The station may have dropped packets that it received meanwhile.
        associated.joined_at = self.sent.next().0;
        if self.flush.runs() {
            self.end_flush_if_most_have();
        } else {
            self.knowledge.forget_columns(&mut self.cache, 1 << column);
        }
    }

    fn end_flush_if_most_have(&mut self) {
        let (all, pending) = self
            .stations
            .iter()
            .fold((0, 0), |(all, pending), station| (all + 1, pending + usize::from(station.flush_pending)));
        if 2 * pending <= all {
            self.cache.clear();
            self.knowledge.forget_columns(&mut self.cache, u64::MAX);
            self.flush.ends();
        }
    }
}
