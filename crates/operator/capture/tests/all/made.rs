//! Hand-made captures: packets, their frames, and their files.

use capture::{CaptureReader, Dissector, Source};
use etherparse::PacketBuilder;
use std::io::{Cursor, Write};

pub const CLIENTS: [[u8; 4]; 3] = [[10, 0, 0, 1], [10, 0, 0, 2], [10, 0, 0, 3]];
pub const SERVER: [u8; 4] = [192, 0, 2, 80];
pub const CLIENT_PORT: u16 = 40_000;

/// Bytes that look random, and differ from seed to seed.
pub fn noise(seed: u64, count: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let step = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    std::iter::repeat_with(step).take(count).collect()
}

/// A segment from the server's port 80 to a client.
pub fn tcp_down(client: usize, sequence: u32, payload: &[u8]) -> Vec<u8> {
    let builder =
        PacketBuilder::ipv4(SERVER, CLIENTS[client], 60).tcp(80, CLIENT_PORT, sequence, 8000).ack(1);
    let mut packet = Vec::new();
    builder.write(&mut packet, payload).unwrap();
    packet
}

/// A segment from a client to a port of the server.
pub fn tcp_up(client: usize, port: u16, sequence: u32, payload: &[u8]) -> Vec<u8> {
    let builder =
        PacketBuilder::ipv4(CLIENTS[client], SERVER, 60).tcp(CLIENT_PORT, port, sequence, 8000).ack(1);
    let mut packet = Vec::new();
    builder.write(&mut packet, payload).unwrap();
    packet
}

/// A SYN from a client to a port of the server.
pub fn syn(client: usize, port: u16, sequence: u32) -> Vec<u8> {
    let builder =
        PacketBuilder::ipv4(CLIENTS[client], SERVER, 60).tcp(CLIENT_PORT, port, sequence, 8000).syn();
    let mut packet = Vec::new();
    builder.write(&mut packet, &[]).unwrap();
    packet
}

/// A UDP packet over IPv6.
pub fn udp_v6(source_port: u16, destination_port: u16, payload: &[u8]) -> Vec<u8> {
    let builder = PacketBuilder::ipv6([0x20; 16], [0x21; 16], 60).udp(source_port, destination_port);
    let mut packet = Vec::new();
    builder.write(&mut packet, payload).unwrap();
    packet
}

/// Byte order of a pcap file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    Little,
    Big,
}

impl Order {
    fn u32(self, value: u32) -> [u8; 4] {
        if self == Order::Little { value.to_le_bytes() } else { value.to_be_bytes() }
    }

    fn u16(self, value: u16) -> [u8; 2] {
        if self == Order::Little { value.to_le_bytes() } else { value.to_be_bytes() }
    }
}

pub const MICROSECONDS: u32 = 0xa1b2_c3d4;
pub const NANOSECONDS: u32 = 0xa1b2_3c4d;

/// A pcap file.
pub fn pcap_as(order: Order, magic: u32, link_type: u32, frames: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Vec::new();
    file.extend(order.u32(magic));
    file.extend([order.u16(2), order.u16(4)].concat());
    file.extend([order.u32(0), order.u32(0), order.u32(262_144), order.u32(link_type)].concat());
    for (number, frame) in frames.iter().enumerate() {
        let length = frame.len() as u32;
        file.extend([number as u32, 7, length, length].map(|field| order.u32(field)).concat());
        file.extend(frame);
    }
    file
}

/// A pcap file in the usual format.
pub fn pcap(link_type: u32, frames: &[Vec<u8>]) -> Vec<u8> {
    pcap_as(Order::Little, MICROSECONDS, link_type, frames)
}

fn block(order: Order, kind: u32, body: &[u8]) -> Vec<u8> {
    let padded = body.len().next_multiple_of(4);
    let length = order.u32(padded as u32 + 12);
    let mut block = [order.u32(kind), length].concat();
    block.extend(body);
    block.resize(8 + padded, 0);
    block.extend(length);
    block
}

/// A pcapng section with one interface.
pub fn pcapng(order: Order, link_type: u16, frames: &[Vec<u8>]) -> Vec<u8> {
    let section = [&order.u32(0x1a2b_3c4d)[..], &order.u16(1), &order.u16(0), &[0xff; 8]].concat();
    let mut file = block(order, 0x0a0d_0d0a, &section);
    let snap_length = order.u32(65_535);
    file.extend(block(order, 1, &[&order.u16(link_type)[..], &[0, 0], &snap_length].concat()));
    // A name resolution block, which the reader skips.
    file.extend(block(order, 4, &[0; 4]));
    for (number, frame) in frames.iter().enumerate() {
        let length = order.u32(frame.len() as u32);
        if number % 2 == 0 {
            let front = [order.u32(0), order.u32(0), order.u32(number as u32), length, length].concat();
            file.extend(block(order, 6, &[&front[..], frame].concat()));
        } else {
            // Simple packets belong to the first interface.
            file.extend(block(order, 3, &[&length[..], frame].concat()));
        }
    }
    file
}

pub fn ethernet(ether_type: u16, payload: &[u8]) -> Vec<u8> {
    [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2][..], &ether_type.to_be_bytes(), payload].concat()
}

/// The EtherType of an IP packet.
pub fn ether_type(packet: &[u8]) -> u16 {
    if packet[0] >> 4 == 4 { 0x0800 } else { 0x86dd }
}

pub fn snap(packet: &[u8]) -> Vec<u8> {
    [&[0xaa, 0xaa, 3, 0, 0, 0][..], &ether_type(packet).to_be_bytes(), packet].concat()
}

/// An 802.11 data frame from the distribution system.
pub fn ieee80211(control: u8, flags: u8, sequence: u16, behind_header: &[u8]) -> Vec<u8> {
    let mut frame = vec![control, flags, 0, 0];
    frame.extend([[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2], [2, 0, 0, 0, 0, 3]].concat());
    frame.extend((sequence << 4).to_le_bytes());
    frame.extend(behind_header);
    frame
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

pub fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut packer = liblzma::write::XzEncoder::new(Vec::new(), 0);
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

pub fn source(file: &[u8]) -> Source {
    Source::from_stream(Cursor::new(file.to_vec()), Some(file.len() as u64)).unwrap()
}

/// The result of reading a capture.
#[derive(Debug)]
pub struct Reading {
    pub dissector: Dissector,
    pub payloads: Vec<Vec<u8>>,
    pub damage: Option<capture::Damage>,
}

/// Reads a capture to its end; `None` if it is none.
pub fn read(file: &[u8]) -> Option<Reading> {
    let total_bytes = Some(file.len() as u64);
    let source = Source::from_stream(Cursor::new(file.to_vec()), total_bytes).ok()?;
    let mut reader = CaptureReader::new(source).ok()?;
    let mut dissector = Dissector::default();
    let mut batch = capture::Batch::default();
    while let Some(frame) = reader.next_frame() {
        dissector.dissect(&frame, &mut batch);
    }
    let payloads = batch
        .packets()
        .filter(|packet| !packet.retransmitted)
        .map(|packet| packet.payload().to_vec())
        .collect();
    Some(Reading { dissector, payloads, damage: reader.damage().cloned() })
}
