//! Coded repairs: a TCP segment that was lost, as the XOR of its payload and others' (XBC, sections III-A and IV-B).
//!
//! ```text
//! +-------------+-------------+---------------------------------+--------------------------------------+-----------
//! | digest (64) | others (8)  | length (varint), then the lost  | for each of the others where it      | XOR of the
//! |             |             | packet's headers as they were   | begins, from where the lost one does | payloads ...
//! +-------------+-------------+---------------------------------+--------------------------------------+-----------
//! ```
//!
//! Only payloads are combined, not headers. The digest is over the whole original packet: it proves that the receiver took
//! out the very bytes that were put in.
//!
//! The paper marks the others by a bitmap of two bytes, since all its packets are of one length. TCP's are not, and the
//! receiver knows them by their TCP sequence numbers: what is said of each is the difference, zigzag as a varint. Two or three
//! full segments that are combined take no more so than a bitmap and the length that it would be in units of.

use crate::{Malformed, take, take_array, varint};

/// The most others in one repair.
pub const MAX_OTHERS: usize = 15;
/// Bytes of the digest.
pub const DIGEST_BYTES: usize = 8;
/// The longest headers: IPv6 with some extension headers, or IPv4 with all options, and TCP with all options.
pub const MAX_HEADER_BYTES: usize = 160;

/// One coded repair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Coded<'a> {
    /// Of the original packet.
    pub digest: [u8; DIGEST_BYTES],
    /// The lost packet's IP and TCP headers.
    pub header: &'a [u8],
    /// Where the others begin, as they are written.
    offsets: &'a [u8],
    /// XOR of the payloads, as long as the longest.
    pub payload: &'a [u8],
}

fn zigzag(offset: i32) -> u32 {
    ((offset << 1) ^ (offset >> 31)) as u32
}

fn unzigzag(written: u32) -> i32 {
    (written >> 1) as i32 ^ -((written & 1) as i32)
}

impl<'a> Coded<'a> {
    /// Reads the body of a frame.
    pub fn parse(mut body: &'a [u8]) -> Result<Self, Malformed> {
        let digest = take_array(&mut body, "coded repair: digest")?;
        let [others] = take_array(&mut body, "coded repair: others")?;
        if usize::from(others) > MAX_OTHERS {
            return Err(Malformed("coded repair: others"));
        }
        let header_bytes = varint::parse(&mut body)? as usize;
        if header_bytes > MAX_HEADER_BYTES {
            return Err(Malformed("coded repair: header"));
        }
        let header = take(&mut body, header_bytes, "coded repair: header")?;
        let offsets = body;
        for _ in 0..others {
            varint::parse(&mut body)?;
        }
        let offsets = &offsets[..offsets.len() - body.len()];
        Ok(Coded { digest, header, offsets, payload: body })
    }

    /// How many bytes the TCP sequence numbers of the others are ahead of the lost one's.
    pub fn offsets(&self) -> impl Iterator<Item = i32> + use<'a> {
        let mut rest = self.offsets;
        std::iter::from_fn(move || (!rest.is_empty()).then(|| varint::parse(&mut rest).ok().map(unzigzag))?)
    }

    /// Appends the body of a frame.
    pub fn emit(
        digest: [u8; DIGEST_BYTES],
        header: &[u8],
        offsets: impl ExactSizeIterator<Item = i32>,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) {
        debug_assert!(offsets.len() <= MAX_OTHERS && header.len() <= MAX_HEADER_BYTES);
        out.extend_from_slice(&digest);
        out.push(offsets.len() as u8);
        varint::emit(header.len() as u32, out);
        out.extend_from_slice(header);
        offsets.for_each(|offset| varint::emit(zigzag(offset), out));
        out.extend_from_slice(payload);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn round_trips(
            digest: [u8; 8],
            header in proptest::collection::vec(any::<u8>(), 0..MAX_HEADER_BYTES),
            offsets in proptest::collection::vec(any::<i32>(), 0..MAX_OTHERS),
            payload in proptest::collection::vec(any::<u8>(), 0..200),
        ) {
            let mut out = Vec::new();
            Coded::emit(digest, &header, offsets.iter().copied(), &payload, &mut out);
            let read = Coded::parse(&out).unwrap();
            prop_assert_eq!((read.digest, read.header, read.payload), (digest, &header[..], &payload[..]));
            prop_assert_eq!(read.offsets().collect::<Vec<_>>(), offsets);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            if let Ok(read) = Coded::parse(&bytes) {
                prop_assert!(read.offsets().count() <= MAX_OTHERS);
                prop_assert!(read.header.len() + read.payload.len() < bytes.len());
            }
        }
    }
}
