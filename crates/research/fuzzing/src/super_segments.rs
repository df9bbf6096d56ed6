//! Packets on their way to the kernel, put together, and cut again.

use crate::Seed;
use etherparse::PacketBuilder;
use io::offload::{Coalescer, FRONT_BYTES, read_front, split};

/// The input is packets, each behind its length in two bytes. Any packets that were joined are cut again,
/// each unchanged but for [`forget_identification`]. As a device's output, the input is cut into pieces of
/// itself or refused.
pub fn check(bytes: &[u8]) -> bool {
    let mut device = bytes.to_vec();
    if let Ok(front) = read_front(&device) {
        let packet = &mut device[FRONT_BYTES..];
        let whole_bytes = packet.len();
        let _ = split(&front, packet, |one| assert!(one.len() <= whole_bytes));
    }
    let mut packets = Vec::new();
    let mut rest = bytes;
    while let Some((length, behind)) = rest.split_first_chunk() {
        let Some((packet, behind)) = behind.split_at_checked(u16::from_be_bytes(*length).into()) else {
            return false;
        };
        packets.push(packet.to_vec());
        rest = behind;
    }
    let (mut coalescer, mut cut) = (Coalescer::new(true), Vec::new());
    let mut take = |written: &[u8]| {
        let mut written = written.to_vec();
        let front = read_front(&written).expect("what is written begins with a front");
        split(&front, &mut written[FRONT_BYTES..], |packet| cut.push(packet.to_vec()))
            .expect("what was put together can be cut");
        Ok(())
    };
    for packet in &packets {
        coalescer.add(packet, &mut take).expect("taking does not fail");
    }
    coalescer.flush(&mut take).expect("taking does not fail");
    packets.iter_mut().chain(&mut cut).for_each(|packet| forget_identification(packet));
    cut.sort_unstable();
    packets.sort_unstable();
    assert_eq!(cut, packets);
    rest.is_empty()
}

/// Zeroes what may change: the identification of a UDP datagram over IPv4 that no router may fragment, and
/// with it the header's checksum.
fn forget_identification(packet: &mut [u8]) {
    if packet.len() >= 20 && packet[0] == 0x45 && packet[9] == 17 && packet[6] & 0x40 != 0 {
        packet[4..6].fill(0);
        packet[10..12].fill(0);
    }
}

/// A connection's packets over both versions of IP, and two connections in turn.
pub fn seeds() -> Vec<Seed> {
    let push = |v6: bool, port: u16, index: u32, out: &mut Vec<u8>| {
        let ip = if v6 {
            PacketBuilder::ipv6([0xfd; 16], [0xfc; 16], 64)
        } else {
            let mut header = etherparse::Ipv4Header::new(0, 64, 6.into(), [10, 0, 0, 1], [10, 0, 0, 2])
                .expect("no payload is not too much");
            header.identification = index as u16;
            PacketBuilder::ip(etherparse::IpHeaders::Ipv4(header, Default::default()))
        };
        let mut packet = Vec::new();
        let tcp = ip.tcp(80, port, 7 + index * 64, 1000).ack(5);
        tcp.write(&mut packet, &[index as u8; 64]).expect("writing to a buffer does not fail");
        out.extend_from_slice(&(packet.len() as u16).to_be_bytes());
        out.extend_from_slice(&packet);
    };
    let push_datagram = |v6: bool, content: u8, out: &mut Vec<u8>| {
        let ip = if v6 {
            PacketBuilder::ipv6([0xfd; 16], [0xfc; 16], 64)
        } else {
            PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
        };
        let mut packet = Vec::new();
        ip.udp(443, 4242).write(&mut packet, &[content; 64]).expect("writing to a buffer does not fail");
        out.extend_from_slice(&(packet.len() as u16).to_be_bytes());
        out.extend_from_slice(&packet);
    };
    vec![
        Seed::of("datagrams", |out| {
            (0..6u8).for_each(|turn| push_datagram(turn > 2, turn, out));
        }),
        Seed::of("a-stream-over-ipv4", |out| (0..4).for_each(|index| push(false, 4242, index, out))),
        Seed::of("a-stream-over-ipv6", |out| (0..4).for_each(|index| push(true, 4242, index, out))),
        Seed::of("two-streams", |out| {
            (0..6u16).for_each(|turn| push(turn % 2 == 1, 4242 + turn % 2, u32::from(turn / 2), out));
        }),
    ]
}
