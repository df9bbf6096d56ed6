use super::*;
use netlink_packet_core::Emitable as _;
use netlink_packet_route::address::AddressMessage;
use netlink_packet_route::route::RouteType;
use proptest::prelude::*;
use std::net::{IpAddr, Ipv4Addr};

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

#[test]
fn this_machine_finds_itself() {
    let connection = Connection::open().unwrap();
    let route = connection.find_route(route_to(HERE, 32)).unwrap();
    assert_eq!(route.header.kind, RouteType::Local);
}

#[test]
fn lists_end_and_hold_only_what_was_asked_for() {
    let connection = Connection::open().unwrap();
    let mut rules = RuleMessage::default();
    rules.header.family = AddressFamily::Inet;
    // The kernel's own three rules are there, unless somebody removed one.
    let listed = connection.list(Message::Rule(rules)).unwrap();
    assert!(listed.len() > 1 && listed.iter().all(|it| matches!(it, Message::Rule(_))), "{listed:?}");
    let listed = connection.list(Message::Route(RouteMessage::default())).unwrap();
    assert!(!listed.is_empty() && listed.iter().all(|it| matches!(it, Message::Route(_))), "{listed:?}");
    let listed = connection.list(Message::Neighbour(NeighbourMessage::default())).unwrap();
    assert!(listed.iter().all(|it| matches!(it, Message::Neighbour(_))), "{listed:?}");
}

#[test]
fn a_refusal_has_the_kernels_reason() {
    let connection = Connection::open().unwrap();
    let mut address = AddressMessage::default();
    address.header.family = AddressFamily::Inet;
    address.header.index = u32::MAX;
    // Without rights the kernel looks no further.
    let refusals = [Some(Errno::NODEV), Some(Errno::PERM), Some(Errno::INVAL)];
    let refused = connection.add(Message::Address(address), IfExists::Refuse).unwrap_err();
    assert!(refusals.contains(&refused.errno()), "{refused}");
    assert!(connection.find_route(route_to(HERE, 32)).is_ok(), "the connection goes on");
}

#[test]
fn a_change_of_a_device_is_written_as_the_kernel_reads_it() {
    let bytes = |change: LinkChange| {
        let mut bytes = vec![0xff; change.buffer_len()];
        change.emit(&mut bytes);
        bytes
    };
    let up = bytes(LinkChange::up(7));
    let words = |bytes: &[u8]| -> Vec<u32> {
        bytes.chunks_exact(4).map(|word| u32::from_ne_bytes(word.try_into().unwrap())).collect()
    };
    assert_eq!(words(&up), [0, 7, 1, 1]);
    let quiet = bytes(LinkChange::without_link_local_address(7));
    assert_eq!(words(&quiet[..16]), [0, 7, 0, 0]);
    let halves: Vec<u16> =
        quiet[16..28].chunks_exact(2).map(|half| u16::from_ne_bytes(half.try_into().unwrap())).collect();
    assert_eq!((&halves[..], quiet[28]), (&[16, 26, 12, 10, 5, 8][..], 1));
}

proptest! {
    #[test]
    fn any_octets_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Ok((_, length)) = read(&bytes) {
            prop_assert!((16..=bytes.len()).contains(&length));
        }
    }

    #[test]
    fn any_entry_is_read_or_refused(kind in 16u16..40, body in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut bytes = u32::try_from(16 + body.len()).unwrap().to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend([0; 10]);
        bytes.extend(&body);
        if let Ok((_, length)) = read(&bytes) {
            prop_assert_eq!(length, bytes.len());
        }
    }
}
