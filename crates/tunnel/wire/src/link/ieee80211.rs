//! 802.11 data frames that the radio did not encrypt.
//!
//! ```text
//! | frame control 2 | duration 2 | address 1, 2, 3: 6 each | sequence control 2 |
//! | address 4: 6, if to and from the distribution system | QoS control 2, if QoS | HT control 4, if so |
//! | LLC/SNAP: AA AA 03, 00 00 00, EtherType 2 | packet ...
//! ```
//!
//! IEEE 802.11-2020, section 9.3.2. An A-MSDU (section 9.3.2.2) holds several packets. A mesh data frame has
//! a mesh control field before LLC (section 9.2.4.7.3).

use super::retries::{Repetition, RetryFilter};
use super::{Skipped, ethernet};

// Frame control, first byte.
const TYPE_MASK: u8 = 0x0f;
const DATA: u8 = 0x08;
const NO_BODY: u8 = 0x40;
const QOS: u8 = 0x80;
// Frame control, second byte.
const TO_DS: u8 = 0x01;
const FROM_DS: u8 = 0x02;
const MORE_FRAGMENTS: u8 = 0x04;
const RETRY: u8 = 0x08;
const PROTECTED: u8 = 0x40;
const HT_CONTROL: u8 = 0x80;
// QoS control, first byte.
const TID_MASK: u8 = 0x0f;
const A_MSDU: u8 = 0x80;

const SNAP_BYTES: usize = 8;
/// 00 00 F8 is the bridge tunnel's (IEEE 802.1H), with the same meaning for IP.
const SNAP: [[u8; 6]; 2] = [[0xaa, 0xaa, 3, 0, 0, 0], [0xaa, 0xaa, 3, 0, 0, 0xf8]];

/// A frame that begins with its frame control field.
pub(super) fn unpack(
    frame: &[u8],
    padded: bool,
    retries: &mut RetryFilter,
    each: &mut dyn FnMut(&[u8]),
) -> Result<(), Skipped> {
    let &[control, flags, ..] = frame else { return Err(Skipped::Malformed) };
    if control & TYPE_MASK != DATA || control & NO_BODY != 0 {
        return Err(Skipped::Other);
    }
    if flags & PROTECTED != 0 {
        return Err(Skipped::Protected);
    }
    let header = frame.first_chunk::<24>().ok_or(Skipped::Malformed)?;
    let mut at = header.len();
    if flags & TO_DS != 0 && flags & FROM_DS != 0 {
        at += 6;
    }
    let mut qos = 0;
    if control & QOS != 0 {
        qos = *frame.get(at).ok_or(Skipped::Malformed)?;
        at += 2;
        at += if flags & HT_CONTROL != 0 { 4 } else { 0 };
    }
    if padded {
        at = at.next_multiple_of(4);
    }
    let sequence_control = u16::from_le_bytes([header[22], header[23]]);
    let transmitter = [header[10], header[11], header[12], header[13], header[14], header[15]];
    let repetition = retries.look_at(transmitter, qos & TID_MASK, sequence_control, flags & RETRY != 0);
    if repetition == Repetition::OfTheLast {
        return Err(Skipped::Retry);
    }
    let is_fragment = flags & MORE_FRAGMENTS != 0 || sequence_control & 0x0f != 0;
    if is_fragment {
        return Err(Skipped::Other);
    }
    let body = frame.get(at..).ok_or(Skipped::Malformed)?;
    if qos & A_MSDU != 0 { subframes(body, each) } else { snap(body, each) }
}

/// Destination 6, source 6, length 2, LLC/SNAP and packet; padded to 4 bytes but for the last.
fn subframes(mut body: &[u8], each: &mut dyn FnMut(&[u8])) -> Result<(), Skipped> {
    let mut unpacked = Err(Skipped::Malformed);
    while let Some((header, rest)) = body.split_first_chunk::<14>() {
        let length = usize::from(u16::from_be_bytes([header[12], header[13]]));
        let packet = &rest[..length.min(rest.len())];
        unpacked = snap(packet, each).or_else(|skipped| unpacked.map_err(|_| skipped));
        let padding = (4 - (header.len() + length) % 4) % 4;
        body = rest.get(length + padding..).unwrap_or_default();
    }
    unpacked
}

/// LLC/SNAP, behind a mesh control field in a mesh.
fn snap(body: &[u8], each: &mut dyn FnMut(&[u8])) -> Result<(), Skipped> {
    let starts_with_snap = |bytes: &[u8]| SNAP.iter().any(|snap| bytes.starts_with(snap));
    let body = if starts_with_snap(body) {
        body
    } else {
        // Flags 1 (how many addresses follow), TTL 1, sequence 4, addresses.
        let addresses = usize::from(body.first().ok_or(Skipped::Malformed)? & 3);
        let behind = body.get(6 + 6 * addresses..).ok_or(Skipped::Other)?;
        if !starts_with_snap(behind) {
            return Err(Skipped::Other);
        }
        behind
    };
    let (header, packet) = body.split_first_chunk::<SNAP_BYTES>().ok_or(Skipped::Malformed)?;
    ethernet::payload(u16::from_be_bytes([header[6], header[7]]), packet, each)
}
