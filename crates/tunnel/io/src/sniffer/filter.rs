//! The kernel's filter of an [`Sniffer`](super::Sniffer): a program for the classic BPF machine (Linux,
//! Documentation/networking/filter.rst).
//!
//! A busy interface carries many times the sniffer's traffic, and each frame that is not copied saves
//! processor time. The program therefore parses as deep as it can. It passes formats that it cannot parse
//! (mesh headers, aggregates, padding, MPLS and PPPoE) to the parser. It never drops a frame that the parser
//! accepts, with one exception: padding of a radio's headers that looks like the start of a packet.

use super::LinkType;
use socket2::SockFilter;

/// The most ports that the program checks, because the machine's jumps reach 255 instructions. More are left
/// to the parser.
const MAX_PORTS: usize = 32;
/// Bytes of an encrypted frame behind radiotap's header that are enough to recognize it.
const PROTECTED_BYTES: u32 = 32;
/// More than any frame's length.
const WHOLE: u32 = 1 << 18;

/// Offset of a frame's packet type: `SKF_AD_OFF + SKF_AD_PKTTYPE`.
const PACKET_TYPE: u32 = (-0x1000_i32 + 4) as u32;
const TO_THIS_HOST: u32 = 0;
const OUTGOING: u32 = 4;

const IPV4: u32 = 0x0800;
const IPV6: u32 = 0x86dd;
const TAGS: [u32; 3] = [0x8100, 0x88a8, 0x9100];
/// EtherTypes of MPLS and PPPoE.
const FURTHER: [u32; 3] = [0x8847, 0x8848, 0x8864];
const UDP: u32 = 17;

// The machine's instructions.
const LOAD_WORD: u16 = 0x20;
const LOAD_BYTE_AT_X: u16 = 0x50;
const LOAD_HALF_AT_X: u16 = 0x48;
const LOAD_WORD_AT_X: u16 = 0x40;
const LOAD_CONSTANT: u16 = 0x00;
const LOAD_X_CONSTANT: u16 = 0x01;
const LOAD_X_MEMORY: u16 = 0x61;
const STORE: u16 = 0x02;
const STORE_X: u16 = 0x03;
const ADD: u16 = 0x04;
const ADD_X: u16 = 0x0c;
const AND: u16 = 0x54;
const SHIFT_LEFT: u16 = 0x64;
const JUMP: u16 = 0x05;
const IF_EQUAL: u16 = 0x15;
const IF_BITS: u16 = 0x45;
const RETURN: u16 = 0x06;
const RETURN_A: u16 = 0x16;
const A_TO_X: u16 = 0x07;
const X_TO_A: u16 = 0x87;

// The machine's memory.
const FRAME_START: u32 = 0;
const BODY_START: u32 = 1;

/// Labels of the program, and verdicts on a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Next,
    Pass,
    Drop,
    /// Passes the first bytes, enough to count the frame.
    PassBriefly,
    FirstTag,
    SecondTag,
    FourAddresses,
    Header,
    Qos,
    HtControl,
    AddQos,
    Body,
    Snap,
    /// X is at an EtherType.
    EtherType,
    Ipv4,
    Ipv6,
    /// X is two bytes before a UDP header.
    Udp,
}
use Place::*;

/// The whole program for frames of `link_type` with UDP from or to one of `ports`. Without ports it passes
/// all UDP.
pub fn program(link_type: LinkType, ports: &[u16]) -> Vec<SockFilter> {
    let mut program = Program::default();
    program.step(LOAD_WORD, PACKET_TYPE);
    program.when(IF_EQUAL, OUTGOING, Drop, Next);
    if link_type == LinkType::ETHERNET {
        // In monitor mode no frame has a packet type.
        program.when(IF_EQUAL, TO_THIS_HOST, Drop, Next);
    }
    program.look_into(link_type, ports);
    program.assemble()
}

#[derive(Default)]
struct Program {
    steps: Vec<(u16, u32, Place, Place)>,
    places: Vec<(Place, usize)>,
}

impl Program {
    fn step(&mut self, code: u16, operand: u32) {
        self.steps.push((code, operand, Next, Next));
    }

    fn when(&mut self, code: u16, operand: u32, yes: Place, no: Place) {
        self.steps.push((code, operand, yes, no));
    }

    fn go(&mut self, place: Place) {
        self.steps.push((JUMP, 0, place, Next));
    }

    fn here(&mut self, place: Place) {
        self.places.push((place, self.steps.len()));
    }

    fn look_into(&mut self, link_type: LinkType, ports: &[u16]) {
        match link_type {
            LinkType::ETHERNET => self.ethernet(),
            LinkType::IEEE802_11_RADIOTAP => {
                // The header's length is little-endian.
                self.step(LOAD_X_CONSTANT, 0);
                self.step(LOAD_BYTE_AT_X, 3);
                self.step(SHIFT_LEFT, 8);
                self.step(STORE, FRAME_START);
                self.step(LOAD_BYTE_AT_X, 2);
                self.step(LOAD_X_MEMORY, FRAME_START);
                self.step(ADD_X, 0);
                self.step(A_TO_X, 0);
                self.ieee80211();
            }
            _ => {
                self.step(LOAD_X_CONSTANT, 0);
                self.ieee80211();
            }
        }
        self.ip(ports);
    }

    fn ethernet(&mut self) {
        const TYPE_AT: u32 = 12;
        for (at, tagged) in [(TYPE_AT, FirstTag), (TYPE_AT + 4, SecondTag), (TYPE_AT + 8, Pass)] {
            self.step(LOAD_X_CONSTANT, at);
            self.step(LOAD_HALF_AT_X, 0);
            for tag in TAGS {
                self.when(IF_EQUAL, tag, tagged, Next);
            }
            for further in FURTHER {
                self.when(IF_EQUAL, further, Pass, Next);
            }
            self.go(EtherType);
            if tagged != Pass {
                self.here(tagged);
            }
        }
    }

    /// X is at the frame control field; the parsing follows [`wire::link`].
    fn ieee80211(&mut self) {
        self.step(STORE_X, FRAME_START);
        // A data frame with a body.
        self.step(LOAD_BYTE_AT_X, 0);
        self.step(AND, 0x4f);
        self.when(IF_EQUAL, 0x08, Next, Drop);
        self.step(LOAD_BYTE_AT_X, 1);
        self.when(IF_BITS, 0x40, PassBriefly, Next);
        // A fragment, by its flag or its number.
        self.when(IF_BITS, 0x04, Drop, Next);
        self.step(LOAD_BYTE_AT_X, 22);
        self.when(IF_BITS, 0x0f, Drop, Next);
        self.step(LOAD_BYTE_AT_X, 1);
        self.step(AND, 3);
        self.when(IF_EQUAL, 3, FourAddresses, Next);
        self.step(LOAD_CONSTANT, 24);
        self.go(Header);
        self.here(FourAddresses);
        self.step(LOAD_CONSTANT, 30);
        self.here(Header);
        self.step(ADD_X, 0);
        self.step(STORE, BODY_START);
        self.step(LOAD_BYTE_AT_X, 0);
        self.when(IF_BITS, 0x80, Qos, Body);
        self.here(Qos);
        self.step(LOAD_X_MEMORY, BODY_START);
        self.step(LOAD_BYTE_AT_X, 0);
        // An aggregate.
        self.when(IF_BITS, 0x80, Pass, Next);
        self.step(LOAD_X_MEMORY, FRAME_START);
        self.step(LOAD_BYTE_AT_X, 1);
        self.when(IF_BITS, 0x80, HtControl, Next);
        self.step(LOAD_CONSTANT, 2);
        self.go(AddQos);
        self.here(HtControl);
        self.step(LOAD_CONSTANT, 6);
        self.here(AddQos);
        self.step(LOAD_X_MEMORY, BODY_START);
        self.step(ADD_X, 0);
        self.step(STORE, BODY_START);
        self.here(Body);
        self.step(LOAD_X_MEMORY, BODY_START);
        self.step(LOAD_WORD_AT_X, 0);
        self.when(IF_EQUAL, 0xaaaa_0300, Next, Pass);
        self.step(LOAD_HALF_AT_X, 4);
        self.when(IF_EQUAL, 0, Snap, Next);
        self.when(IF_EQUAL, 0x00f8, Snap, Pass);
        self.here(Snap);
        self.advance(6);
        self.step(LOAD_HALF_AT_X, 0);
        for further in TAGS.into_iter().chain(FURTHER) {
            self.when(IF_EQUAL, further, Pass, Next);
        }
    }

    /// X is at the EtherType, and A has its value.
    fn ip(&mut self, ports: &[u16]) {
        self.here(EtherType);
        self.when(IF_EQUAL, IPV4, Ipv4, Next);
        self.when(IF_EQUAL, IPV6, Ipv6, Drop);
        self.here(Ipv4);
        self.step(LOAD_BYTE_AT_X, 2 + 9);
        self.when(IF_EQUAL, UDP, Next, Drop);
        // A fragment.
        self.step(LOAD_HALF_AT_X, 2 + 6);
        self.when(IF_BITS, 0x3fff, Drop, Next);
        self.step(LOAD_BYTE_AT_X, 2);
        self.step(AND, 0x0f);
        self.step(SHIFT_LEFT, 2);
        self.step(ADD_X, 0);
        self.step(A_TO_X, 0);
        self.go(Udp);
        self.here(Ipv6);
        self.step(LOAD_BYTE_AT_X, 2 + 6);
        self.when(IF_EQUAL, UDP, Next, Drop);
        self.advance(40);
        self.here(Udp);
        if ports.is_empty() || ports.len() > MAX_PORTS {
            self.go(Pass);
        } else {
            for port_at in [2, 4] {
                self.step(LOAD_HALF_AT_X, port_at);
                for port in ports {
                    self.when(IF_EQUAL, u32::from(*port), Pass, Next);
                }
            }
            self.go(Drop);
        }
        self.here(PassBriefly);
        self.step(LOAD_X_MEMORY, FRAME_START);
        self.step(X_TO_A, 0);
        self.step(ADD, PROTECTED_BYTES);
        self.step(RETURN_A, 0);
        self.here(Pass);
        self.step(RETURN, WHOLE);
        self.here(Drop);
        self.step(RETURN, 0);
    }

    fn advance(&mut self, bytes: u32) {
        self.step(X_TO_A, 0);
        self.step(ADD, bytes);
        self.step(A_TO_X, 0);
    }

    /// Resolves the labels. A jump counts from the next instruction and only goes forward.
    fn assemble(&self) -> Vec<SockFilter> {
        let distance = |from: usize, place: Place| {
            let found = self.places.iter().find(|(named, _)| *named == place);
            found.map_or(0, |(_, at)| at - from - 1)
        };
        let byte = |distance: usize| u8::try_from(distance).unwrap_or(u8::MAX);
        let instruction = |(at, &(code, operand, yes, no)): (usize, &(u16, u32, Place, Place))| {
            let (yes, no) = (distance(at, yes), distance(at, no));
            if code == JUMP {
                SockFilter::new(code, 0, 0, yes as u32)
            } else {
                SockFilter::new(code, byte(yes), byte(no), operand)
            }
        };
        self.steps.iter().enumerate().map(instruction).collect()
    }
}

#[cfg(test)]
mod tests;
