//! What a monitor tells of each 802.11 frame: how it was sent, and to whom.
//!
//! Overhearing depends on both. A station's radio decodes a frame for another station only if it receives its
//! rate and its number of spatial streams, and WPA keeps the content from it.

use super::{LinkType, Skipped, radiotap};
use std::fmt;

/// How a frame was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sent {
    /// 802.11a, b or g, in units of 500 kbit/s.
    Legacy {
        /// The rate.
        half_mbit: u8,
    },
    /// 802.11n: eight indexes a number of streams.
    Ht {
        /// The index (MCS).
        index: u8,
    },
    /// 802.11ac.
    Vht {
        /// The index (MCS).
        index: u8,
        /// The number of spatial streams.
        streams: u8,
    },
    /// 802.11ax.
    He {
        /// The index (MCS).
        index: u8,
        /// The number of spatial streams.
        streams: u8,
    },
    /// The monitor does not tell.
    Unknown,
}

impl fmt::Display for Sent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Sent::Legacy { half_mbit } => write!(f, "{} Mbit/s", f32::from(half_mbit) / 2.0),
            Sent::Ht { index } => write!(f, "HT MCS {} × {}", index % 8, index / 8 + 1),
            Sent::Vht { index, streams } => write!(f, "VHT MCS {index} × {streams}"),
            Sent::He { index, streams } => write!(f, "HE MCS {index} × {streams}"),
            Sent::Unknown => f.write_str("unknown rate"),
        }
    }
}

/// The kind of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Beacons and so on.
    Management,
    /// Acknowledgements and so on.
    Control,
    /// Data without a body.
    Empty,
    /// Data for one station.
    Data {
        /// The radio encrypted it (WPA).
        protected: bool,
    },
    /// Data for several stations.
    Multicast,
}

/// A frame as a monitor saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// How it was sent.
    pub sent: Sent,
    /// Its kind.
    pub kind: Kind,
    /// The radio that it is for.
    pub receiver: [u8; 6],
    /// The radio that it comes from, if the frame says it.
    pub transmitter: Option<[u8; 6]>,
    /// The radio sent it again.
    pub is_retry: bool,
    /// It was part of an A-MPDU.
    pub is_aggregated: bool,
}

/// Looks at a frame of a monitor.
///
/// # Errors
///
/// If it is no frame of 802.11, or damaged.
pub fn look(link_type: LinkType, bytes: &[u8]) -> Result<Seen, Skipped> {
    let ((sent, is_aggregated), frame) = match link_type {
        LinkType::IEEE802_11 => ((Sent::Unknown, false), bytes),
        LinkType::IEEE802_11_RADIOTAP => (radiotap::sent(bytes), radiotap::parse(bytes)?.frame),
        _ => return Err(Skipped::UnknownLink),
    };
    let header = frame.first_chunk::<10>().ok_or(Skipped::Malformed)?;
    let [control, flags, _, _, receiver @ ..] = *header;
    let has_no_body = control & 0x40 != 0;
    let kind = match control >> 2 & 3 {
        0 => Kind::Management,
        1 => Kind::Control,
        2 if has_no_body => Kind::Empty,
        2 if receiver[0] & 1 == 1 => Kind::Multicast,
        2 => Kind::Data { protected: flags & 0x40 != 0 },
        _ => return Err(Skipped::Other),
    };
    let transmitter = frame.get(10..16).and_then(|it| it.try_into().ok());
    Ok(Seen { sent, kind, receiver, transmitter, is_retry: flags & 0x08 != 0, is_aggregated })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A radiotap header with these fields, before a data frame from an access point.
    fn frame(present: u32, fields: &[u8], flags: u8) -> Vec<u8> {
        let mut bytes = vec![0, 0, 8 + fields.len() as u8, 0];
        bytes.extend(present.to_le_bytes());
        bytes.extend(fields);
        bytes.extend([0x88, 0x02 | flags, 0, 0, 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2]);
        bytes.extend([0; 20]);
        bytes
    }

    fn seen(bytes: &[u8]) -> Seen {
        look(LinkType::IEEE802_11_RADIOTAP, bytes).unwrap()
    }

    #[test]
    fn the_rate_is_read_behind_fields_of_any_alignment() {
        let legacy = seen(&frame(1 << 2, &[108], 0));
        assert_eq!(legacy.sent.to_string(), "54 Mbit/s");
        assert_eq!(legacy.kind, Kind::Data { protected: false });
        assert_eq!((legacy.receiver[5], legacy.transmitter.unwrap()[5]), (1, 2));
        assert_eq!(seen(&frame(1 << 2, &[11], 0)).sent.to_string(), "5.5 Mbit/s");
        // TSFT 8, flags 1, channel 4 from 18 on, MCS 3
        let ht = [&[0; 8][..], &[0, 0], &[0; 4], &[7, 0, 15]].concat();
        assert_eq!(seen(&frame(1 | 1 << 1 | 1 << 3 | 1 << 19, &ht, 0)).sent.to_string(), "HT MCS 7 × 2");
        // A-MPDU 8, VHT 12 from 16 on
        let vht = [&[0; 8][..], &[0, 0, 0, 0, 0x92, 0, 0, 0, 0, 0, 0, 0]].concat();
        let vht = seen(&frame(1 << 20 | 1 << 21, &vht, 0x48));
        assert_eq!(vht.sent.to_string(), "VHT MCS 9 × 2");
        assert!(vht.is_aggregated && vht.is_retry);
        assert_eq!(vht.kind, Kind::Data { protected: true });
    }

    #[test]
    fn what_is_short_or_strange_does_not_panic() {
        let whole = frame(u32::MAX, &[0xff; 90], 0);
        for length in 0..whole.len() {
            let _ = look(LinkType::IEEE802_11_RADIOTAP, &whole[..length]);
            let _ = look(LinkType::IEEE802_11, &whole[..length]);
        }
        assert_eq!(look(LinkType::ETHERNET, &whole), Err(Skipped::UnknownLink));
    }
}
