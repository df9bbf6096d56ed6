use super::*;
use crate::Malformed;
use etherparse::{IpHeaders, IpNumber, Ipv4Header, Ipv6Header, PacketBuilder, TcpHeader};
use proptest::prelude::*;

const BEFORE: &[u8] = b"before";

/// Fields that are constant within a flow.
#[derive(Debug, Clone, Copy)]
struct Flow {
    is_ipv6: bool,
    is_tcp: bool,
    source: [u8; 16],
    destination: [u8; 16],
    ports: (u16, u16),
}

/// Fields that may change from packet to packet.
#[derive(Debug, Clone)]
struct Fields {
    id: u16,
    dont_fragment: bool,
    class: u8,
    label: u32,
    ttl: u8,
    sequence: u32,
    ack: u32,
    flags: u8,
    /// The four bits before the flags.
    reserved: u8,
    window: u16,
    options: Vec<u8>,
    /// Instead of the right one.
    checksum: Option<u16>,
    payload: Vec<u8>,
}

const FLOW: Flow =
    Flow { is_ipv6: false, is_tcp: true, source: [10; 16], destination: [11; 16], ports: (443, 50_000) };

fn plain() -> Fields {
    Fields {
        id: 100,
        dont_fragment: true,
        class: 0,
        label: 0,
        ttl: 64,
        sequence: 0xffff_f000,
        ack: 77,
        flags: 0x10,
        reserved: 0,
        window: 501,
        options: timestamps(1_000_000, 2_000_000),
        checksum: None,
        payload: Vec::new(),
    }
}

fn timestamps(value: u32, echo: u32) -> Vec<u8> {
    [&tcp::TIMESTAMPS[..], &value.to_be_bytes(), &echo.to_be_bytes()].concat()
}

fn sack(edges: &[u32]) -> Vec<u8> {
    let edges: Vec<u8> = edges.iter().flat_map(|edge| edge.to_be_bytes()).collect();
    [&tcp::SACK[..], &[2 + edges.len() as u8], &edges].concat()
}

fn build(flow: &Flow, fields: &Fields) -> Vec<u8> {
    let four = |address: [u8; 16]| [address[0], address[1], address[2], address[3]];
    let ip = if flow.is_ipv6 {
        let header = Ipv6Header {
            traffic_class: fields.class,
            flow_label: fields.label.try_into().unwrap(),
            hop_limit: fields.ttl,
            source: flow.source,
            destination: flow.destination,
            ..Ipv6Header::default()
        };
        IpHeaders::Ipv6(header, Default::default())
    } else {
        let (source, destination) = (four(flow.source), four(flow.destination));
        let mut header = Ipv4Header::new(0, fields.ttl, IpNumber::TCP, source, destination).unwrap();
        header.dscp = (fields.class >> 2).try_into().unwrap();
        header.ecn = (fields.class & 3).try_into().unwrap();
        header.identification = fields.id;
        header.dont_fragment = fields.dont_fragment;
        IpHeaders::Ipv4(header, Default::default())
    };
    let builder = PacketBuilder::ip(ip);
    let mut packet = Vec::new();
    if flow.is_tcp {
        let mut header = TcpHeader::new(flow.ports.0, flow.ports.1, fields.sequence, fields.window);
        header.acknowledgment_number = fields.ack;
        header.set_options_raw(&fields.options).unwrap();
        builder.tcp_header(header).write(&mut packet, &fields.payload).unwrap();
    } else {
        builder.udp(flow.ports.0, flow.ports.1).write(&mut packet, &fields.payload).unwrap();
    }
    let layout = Layout::of(&packet).unwrap();
    if flow.is_tcp {
        // etherparse knows no reserved bits.
        let at = layout.ip_bytes();
        packet[at + tcp::OFFSET] |= fields.reserved;
        packet[at + tcp::FLAGS] = fields.flags;
        let sum = layout.transport_checksum(&packet[..layout.header_bytes], &fields.payload);
        layout::write_u16(&mut packet, layout.checksum_at(), sum);
    }
    if let Some(checksum) = fields.checksum {
        layout::write_u16(&mut packet, layout.checksum_at(), checksum);
    }
    packet
}

/// The delta of `packet` after `context`, once it was proved to expand to the packet; whatever the distance.
fn delta(context: &[u8], packet: &[u8]) -> Option<Vec<u8>> {
    let [at_none, ..] = [0, 1, 77, u32::MAX].map(|distance| delta_at(distance, context, packet));
    at_none
}

fn delta_at(distance: u32, context: &[u8], packet: &[u8]) -> Option<Vec<u8>> {
    let context = &Context { header: context, distance };
    let split = split(packet).unwrap();
    let mut out = BEFORE.to_vec();
    let delta = compress(context, &split, &mut out).map(|()| out[BEFORE.len()..].to_vec());
    assert!(out.starts_with(BEFORE));
    let Some(delta) = delta else {
        assert_eq!(out, BEFORE);
        return None;
    };
    assert!(delta.len() < split.header.len());
    let (input, mut expanded) = ([&delta[..], b"rest"].concat(), BEFORE.to_vec());
    let mut rest = &input[..];
    expand(context, &mut rest, split.payload, &mut expanded).unwrap();
    assert_eq!(rest, b"rest");
    assert_eq!(expanded, [BEFORE, packet].concat());
    for cut in 0..delta.len() {
        let mut rest = &delta[..cut];
        expanded.truncate(BEFORE.len());
        assert!(expand(context, &mut rest, split.payload, &mut expanded).is_err());
        assert_eq!((rest, &expanded[..]), (&delta[..cut], BEFORE));
    }
    Some(delta)
}

fn flow() -> impl Strategy<Value = Flow> {
    (any::<(bool, bool)>(), any::<[u8; 16]>(), any::<[u8; 16]>(), any::<(u16, u16)>()).prop_map(
        |((is_ipv6, is_tcp), source, destination, ports)| Flow {
            is_ipv6,
            is_tcp,
            source,
            destination,
            ports,
        },
    )
}

fn options() -> impl Strategy<Value = Vec<u8>> {
    let times = || any::<(u32, u32)>().prop_map(|(value, echo)| timestamps(value, echo));
    let blocks = |most| proptest::collection::vec(any::<(u32, u32)>(), 1..=most);
    let edges =
        |blocks: Vec<(u32, u32)>| -> Vec<u32> { blocks.into_iter().flat_map(|(l, r)| [l, r]).collect() };
    prop_oneof![
        Just(Vec::new()),
        times(),
        (times(), blocks(3)).prop_map(move |(times, blocks)| [times, sack(&edges(blocks))].concat()),
        blocks(4).prop_map(move |blocks| sack(&edges(blocks))),
        (times(), 0usize..=7, any::<[u8; 28]>()).prop_map(|(times, words, rest)| [
            &times[..],
            &rest[..words * 4]
        ]
        .concat()),
        (0usize..=10, any::<[u8; 40]>()).prop_map(|(words, bytes)| bytes[..words * 4].to_vec()),
    ]
}

fn fields() -> impl Strategy<Value = Fields> {
    let checksum = prop_oneof![5 => Just(None), 1 => Just(Some(0)), 1 => any::<u16>().prop_map(Some)];
    (
        (any::<u16>(), any::<bool>(), any::<u8>(), 0u32..1 << 20, any::<u8>()),
        (any::<u32>(), any::<u32>(), any::<u8>(), 0u8..16, any::<u16>()),
        (options(), checksum, proptest::collection::vec(any::<u8>(), 0..100)),
    )
        .prop_map(|(ip, tcp, (options, checksum, payload))| Fields {
            id: ip.0,
            dont_fragment: ip.1,
            class: ip.2,
            label: ip.3,
            ttl: ip.4,
            sequence: tcp.0,
            ack: tcp.1,
            flags: tcp.2 & !tcp::URG,
            reserved: tcp.3,
            window: tcp.4,
            options,
            checksum,
            payload,
        })
}

/// Fields that differ from others' in a few places.
fn similar() -> impl Strategy<Value = (Fields, Fields)> {
    (fields(), fields(), any::<u16>(), any::<(i16, u16)>()).prop_map(|(old, other, which, (near, far))| {
        let mut new = old.clone();
        let differs = |bit: u16| which >> bit & 1 != 0;
        if differs(0) {
            new.id = new.id.wrapping_add(far);
        }
        if differs(1) {
            new.dont_fragment = other.dont_fragment;
        }
        if differs(2) {
            new.class = other.class;
        }
        if differs(3) {
            new.label = other.label;
        }
        if differs(4) {
            new.ttl = other.ttl;
        }
        if differs(5) {
            new.sequence = new.sequence.wrapping_add_signed(i32::from(near));
        }
        if differs(6) {
            new.sequence = old.sequence.wrapping_add(u32::from(far) * other.payload.len() as u32);
            new.payload = other.payload;
        }
        if differs(7) {
            new.ack = new.ack.wrapping_add(u32::from(far));
        }
        if differs(8) {
            new.flags ^= tcp::PUSH;
        }
        if differs(9) {
            (new.flags, new.reserved) = (other.flags, other.reserved);
        }
        if differs(10) {
            new.window = new.window.wrapping_add_signed(near);
        }
        if differs(11) {
            new.options = other.options;
        }
        if differs(12) {
            new.checksum = other.checksum;
        }
        (old, new)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn packets_of_one_flow_come_back_bit_by_bit(flow in flow(), old in fields(), new in fields()) {
        prop_assert!(delta(&build(&flow, &old), &build(&flow, &new)).is_some());
    }

    #[test]
    fn similar_packets_of_one_flow_come_back_bit_by_bit(flow in flow(), (old, new) in similar()) {
        prop_assert!(delta(&build(&flow, &old), &build(&flow, &new)).is_some());
    }

    #[test]
    fn the_checksums_of_an_independent_library_are_found_right(flow in flow(), mut fields in fields()) {
        (fields.reserved, fields.flags, fields.checksum) = (0, 0, None);
        let packet = build(&flow, &fields);
        let sliced = etherparse::SlicedPacket::from_ip(&packet).unwrap();
        let given = match (&sliced.net, &sliced.transport) {
            (Some(etherparse::NetSlice::Ipv4(ip)), Some(etherparse::TransportSlice::Tcp(tcp))) => {
                tcp.calc_checksum_ipv4(ip.header().source(), ip.header().destination()).unwrap()
            }
            (Some(etherparse::NetSlice::Ipv6(ip)), Some(etherparse::TransportSlice::Tcp(tcp))) => {
                tcp.calc_checksum_ipv6(ip.header().source(), ip.header().destination()).unwrap()
            }
            (_, Some(etherparse::TransportSlice::Udp(udp))) => udp.checksum(),
            _ => unreachable!(),
        };
        let Split { layout, header, payload } = split(&packet).unwrap();
        prop_assert_eq!(layout.transport_checksum(header, payload), given);
    }

    #[test]
    fn a_packet_of_another_flow_is_no_context(flow in flow(), (old, new) in similar(), which in 0usize..38) {
        let mut other = flow;
        match which {
            0..16 => other.source[which] ^= 1,
            16..32 => other.destination[which - 16] ^= 1,
            32 => other.ports.0 ^= 1,
            33 => other.ports.1 ^= 1,
            34 | 35 => other.is_tcp = !flow.is_tcp,
            _ => other.is_ipv6 = !flow.is_ipv6,
        }
        let (context, packet) = (build(&other, &old), build(&flow, &new));
        if flow.is_ipv6 || !(4..16).contains(&(which % 16)) || which >= 32 {
            let context = Context { header: &context, distance: 1 };
            prop_assert_eq!(compress(&context, &split(&packet).unwrap(), &mut Vec::new()), None);
        }
    }

    #[test]
    fn hostile_deltas_give_packets_that_split_or_nothing(
        flow in flow(),
        old in fields(),
        bytes in proptest::collection::vec(any::<u8>(), 0..90),
        more in any::<Option<u8>>(),
        payload in proptest::collection::vec(any::<u8>(), 0..60),
    ) {
        let mut bytes = bytes;
        if let (Some(more), [bits, second, ..]) = (more, &mut bytes[..]) {
            (*bits, *second) = (first::MORE, more);
        }
        attack(&build(&flow, &old), &bytes, &payload)?;
    }

    #[test]
    fn damaged_deltas_give_packets_that_split_or_nothing(
        flow in flow(),
        (old, new) in similar(),
        place in any::<prop::sample::Index>(),
        byte: u8,
    ) {
        let (context, packet) = (build(&flow, &old), build(&flow, &new));
        let mut delta = delta(&context, &packet).unwrap_or_else(|| vec![0]);
        let place = place.index(delta.len());
        delta[place] = byte;
        attack(&context, &delta, &new.payload)?;
    }

    #[test]
    fn hostile_contexts_give_packets_that_split_or_nothing(
        mut context in proptest::collection::vec(any::<u8>(), 0..120),
        kind in 0usize..5,
        delta in proptest::collection::vec(any::<u8>(), 0..40),
    ) {
        let version = [0x45, 0x45, 0x60, 0x60, 0x4f][kind];
        let protocol = [crate::inner::TCP, crate::inner::UDP][kind % 2];
        if context.len() > 9 {
            context[0] = version;
            context[if kind < 2 { ipv4::PROTOCOL } else { ipv6::PROTOCOL }] = protocol;
            if kind < 2 {
                context[ipv4::FRAGMENT] &= ipv4::FLAGS;
                context[ipv4::FRAGMENT + 1] = 0;
            }
        }
        let _ = split(&context);
        attack(&context, &delta, b"payload")?;
    }

    #[test]
    fn numbers_fold_and_unfold(difference: u32, short: u16) {
        prop_assert_eq!(unfold(fold(difference)), difference);
        prop_assert_eq!(unfold(fold_u16(short)) as u16, short);
        prop_assert!(fold_u16(short) <= 0xffff);
    }
}

/// Expands any bytes; the result is a packet that could have been compressed.
fn attack(context: &[u8], bytes: &[u8], payload: &[u8]) -> Result<(), TestCaseError> {
    let (mut rest, mut out) = (bytes, BEFORE.to_vec());
    if expand(&Context { header: context, distance: 3 }, &mut rest, payload, &mut out).is_err() {
        prop_assert_eq!(rest, bytes);
        prop_assert_eq!(&out[..], BEFORE);
        return Ok(());
    }
    let packet = &out[BEFORE.len()..];
    let Some(split) = split(packet) else {
        return Err(TestCaseError::fail(format!("does not split: {packet:02x?}")));
    };
    prop_assert_eq!(split.payload, payload);
    delta(context, packet);
    Ok(())
}

#[test]
fn typical_packets_take_a_few_bytes() {
    let old = Fields { payload: vec![1; 1448], ..plain() };
    let size = |flow: &Flow, distance: u32, new: &Fields| {
        delta_at(distance, &build(flow, &old), &build(flow, new)).unwrap().len()
    };
    let v6 = Flow { is_ipv6: true, ..FLOW };
    let udp = Flow { is_tcp: false, ..FLOW };
    let mut sizes = String::new();
    let mut expect = |what: &str, bytes: usize, most: usize| {
        sizes += &format!("{what}: {bytes}\n");
        assert!(bytes <= most, "{what} takes {bytes} bytes");
    };

    let next = |segments: u16, milliseconds: u32| Fields {
        id: 100 + segments,
        sequence: old.sequence.wrapping_add(1448 * u32::from(segments)),
        options: timestamps(1_000_000 + milliseconds, 2_000_000 + milliseconds),
        payload: vec![2; 1448],
        ..plain()
    };
    expect("next segment, IPv4", size(&FLOW, 1, &next(1, 1)), 3);
    expect("next segment, IPv6", size(&v6, 1, &next(1, 1)), 3);
    expect("segment a round trip on, IPv4", size(&FLOW, 100, &next(100, 60)), 3);
    expect("segment a long round trip on, IPv4", size(&FLOW, 1000, &next(1000, 600)), 5);
    expect("pushed segment, IPv4", size(&FLOW, 40, &Fields { flags: 0x18, ..next(40, 20) }), 4);
    expect("segment among others', IPv4", size(&FLOW, 70, &next(40, 20)), 5);
    let last = Fields { payload: vec![3; 700], flags: 0x18, ..next(40, 20) };
    expect("last segment, IPv4", size(&FLOW, 40, &last), 7);

    let acknowledge = |segments: u16, milliseconds: u32| Fields {
        id: 100 + segments / 2,
        ack: 77 + 1448 * u32::from(segments),
        window: 501 + segments,
        options: timestamps(1_000_000 + milliseconds, 2_000_000 + milliseconds),
        sequence: old.sequence,
        payload: Vec::new(),
        ..plain()
    };
    expect("next acknowledgment, IPv4", size(&FLOW, 1, &acknowledge(2, 1)), 6);
    expect("next acknowledgment, IPv6", size(&v6, 1, &acknowledge(2, 1)), 6);
    expect("acknowledgment a round trip on, IPv4", size(&FLOW, 50, &acknowledge(100, 60)), 8);
    let mut selective = acknowledge(100, 60);
    let edges = [1448, 5 * 1448].map(|bytes| selective.ack + bytes);
    selective.options.extend(sack(&edges));
    expect("selective acknowledgment, IPv4", size(&FLOW, 50, &selective), 14);

    let datagram = Fields { id: 101, payload: vec![4; 1200], ..plain() };
    expect("next datagram, IPv4", size(&udp, 1, &datagram), 1);
    expect(
        "next datagram without a checksum",
        size(&udp, 1, &Fields { checksum: Some(0), ..datagram.clone() }),
        1,
    );
    expect(
        "next datagram, random identification",
        size(&udp, 1, &Fields { id: 40_000, ..datagram.clone() }),
        4,
    );
    expect("datagram marked by ECN", size(&udp, 1, &Fields { class: 3, ..datagram.clone() }), 3);
    expect("next datagram, IPv6", size(&Flow { is_ipv6: true, ..udp }, 1, &datagram), 1);
    println!("{sizes}");
}

#[test]
fn what_cannot_be_restored_exactly_is_not_split() {
    let refuse = |what: &str, flow: &Flow, spoil: &dyn Fn(&mut Vec<u8>)| {
        let mut packet = build(flow, &Fields { payload: vec![1; 100], ..plain() });
        assert!(split(&packet).is_some());
        spoil(&mut packet);
        let checksum = Layout::ipv4_checksum(&packet);
        if packet[0] >> 4 == 4 && what != "checksum" {
            layout::write_u16(&mut packet, ipv4::CHECKSUM, checksum);
        }
        assert_eq!(split(&packet), None, "{what}");
    };
    let v6 = Flow { is_ipv6: true, ..FLOW };
    let udp = Flow { is_tcp: false, ..FLOW };
    refuse("checksum", &FLOW, &|packet| packet[ipv4::CHECKSUM] ^= 1);
    refuse("options", &FLOW, &|packet| packet[0] = 0x46);
    refuse("more fragments", &FLOW, &|packet| packet[ipv4::FRAGMENT] |= 0x20);
    refuse("fragment offset", &FLOW, &|packet| packet[ipv4::FRAGMENT + 1] = 1);
    refuse("length", &FLOW, &|packet| packet.push(0));
    refuse("length over IPv6", &v6, &|packet| packet.push(0));
    refuse("cut short", &v6, &|packet| packet.truncate(70));
    refuse("extension header", &v6, &|packet| packet[ipv6::PROTOCOL] = 0);
    refuse("other protocol", &FLOW, &|packet| packet[ipv4::PROTOCOL] = 1);
    refuse("UDP's length", &udp, &|packet| packet[20 + udp::LENGTH + 1] ^= 1);
    refuse("urgent flag", &FLOW, &|packet| packet[20 + tcp::FLAGS] |= tcp::URG);
    refuse("urgent pointer", &FLOW, &|packet| packet[20 + tcp::URGENT] = 1);
    refuse("TCP header too short", &FLOW, &|packet| packet[20 + tcp::OFFSET] = 0x40);
    refuse("TCP header too long", &FLOW, &|packet| {
        packet.truncate(52);
        packet[20 + tcp::OFFSET] = 0xf0;
        packet[ipv4::LENGTH + 1] = 52;
        packet[ipv4::LENGTH] = 0;
    });
    refuse("other version", &FLOW, &|packet| packet[0] = 0x55);
    assert_eq!(split(&[]), None);
}

#[test]
fn of_a_flow_that_is_alone_identification_and_sequence_need_not_be_told() {
    let context = Fields { payload: vec![7; 100], ..plain() };
    let moved_on = |steps: u32| Fields {
        id: context.id.wrapping_add(steps as u16),
        sequence: context.sequence.wrapping_add(100 * steps),
        ..context.clone()
    };
    let (header, packet) = (build(&FLOW, &context), build(&FLOW, &moved_on(60)));
    assert_eq!(delta_at(60, &header, &packet), Some(vec![0]));
    assert_eq!(delta_at(62, &header, &packet).unwrap().len(), 3, "two packets were another's");
}

#[test]
fn more_payload_than_an_ip_packet_can_have_is_refused() {
    let context = build(&FLOW, &plain());
    for payload_bytes in [MAX_RESTORED_BYTES - context.len() + 1, MAX_RESTORED_BYTES, 70_000] {
        let (mut delta, mut out) = (&[0u8][..], Vec::new());
        let context = Context { header: &context, distance: 0 };
        let expanded = expand(&context, &mut delta, &vec![0; payload_bytes], &mut out);
        assert_eq!(expanded, Err(Malformed("header delta: packet length")));
        assert_eq!((delta.len(), out.len()), (1, 0));
    }
    let largest = Fields { payload: vec![0; MAX_RESTORED_BYTES - context.len()], ..plain() };
    assert_eq!(delta(&context, &build(&FLOW, &largest)), Some(vec![0]));
}
