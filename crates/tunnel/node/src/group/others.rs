//! Groups of other gateways that a member overhears (REfactor, section 3.4).
//!
//! Its own gateway tells it their keys. The station keeps their content in the cache for its own gateway,
//! because all gateways of an operator address chunks alike. It reports overheard packets to its own gateway,
//! and that gateway tells the others.

use super::heard::Untold;
use super::listener::Keys;
use crate::session::transport::OpenError;
use std::collections::VecDeque;
use std::time::Duration;
use wire::group::{HeardOfOther, OtherGroup};

/// Keys of others that are kept; the oldest goes first.
const MAX_OTHERS: usize = 32;

/// Content that is heard under one key.
struct Other {
    keys: Keys,
    untold: Untold,
    /// Its gateway is to be told that this member has the key.
    answers: bool,
}

/// All of them.
#[derive(Default)]
pub(super) struct Others(VecDeque<Other>);

impl Others {
    fn get(&mut self, key_id: u32) -> Option<&mut Other> {
        self.0.iter_mut().find(|other| other.keys.key_id() == key_id)
    }

    /// Another group may be overheard from now on.
    pub fn learn(&mut self, group: &OtherGroup) {
        if let Some(known) = self.get(group.key_id) {
            known.answers = true;
            return;
        }
        if self.0.len() == MAX_OTHERS {
            self.0.pop_front();
        }
        let keys = Keys::new(group.key_id, &group.traffic_key);
        self.0.push_back(Other { keys, untold: Untold::default(), answers: true });
    }

    /// Opens a unit that was overheard, in place: the bytes of its plaintext, and its counter. `None`: it is
    /// of no group known.
    pub fn open(
        &mut self,
        key_id: u32,
        truncated: u32,
        header: &[u8],
        body: &mut [u8],
    ) -> Option<Result<(usize, u64), OpenError>> {
        Some(self.get(key_id)?.keys.open_overheard(truncated, header, body))
    }

    /// Unreported packets under this key.
    pub fn untold(&mut self, key_id: u32) -> Option<&mut Untold> {
        self.get(key_id).map(|other| &mut other.untold)
    }

    /// The ids of the keys.
    pub fn key_ids(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().map(|other| other.keys.key_id())
    }

    /// Whether this is the key of another group.
    pub fn knows(&self, key_id: u32) -> bool {
        self.0.iter().any(|other| other.keys.key_id() == key_id)
    }

    /// Appends the next report, if there is one: of a key that is new, or of what was heard.
    pub fn tell(&mut self, out: &mut Vec<u8>) -> bool {
        let Some(other) = self.0.iter_mut().find(|other| other.answers || !other.untold.is_empty()) else {
            return false;
        };
        HeardOfOther::emit_front(other.keys.key_id(), out);
        other.answers = false;
        other.untold.tell(out);
        true
    }

    /// When a report goes out on its own.
    pub fn tell_at(&self) -> Option<Duration> {
        let at = |other: &Other| {
            if other.answers { Some(Duration::ZERO) } else { other.untold.tell_of_other_at() }
        };
        self.0.iter().filter_map(at).min()
    }
}
