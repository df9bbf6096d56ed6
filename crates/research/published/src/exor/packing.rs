//! Packets in fragments: reduced ones share a fragment (REfactor, section 2.2.2: "the effective batch size
//! can be reduced").
//!
//! Packets are not divided, so a node that hears a fragment learns from every packet in it. Each packet
//! follows its number in the batch and its length:
//!
//! ```text
//! | number (16) | bytes (16) | packet ... | number (16) | ...
//! ```

/// Bytes before each packet.
pub const FRONT_BYTES: usize = 4;

/// Puts packets into fragments of at most `most_bytes`: the longest first, each into the first fragment with
/// room. A longer packet has a fragment of its own.
#[must_use]
pub fn pack(packets: &[Vec<u8>], most_bytes: usize) -> Vec<Vec<u8>> {
    let mut by_length: Vec<usize> = (0..packets.len()).collect();
    by_length.sort_by_key(|number| std::cmp::Reverse(packets[*number].len()));
    let mut fragments: Vec<Vec<u8>> = Vec::new();
    for number in by_length {
        let packet = &packets[number];
        let bytes = FRONT_BYTES + packet.len();
        let with_room = fragments.iter().position(|fragment| fragment.len() + bytes <= most_bytes);
        let at = with_room.unwrap_or_else(|| {
            fragments.push(Vec::new());
            fragments.len() - 1
        });
        let fragment = &mut fragments[at];
        fragment.extend_from_slice(&(number as u16).to_be_bytes());
        fragment.extend_from_slice(&(packet.len() as u16).to_be_bytes());
        fragment.extend_from_slice(packet);
    }
    fragments
}

/// The packets of a fragment with their numbers. A truncated packet at the end is left out.
pub fn unpack(fragment: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = fragment;
    std::iter::from_fn(move || {
        let (&[a, b, c, d], behind) = rest.split_first_chunk()?;
        let (packet, behind) = behind.split_at_checked(usize::from(u16::from_be_bytes([c, d])))?;
        rest = behind;
        Some((u16::from_be_bytes([a, b]), packet))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_packet_is_in_one_fragment_and_none_is_too_long(
            lengths in proptest::collection::vec(0usize..1500, 0..80),
        ) {
            let packets: Vec<Vec<u8>> =
                lengths.iter().enumerate().map(|(number, bytes)| vec![number as u8; *bytes]).collect();
            let fragments = pack(&packets, 1500);
            let mut found: Vec<(u16, Vec<u8>)> = fragments
                .iter()
                .flat_map(|fragment| unpack(fragment).map(|(number, packet)| (number, packet.to_vec())))
                .collect();
            found.sort();
            let expected: Vec<(u16, Vec<u8>)> =
                packets.iter().enumerate().map(|(number, packet)| (number as u16, packet.clone())).collect();
            prop_assert_eq!(found, expected);
            prop_assert!(fragments.iter().all(|fragment| fragment.len() <= 1500 + FRONT_BYTES));
            // two fragments that are both at most half full would have been one
            prop_assert!(fragments.iter().filter(|fragment| fragment.len() <= 750).count() <= 1);
        }

        #[test]
        fn any_bytes_are_read_as_far_as_they_go(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let read: usize = unpack(&bytes).map(|(_, packet)| packet.len() + FRONT_BYTES).sum();
            prop_assert!(read <= bytes.len());
        }
    }
}
