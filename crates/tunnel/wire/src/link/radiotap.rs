//! The radiotap header that monitor interfaces put before 802.11 frames (<https://www.radiotap.org>).
//!
//! ```text
//! +---------+-----+------------+--------------------------------+----------------------------
//! | version | pad | length, LE | present flags, LE; bit 31: more| fields, aligned by their size
//! +---------+-----+------------+--------------------------------+----------------------------
//! ```
//!
//! Only the field `Flags` matters here: whether the frame's check failed, and whether there is padding
//! between its header and its body.

use super::Skipped;

const TSFT: u32 = 1 << 0;
const FLAGS: u32 = 1 << 1;
const MORE_PRESENT_FLAGS: u32 = 1 << 31;

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
