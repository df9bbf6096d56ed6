//! 802.11 retries: frames sent again because no acknowledgement came.
//!
//! A monitor hears the first and the repetition, and would count the repetition as redundancy. The receiver's
//! own rule (IEEE 802.11-2020, section 10.3.2.14) tells them apart: a frame with the retry bit and the
//! sequence control of the last one from the same transmitter and traffic class is a duplicate. A monitor
//! may have missed the first; then the retry is news.

use std::collections::BTreeMap;

/// The most transmitters and traffic classes that are told apart.
const MAX_TRANSMITTERS: usize = 4096;

/// The filter's verdict on a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Repetition {
    /// It repeats the last one.
    OfTheLast,
    /// It was not heard before.
    No,
}

/// Remembers the last sequence control of each transmitter and traffic class.
#[derive(Debug, Default)]
pub struct RetryFilter {
    last: BTreeMap<([u8; 6], u8), u16>,
}

impl RetryFilter {
    /// Takes notice of a frame.
    pub(super) fn look_at(
        &mut self,
        transmitter: [u8; 6],
        traffic_class: u8,
        sequence_control: u16,
        retry: bool,
    ) -> Repetition {
        if self.last.len() >= MAX_TRANSMITTERS && !self.last.contains_key(&(transmitter, traffic_class)) {
            self.last.clear();
        }
        let last = self.last.insert((transmitter, traffic_class), sequence_control);
        if retry && last == Some(sequence_control) { Repetition::OfTheLast } else { Repetition::No }
    }
}
