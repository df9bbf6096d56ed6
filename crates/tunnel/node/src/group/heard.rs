//! Packets that a listener heard and has not reported yet.

use std::time::Duration;
use wire::group::{Heard, MAX_HEARD_BYTES};

/// Numbers that one report speaks of.
const SPAN: u64 = MAX_HEARD_BYTES as u64 * 8;
/// After so many packets of its own group a station says on its own what it heard,
const TELL_AFTER_PACKETS: u32 = 192;
/// ... or after so long. Any other message of the station takes a report along. Only a silent station lets
/// reports wait, and its next download begins with a request.
const TELL_AFTER: Duration = Duration::from_secs(1);
/// Of another group it says so sooner: others wait for that, who would send packets for several together,
const TELL_OF_OTHER_AFTER_PACKETS: u32 = 64;
/// ... and so long.
const TELL_OF_OTHER_AFTER: Duration = Duration::from_millis(100);

/// The numbers heard since the last report.
#[derive(Debug, Default)]
pub(crate) struct Untold {
    /// One past the newest number heard.
    next: u64,
    /// From here on nothing was told.
    told_until: u64,
    /// Bit `n` of them all is number `next - 1 - n`.
    bitmap: [u8; MAX_HEARD_BYTES],
    count: u32,
    since: Option<Duration>,
}

impl Untold {
    /// The full number nearest to what comes next, of which these are the low bits.
    pub fn widen(&self, truncated: u32) -> u64 {
        wire::number::widen(truncated.into(), wire::number::SEQUENCE_BITS, self.next)
    }

    /// Notes that `number` was heard. Old and reported numbers are skipped.
    pub fn note(&mut self, now: Duration, number: u64) {
        self.pass(number);
        let back = self.next - 1 - number;
        if number < self.told_until || back >= SPAN {
            return;
        }
        self.bitmap[back as usize / 8] |= 1 << (back % 8);
        self.count += 1;
        self.since.get_or_insert(now);
    }

    /// Notes that there was a packet `number`, which is told otherwise.
    pub fn pass(&mut self, number: u64) {
        if number >= self.next {
            self.shift(number + 1 - self.next);
            self.next = number + 1;
        }
    }

    fn shift(&mut self, by: u64) {
        let (bytes, bits) = ((by / 8).min(MAX_HEARD_BYTES as u64) as usize, by % 8);
        self.bitmap.copy_within(..MAX_HEARD_BYTES - bytes, bytes);
        self.bitmap[..bytes].fill(0);
        let mut carry = 0u16;
        for byte in &mut self.bitmap {
            let moved = u16::from(*byte) << bits | carry;
            *byte = moved as u8;
            carry = moved >> 8;
        }
    }

    /// When a report of the station's own group goes out on its own.
    pub fn tell_at(&self) -> Option<Duration> {
        self.tell_within(TELL_AFTER, TELL_AFTER_PACKETS)
    }

    /// When one of another group does.
    pub fn tell_of_other_at(&self) -> Option<Duration> {
        self.tell_within(TELL_OF_OTHER_AFTER, TELL_OF_OTHER_AFTER_PACKETS)
    }

    /// When it goes out where nothing is kept for longer than `patience`, and at most so many packets.
    pub fn tell_within(&self, patience: Duration, packets: u32) -> Option<Duration> {
        let since = self.since?;
        Some(if self.count >= packets { since } else { since + patience })
    }

    /// Whether there is anything to tell.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Appends a report, and counts it as reported: a lost report costs savings.
    pub fn tell(&mut self, out: &mut Vec<u8>) {
        let span = (self.next - self.told_until).clamp(1, SPAN).div_ceil(8) as usize;
        Heard::emit(self.next.saturating_sub(1), &self.bitmap[..span], out);
        (self.told_until, self.bitmap, self.count, self.since) = (self.next, [0; MAX_HEARD_BYTES], 0, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// In any order of hearing, each report names numbers that were heard, once, and all of them that are
        /// not too old.
        #[test]
        fn everything_is_told_once(steps in proptest::collection::vec((0u64..40, any::<bool>(), any::<bool>()), 0..300)) {
            let mut untold = Untold::default();
            let (mut heard, mut told, mut expected) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
            let mut newest = 0u64;
            for (step, back, tell) in steps {
                let number = if back { newest.saturating_sub(step) } else { newest + step };
                newest = newest.max(number);
                untold.note(Duration::ZERO, number);
                heard.insert(number);
                expected.insert(number);
                if tell && !untold.is_empty() {
                    let mut out = Vec::new();
                    untold.tell(&mut out);
                    let report = Heard::parse(&out).unwrap();
                    for back in report.back() {
                        prop_assert!(told.insert(u64::from(report.newest) - back), "twice");
                    }
                    // late numbers are not reported any more
                    prop_assert!(expected.iter().all(|n| told.contains(n) || *n < newest.saturating_sub(SPAN - 1) || heard.contains(n)));
                    expected.clear();
                }
            }
            prop_assert!(told.is_subset(&heard));
        }
    }

    #[test]
    fn what_is_heard_in_order_is_told_whole() {
        let mut untold = Untold::default();
        for number in 0..200 {
            untold.note(Duration::ZERO, number * 2);
        }
        assert_eq!(untold.tell_at(), Some(Duration::ZERO), "there is much");
        let mut out = Vec::new();
        untold.tell(&mut out);
        let report = Heard::parse(&out).unwrap();
        let numbers: Vec<u64> = report.back().map(|back| u64::from(report.newest) - back).collect();
        assert_eq!(
            numbers,
            (143..399).filter(|number| number % 2 == 0).collect::<Vec<u64>>(),
            "the last 256"
        );
        assert!(untold.is_empty());
        untold.note(Duration::from_secs(1), 500);
        assert_eq!(untold.tell_at(), Some(Duration::from_secs(1) + TELL_AFTER));
    }
}
