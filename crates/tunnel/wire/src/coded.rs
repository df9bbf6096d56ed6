//! Coded repairs: a TCP segment that was lost, as the XOR of its payload and others' (XBC, sections III-A and
//! IV-B).
//!
//! ```text
//! +-------------+-------------+---------------------------------+--------------------------------------+-----------
//! | digest (64) | others (8)  | length (varint), then the lost  | for each of the others where it      | XOR of the
//! |             |             | packet's headers as they were   | begins, from where the lost one does | payloads ...
//! +-------------+-------------+---------------------------------+--------------------------------------+-----------
//! ```
//!
//! Where the highest bit of *others* is set, the payloads are scaled before they are combined, by numbers of
//! GF(2^8) (modulo x^8 + x^4 + x^3 + x^2 + 1) that stand before the XOR, a byte each and none of them 0: the
//! lost packet's, then the others'. Several such rows over the same packets restore as many of them as there
//! are rows (Reed-Solomon, XBC, section III-E). Only who said [`crate::hello::UNCODES_ROWS`] is sent them.
//!
//! Only payloads are combined, not headers. The digest is over the whole original packet: it proves that the
//! receiver took out the very bytes that were put in.
//!
//! The paper marks the others by a bitmap of two bytes, since all its packets are of one length. TCP's are
//! not, and the receiver knows them by their TCP sequence numbers. Each is given by its difference, zigzag as
//! a varint. For two or three full segments that takes no more bytes than a bitmap and the length of its
//! units.

use crate::{Malformed, take, take_array, varint};

/// The most others in one repair.
pub const MAX_OTHERS: usize = 15;
/// Set in the number of others: payloads are scaled.
const SCALED: u8 = 0x80;
/// Bytes of the digest.
pub const DIGEST_BYTES: usize = 8;
/// The longest headers: IPv6 with some extension headers, or IPv4 with all options, and TCP with all options.
pub const MAX_HEADER_BYTES: usize = 160;

/// One coded repair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Coded<'a> {
    /// Digest of the original packet.
    pub digest: [u8; DIGEST_BYTES],
    /// The lost packet's IP and TCP headers.
    pub header: &'a [u8],
    /// Where the others begin, as they are written.
    offsets: &'a [u8],
    /// By what payloads are scaled, the lost packet's first; empty: by 1.
    scales: &'a [u8],
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
        let [written] = take_array(&mut body, "coded repair: others")?;
        let (others, is_scaled) = (written & !SCALED, written & SCALED != 0);
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
        let scales = if is_scaled { usize::from(others) + 1 } else { 0 };
        let scales = take(&mut body, scales, "coded repair: scales")?;
        if scales.contains(&0) {
            return Err(Malformed("coded repair: scales"));
        }
        Ok(Coded { digest, header, offsets, scales, payload: body })
    }

    /// By what the lost packet's payload is scaled.
    #[must_use]
    pub fn scale(&self) -> u8 {
        self.scales.first().copied().unwrap_or(1)
    }

    /// Of each of the others: how many bytes its TCP sequence number is ahead of the lost one's, and by what
    /// it is scaled.
    pub fn terms(&self) -> impl Iterator<Item = (i32, u8)> + use<'a> {
        let scales = self.scales.iter().skip(1).copied().chain(std::iter::repeat(1));
        self.offsets().zip(scales)
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
        Self::emit_head(digest, header, offsets.len() as u8, out);
        offsets.for_each(|offset| varint::emit(zigzag(offset), out));
        out.extend_from_slice(payload);
    }

    /// As [`Coded::emit`], where payloads are scaled: the lost packet's, and with their offsets the others'.
    pub fn emit_scaled(
        digest: [u8; DIGEST_BYTES],
        header: &[u8],
        scale: u8,
        terms: impl ExactSizeIterator<Item = (i32, u8)> + Clone,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) {
        Self::emit_head(digest, header, terms.len() as u8 | SCALED, out);
        terms.clone().for_each(|(offset, _)| varint::emit(zigzag(offset), out));
        out.push(scale);
        out.extend(terms.map(|(_, scale)| scale));
        out.extend_from_slice(payload);
    }

    fn emit_head(digest: [u8; DIGEST_BYTES], header: &[u8], others: u8, out: &mut Vec<u8>) {
        debug_assert!(usize::from(others & !SCALED) <= MAX_OTHERS && header.len() <= MAX_HEADER_BYTES);
        out.extend_from_slice(&digest);
        out.push(others);
        varint::emit(header.len() as u32, out);
        out.extend_from_slice(header);
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
            prop_assert!(read.scale() == 1 && read.terms().all(|(_, scale)| scale == 1));
        }

        #[test]
        fn scaled_round_trips(
            header in proptest::collection::vec(any::<u8>(), 0..MAX_HEADER_BYTES),
            scale in 1u8..,
            terms in proptest::collection::vec((any::<i32>(), 1u8..), 0..MAX_OTHERS),
            payload in proptest::collection::vec(any::<u8>(), 0..200),
        ) {
            let mut out = Vec::new();
            Coded::emit_scaled([7; 8], &header, scale, terms.iter().copied(), &payload, &mut out);
            let read = Coded::parse(&out).unwrap();
            prop_assert_eq!((read.header, read.scale(), read.payload), (&header[..], scale, &payload[..]));
            prop_assert_eq!(read.terms().collect::<Vec<_>>(), terms);
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
