//! The radiotap header that monitor interfaces put before 802.11 frames (<https://www.radiotap.org>).
//!
//! ```text
//! +---------+-----+------------+--------------------------------+----------------------------
//! | version | pad | length, LE | present flags, LE; bit 31: more| fields, aligned by their size
//! +---------+-----+------------+--------------------------------+----------------------------
//! ```
//!
//! For packets only the field `Flags` matters: whether the frame's check failed, and whether there is padding
//! between its header and its body. [`sent`] reads how the frame was sent.

use super::Skipped;
use super::survey::Sent;

const TSFT: u32 = 1 << 0;
const FLAGS: u32 = 1 << 1;
const MORE_PRESENT_FLAGS: u32 = 1 << 31;

/// Size and alignment of each field, by its bit in the first present word.
const FIELDS: [(usize, usize); 24] = [
    (8, 8),  // TSFT
    (1, 1),  // flags
    (1, 1),  // rate
    (4, 2),  // channel
    (2, 2),  // FHSS
    (1, 1),  // signal, dBm
    (1, 1),  // noise, dBm
    (2, 2),  // lock quality
    (2, 2),  // attenuation
    (2, 2),  // attenuation, dB
    (1, 1),  // power, dBm
    (1, 1),  // antenna
    (1, 1),  // signal, dB
    (1, 1),  // noise, dB
    (2, 2),  // flags of reception
    (2, 2),  // flags of transmission
    (1, 1),  // retries of RTS
    (1, 1),  // retries of data
    (8, 4),  // extended channel
    (3, 1),  // MCS
    (8, 4),  // A-MPDU
    (12, 2), // VHT
    (12, 8), // time
    (12, 2), // HE
];
const RATE: usize = 2;
const MCS: usize = 19;
const A_MPDU: usize = 20;
const VHT: usize = 21;
const HE: usize = 23;

const FCS_AT_END: u8 = 0x10;
const PADDED: u8 = 0x20;
const BAD_FCS: u8 = 0x40;

/// A frame as a monitor received it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Received<'a> {
    /// The 802.11 frame without its check sequence.
    pub frame: &'a [u8],
    /// The 802.11 header is padded to a multiple of 4 bytes.
    pub padded: bool,
}

/// Reads the header.
pub(super) fn parse(bytes: &[u8]) -> Result<Received<'_>, Skipped> {
    let front = bytes.first_chunk::<8>().ok_or(Skipped::Malformed)?;
    let length = usize::from(u16::from_le_bytes([front[2], front[3]]));
    if front[0] != 0 || length < front.len() {
        return Err(Skipped::Malformed);
    }
    let (header, mut frame) = bytes.split_at_checked(length).ok_or(Skipped::Malformed)?;
    let present = u32::from_le_bytes([front[4], front[5], front[6], front[7]]);
    let mut at = 8;
    let mut last_word = present;
    while last_word & MORE_PRESENT_FLAGS != 0 {
        let word = header.get(at..at + 4).and_then(|word| word.try_into().ok()).ok_or(Skipped::Malformed)?;
        last_word = u32::from_le_bytes(word);
        at += 4;
    }
    if present & TSFT != 0 {
        at = at.next_multiple_of(8) + 8;
    }
    let flags = if present & FLAGS != 0 { *header.get(at).ok_or(Skipped::Malformed)? } else { 0 };
    if flags & BAD_FCS != 0 {
        return Err(Skipped::Malformed);
    }
    if flags & FCS_AT_END != 0 {
        frame = &frame[..frame.len().saturating_sub(4)];
    }
    Ok(Received { frame, padded: flags & PADDED != 0 })
}

/// How the frame behind this header was sent, and whether it was part of an A-MPDU.
pub(super) fn sent(bytes: &[u8]) -> (Sent, bool) {
    let (mut sent, mut aggregated) = (Sent::Unknown, false);
    for (field, value) in fields(bytes) {
        match (field, value) {
            (RATE, &[half_mbit]) if half_mbit > 0 => sent = Sent::Legacy { half_mbit },
            (MCS, &[known, _, index]) if known & 0x02 != 0 => sent = Sent::Ht { index },
            (VHT, value) if value.len() == 12 => {
                // The first user's: MCS in the high bits, streams in the low ones.
                sent = Sent::Vht { index: value[4] >> 4, streams: value[4] & 0x0f };
            }
            (HE, value) if value.len() == 12 => {
                // The third word has the MCS, the sixth the streams.
                sent = Sent::He { index: value[5] & 0x0f, streams: value[10] & 0x0f };
            }
            (A_MPDU, _) => aggregated = true,
            _ => {}
        }
    }
    (sent, aggregated)
}

/// The fields of the first present word that are known, and their bytes.
fn fields(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let word =
        |at: usize| bytes.get(at..at + 4).and_then(|word| Some(u32::from_le_bytes(word.try_into().ok()?)));
    let length = bytes.get(2..4).map_or(0, |it| usize::from(u16::from_le_bytes([it[0], it[1]])));
    let header = bytes.get(..length).unwrap_or_default();
    let present = word(4).unwrap_or(0);
    let mut at = 8;
    let mut last_word = present;
    while last_word & MORE_PRESENT_FLAGS != 0 && at + 4 <= header.len() {
        last_word = word(at).unwrap_or(0);
        at += 4;
    }
    FIELDS.iter().enumerate().filter(move |(field, _)| present >> field & 1 == 1).map_while(
        move |(field, &(size, alignment))| {
            let start = at.next_multiple_of(alignment);
            at = start + size;
            header.get(start..at).map(|value| (field, value))
        },
    )
}
