//! Loss notices: stretches of a TCP flow that the hop lost on their way to the sender of the notice, which is
//! the end of the hop away from TCP's sender (negative acknowledgments of Snoop for mobile senders, MobiCom
//! 1995, section 3.2).
//!
//! ```text
//! +-------------+---------------------+--------------------------+-------------------------------------
//! | family (8)  | source, destination | source port, destination | for each stretch: where it begins
//! | 4 or 6      | (32 or 128 each)    | port (16 each)           | (32), its length (varint) ...
//! +-------------+---------------------+--------------------------+-------------------------------------
//! ```
//!
//! The flow is named as its segments name it: the source is TCP's sender.

use crate::inner::{Flow, TCP};
use crate::{Malformed, take_array, varint};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The most stretches in one notice.
pub const MAX_STRETCHES: usize = 16;
/// The most bytes of a notice.
pub const MAX_BYTES: usize = 1 + 2 * 16 + 4 + MAX_STRETCHES * (4 + varint::MAX_BYTES);

/// One notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Notice<'a> {
    /// Flow of the missing bytes.
    pub flow: Flow,
    /// The stretches, as they are written.
    stretches: &'a [u8],
}

impl<'a> Notice<'a> {
    /// Reads the body of a frame.
    pub fn parse(mut body: &'a [u8]) -> Result<Self, Malformed> {
        const WHAT: &str = "loss notice";
        let address = |family: u8, body: &mut &[u8]| -> Result<IpAddr, Malformed> {
            match family {
                4 => Ok(Ipv4Addr::from(take_array::<4>(body, WHAT)?).into()),
                6 => Ok(Ipv6Addr::from(take_array::<16>(body, WHAT)?).into()),
                _ => Err(Malformed("loss notice: family")),
            }
        };
        let [family] = take_array(&mut body, WHAT)?;
        let (source, destination) = (address(family, &mut body)?, address(family, &mut body)?);
        let source_port = u16::from_be_bytes(take_array(&mut body, WHAT)?);
        let destination_port = u16::from_be_bytes(take_array(&mut body, WHAT)?);
        let flow = Flow { source, destination, protocol: TCP, source_port, destination_port };
        let stretches = body;
        let mut count = 0;
        while !body.is_empty() {
            take_array::<4>(&mut body, WHAT)?;
            let length = varint::parse(&mut body)?;
            count += 1;
            if length == 0 || count > MAX_STRETCHES {
                return Err(Malformed("loss notice: stretch"));
            }
        }
        Ok(Notice { flow, stretches })
    }

    /// TCP sequence numbers at which stretches begin, and their lengths.
    pub fn stretches(&self) -> impl Iterator<Item = (u32, u32)> + use<'a> {
        let mut rest = self.stretches;
        std::iter::from_fn(move || {
            let start = u32::from_be_bytes(take_array(&mut rest, "").ok()?);
            Some((start, varint::parse(&mut rest).ok()?))
        })
    }

    /// Appends the body of a frame.
    pub fn emit(flow: &Flow, stretches: impl IntoIterator<Item = (u32, u32)>, out: &mut Vec<u8>) {
        out.push(if flow.source.is_ipv4() { 4 } else { 6 });
        for address in [flow.source, flow.destination] {
            match address {
                IpAddr::V4(address) => out.extend_from_slice(&address.octets()),
                IpAddr::V6(address) => out.extend_from_slice(&address.octets()),
            }
        }
        out.extend_from_slice(&flow.source_port.to_be_bytes());
        out.extend_from_slice(&flow.destination_port.to_be_bytes());
        for (start, length) in stretches.into_iter().take(MAX_STRETCHES) {
            out.extend_from_slice(&start.to_be_bytes());
            varint::emit(length, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn an_address(is_ipv4: bool) -> BoxedStrategy<IpAddr> {
        match is_ipv4 {
            true => any::<[u8; 4]>().prop_map(IpAddr::from).boxed(),
            false => any::<[u8; 16]>().prop_map(IpAddr::from).boxed(),
        }
    }

    proptest! {
        #[test]
        fn round_trips(
            (source, destination) in any::<bool>().prop_flat_map(|v4| (an_address(v4), an_address(v4))),
            (source_port, destination_port) in any::<(u16, u16)>(),
            stretches in proptest::collection::vec((any::<u32>(), 1u32..), 0..MAX_STRETCHES),
        ) {
            let flow = Flow { source, destination, protocol: TCP, source_port, destination_port };
            let mut out = Vec::new();
            Notice::emit(&flow, stretches.iter().copied(), &mut out);
            prop_assert!(out.len() <= MAX_BYTES);
            let notice = Notice::parse(&out).unwrap();
            prop_assert_eq!(notice.flow, flow);
            prop_assert_eq!(notice.stretches().collect::<Vec<_>>(), stretches);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(notice) = Notice::parse(&bytes) {
                prop_assert!(notice.stretches().all(|(_, length)| length > 0));
            }
        }
    }
}
