//! The frames that the program passes, as run by the kernel.

use super::*;
use etherparse::PacketBuilder;
use proptest::prelude::*;
use socket2::SockRef;
use std::os::unix::net::UnixDatagram;
use wire::link::Unpacker;
use wire::udp::Datagram;

const PORT: u16 = 4780;

/// The program at one end of a pair of sockets. Frames there have no packet type.
struct Kernel {
    from: UnixDatagram,
    to: UnixDatagram,
}

impl Kernel {
    fn with(link_type: LinkType, ports: &[u16]) -> Self {
        let (from, to) = UnixDatagram::pair().unwrap();
        to.set_nonblocking(true).unwrap();
        let mut program = Program::default();
        program.look_into(link_type, ports);
        SockRef::from(&to).attach_filter(&program.assemble()).unwrap();
        Kernel { from, to }
    }

    /// Number of the frame's bytes that pass.
    fn passed(&self, frame: &[u8]) -> usize {
        self.from.send(frame).unwrap();
        self.to.recv(&mut [0; 4096]).unwrap_or(0)
    }
}

fn udp(v6: bool, source: u16, destination: u16) -> Vec<u8> {
    let mut packet = Vec::new();
    if v6 {
        let builder = PacketBuilder::ipv6([0xfd; 16], [0xfc; 16], 64).udp(source, destination);
        builder.write(&mut packet, b"said to others").unwrap();
    } else {
        let builder = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).udp(source, destination);
        builder.write(&mut packet, b"said to others").unwrap();
    }
    packet
}

/// Headers of every form, each up to the EtherType.
fn headers() -> Vec<(LinkType, Vec<u8>)> {
    const SNAP: [u8; 6] = [0xaa, 0xaa, 3, 0, 0, 0];
    let addresses = [&[2; 20][..], &[0x10, 0]].concat();
    let data =
        |control: u8, flags: u8, more: &[u8]| [&[control, flags][..], &addresses[..], more, &SNAP].concat();
    let wireless = [
        data(0x08, 2, &[]),
        data(0x88, 2, &[0, 0]),
        data(0x88, 0x82, &[0; 6]),
        data(0x08, 3, &[9; 6]),
        data(0x88, 0x83, &[&[9; 6][..], &[0; 6]].concat()),
        // Behind a mesh control field.
        data(0x88, 2, &[0, 1, 0, 31, 0, 0, 0, 7]),
    ];
    let mut all = vec![
        (LinkType::ETHERNET, vec![2; 12]),
        (LinkType::ETHERNET, [&[2; 12][..], &[0x81, 0, 0, 5]].concat()),
        (LinkType::ETHERNET, [&[2; 12][..], &[0x88, 0xa8, 0, 5, 0x81, 0, 0, 6]].concat()),
        (LinkType::ETHERNET, [&[2; 12][..], &[0x81, 0, 0, 5, 0x81, 0, 0, 6, 0x81, 0, 0, 7]].concat()),
    ];
    for frame in wireless {
        let tapped = |tap: &[u8]| [tap, &frame].concat();
        all.push((LinkType::IEEE802_11_RADIOTAP, tapped(&[0, 0, 8, 0, 0, 0, 0, 0])));
        all.push((LinkType::IEEE802_11_RADIOTAP, tapped(&[0, 0, 13, 0, 4, 0, 0, 0, 2, 9, 9, 9, 9])));
        all.push((LinkType::IEEE802_11, frame));
    }
    all
}

fn frame(header: &[u8], packet: &[u8]) -> Vec<u8> {
    let ether_type = if packet[0] >> 4 == 4 { [0x08, 0x00] } else { [0x86, 0xdd] };
    [header, &ether_type, packet].concat()
}

fn found(link_type: LinkType, frame: &[u8], ports: &[u16]) -> bool {
    let mut found = false;
    let _ = Unpacker::default().unpack(link_type, frame, &mut |packet| {
        found |= Datagram::parse(packet).is_ok_and(|it| it.is_some_and(|it| it.concerns(ports)));
    });
    found
}

#[test]
fn datagrams_of_the_ports_pass_whole_and_others_do_not() {
    for (link_type, header) in headers() {
        let kernel = Kernel::with(link_type, &[PORT, 4790]);
        for v6 in [false, true] {
            for (source, destination) in [(PORT, 1), (1, PORT), (4790, 1)] {
                let frame = frame(&header, &udp(v6, source, destination));
                assert!(found(link_type, &frame, &[PORT, 4790]), "{link_type} {header:02x?}");
                assert_eq!(kernel.passed(&frame), frame.len(), "{link_type} {header:02x?}");
            }
        }
        let followed = kernel.passed(&frame(&header, &udp(false, 1, 2))) == 0;
        let is_deep = header.len() == 24 || header.ends_with(&[0, 31, 0, 0, 0, 7, 0xaa, 0xaa, 3, 0, 0, 0]);
        assert_eq!(followed, !is_deep, "{link_type} {header:02x?}");
        let any = Kernel::with(link_type, &[]);
        assert!(any.passed(&frame(&header, &udp(true, 1, 2))) > 0);
        let many: Vec<u16> = (1..=300).collect();
        assert!(Kernel::with(link_type, &many).passed(&frame(&header, &udp(true, 1, 2))) > 0);
    }
}

#[test]
fn of_what_the_radio_encrypted_only_the_start_passes_and_of_beacons_nothing() {
    let kernel = Kernel::with(LinkType::IEEE802_11_RADIOTAP, &[PORT]);
    let tapped = |frame: &[u8]| [&[0, 0, 8, 0, 0, 0, 0, 0][..], frame, &[7; 1000]].concat();
    assert_eq!(kernel.passed(&tapped(&[0x88, 0x42])), 8 + PROTECTED_BYTES as usize);
    for other in [[0x80, 0], [0xd4, 0], [0x48, 2], [0xc8, 2], [0x08, 6]] {
        assert_eq!(kernel.passed(&tapped(&other)), 0, "{other:x?}");
    }
}

proptest! {
    #[test]
    fn what_the_parser_finds_passes(
        shape in 0..headers().len(),
        v6: bool,
        changes in proptest::collection::vec((0usize..90, any::<u8>()), 0..4),
    ) {
        let (link_type, header) = headers().swap_remove(shape);
        let mut frame = frame(&header, &udp(v6, PORT, 1));
        for (at, byte) in changes {
            if let Some(place) = frame.get_mut(at) {
                *place = byte;
            }
        }
        if found(link_type, &frame, &[PORT]) {
            prop_assert_eq!(Kernel::with(link_type, &[PORT]).passed(&frame), frame.len(), "{:02x?}", frame);
        }
    }
}
