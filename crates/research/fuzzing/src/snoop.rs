//! The access point's end of the repair of TCP segments, with what passes it written by the input: packets,
//! each behind its length in two bytes. Those of even number leave for the station, the others came from it.

use crate::Seed;
use crate::pair::{push_record, records};
use etherparse::{PacketBuilder, TcpOptionElement};
use recovery::{Coding, Repair, Segment, Settings, Snoop, Undoes, Verdict};
use std::time::Duration;
use wire::coded::Coded;
use wire::inner::Inner;

/// More would only take time.
const MAX_PACKETS: usize = 200;
const BUFFER_PACKETS: usize = 4;

/// For any packets: the station's packets keep their length and stay IP, repairs are packets or can be
/// parsed, buffers stay within their bound, and timers become idle.
pub fn check(bytes: &[u8]) -> bool {
    // both ways to make room
    let coding = if bytes.len().is_multiple_of(2) { Coding::Adaptive } else { Coding::ReedSolomon };
    let settings = Settings { buffer_packets: BUFFER_PACKETS, coding, ..Settings::default() };
    let mut snoop = Snoop::new(&settings, Undoes::Rows);
    let (mut now, mut repairs) = (Duration::ZERO, 0);
    for (number, record) in records(bytes).take(MAX_PACKETS).enumerate() {
        now += Duration::from_millis(7);
        let mut packet = record.to_vec();
        let Ok(inner) = Inner::parse(&packet) else { continue };
        let Some(segment) = Segment::parse(&packet, &inner) else { continue };
        if number % 2 == 0 {
            snoop.handle_departure(now, &packet, &segment);
        } else {
            let verdict = snoop.handle_arrival(now, &mut packet, &segment);
            assert_eq!(packet.len(), record.len());
            assert!(
                verdict == Verdict::Strip || packet == record,
                "only a selective acknowledgment is taken out"
            );
            assert_eq!(Inner::parse(&packet).map(|after| after.flow), Ok(inner.flow));
        }
        snoop.handle_timeout(now);
        repairs += take_repairs(&mut snoop, now);
        assert!(snoop.bytes() <= snoop.flows() * BUFFER_PACKETS * (bytes.len() + 16 * 160));
    }
    let mut rings = 0;
    while let Some(at) = snoop.timeout() {
        // each segment three times, and once more to be given up
        rings += 1;
        assert!(rings <= 4 * MAX_PACKETS, "timers come to rest");
        now = now.max(at);
        snoop.handle_timeout(now);
        take_repairs(&mut snoop, now);
    }
    repairs > 0
}

fn take_repairs(snoop: &mut Snoop, now: Duration) -> usize {
    let (mut out, mut count) = (Vec::new(), 0);
    while let Some(repair) = snoop.poll_repair(now, &mut out) {
        match repair {
            Repair::Packet => drop(Inner::parse(&out).expect("it was a packet")),
            Repair::Coded { .. } => drop(Coded::parse(&out).expect("it was written")),
        }
        out.clear();
        count += 1;
        assert!(count <= MAX_PACKETS, "there is an end");
    }
    count
}

/// A stream of which segments are lost, over IPv4 and IPv6, with selective acknowledgment and without.
pub fn seeds() -> Vec<Seed> {
    let stream = |v6: bool, sack: bool| {
        move |out: &mut Vec<u8>| {
            let builder = |from: u8, to: u8| match v6 {
                true => PacketBuilder::ipv6([from; 16], [to; 16], 64),
                false => PacketBuilder::ipv4([10, 0, 0, from], [10, 0, 0, to], 64),
            };
            for number in 0..12u32 {
                let mut packet = Vec::new();
                let tcp = builder(1, 2).tcp(80, 4242, number * 60, 1000).ack(1);
                tcp.write(&mut packet, &[number as u8; 60]).expect("a vector takes every byte");
                push_record(&packet, out);
                // the fourth and the fifth are lost
                let has = if number < 3 { (number + 1) * 60 } else { 180 };
                let block = (sack && number > 4).then_some((300, (number + 1) * 60));
                let option = block.map(|block| TcpOptionElement::SelectiveAcknowledgement(block, [None; 3]));
                let options: Vec<_> = option.into_iter().collect();
                packet.clear();
                let tcp =
                    builder(2, 1).tcp(4242, 80, 1, 1000).ack(has).options(&options).expect("there is room");
                tcp.write(&mut packet, &[]).expect("a vector takes every byte");
                push_record(&packet, out);
            }
        }
    };
    vec![
        Seed::of("ipv4-sack", stream(false, true)),
        Seed::of("ipv4", stream(false, false)),
        Seed::of("ipv6-sack", stream(true, true)),
    ]
}
