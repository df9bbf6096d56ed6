//! Messages between gateways, and a gateway that receives them: each a 16-bit length and its bytes.

use crate::Seed;
use overhear::neighbourhood::{Neighbourhood, Settings};
use overhear::{AirTime, Association, Gateway, StationId};
use std::time::Duration;
use wire::group::OtherGroup;
use wire::named_chunks::{self, NamedChunk};
use wire::neighbours::{Message, Said};

const OWN: u64 = 5;
const FOREIGN: u64 = 6;

fn messages(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let (&length, behind) = rest.split_first_chunk()?;
        let (message, behind) = behind.split_at(usize::from(u16::from_be_bytes(length)).min(behind.len()));
        rest = behind;
        Some(message)
    })
}

/// A parsed and emitted message parses equally. For any messages, other gateways' stations stay within their
/// bound, and this gateway's own station keeps its place. The same holds for a relay's.
pub fn check(bytes: &[u8]) -> bool {
    let accepted = [&[][..], &[0, 1]].map(|relays| check_among(relays, bytes));
    accepted.contains(&true)
}

fn check_among(relays: &[u16], bytes: &[u8]) -> bool {
    let settings = overhear::Settings { slot_bits: 14, ..overhear::Settings::new([1; 32]) };
    let Ok(mut gateway) = Gateway::new(settings) else { return false };
    let air_time = AirTime::of_rate(1_000_000);
    let association = Association {
        slot_bits: 14,
        rate_bits_per_second: 1_000_000,
        rate_is_known: false,
        air_time,
        mac_key: Some([2; 32]),
    };
    gateway.join(StationId(0), association, Duration::ZERO).expect("there is room");
    let mut neighbourhood =
        Neighbourhood::of_relay(Settings { foreign_stations: 4, ..Settings::default() }, 1, 14, relays);
    neighbourhood.add_station(&mut gateway, OWN, StationId(0), 1_000_000);
    neighbourhood.record_report(OWN, 0, 9, 0, &[1], Duration::ZERO);
    let (mut accepted, mut now) = (false, Duration::ZERO);
    for message in messages(bytes).take(64) {
        now += Duration::from_millis(300);
        let mut sent = Vec::new();
        gateway.encode(StationId(0), &[7; 300], now, &mut sent);
        if let Ok(read) = Message::parse(message) {
            let mut again = Vec::new();
            read.emit(&mut again);
            assert_eq!(Message::parse(&again), Ok(read));
        }
        accepted |= neighbourhood.handle_message(&mut gateway, 0, message, now).is_ok();
        neighbourhood.handle_timeout(&mut gateway, now);
        assert!(neighbourhood.foreign_stations() <= 4);
        assert!(neighbourhood.common_stations_with(0) <= relays.len().min(1));
        assert!(gateway.is_associated(StationId(0)));
        while neighbourhood.poll_message().is_some() {}
    }
    accepted
}

/// A station that overhears, its report, chunks of one of this gateway's stations, and a farewell.
pub fn seeds() -> Vec<Seed> {
    let write = |all: &[(u64, Said<'_>)], out: &mut Vec<u8>| {
        for (station, said) in all {
            let mut message = Vec::new();
            Message { boot: 9, station: *station, said: *said }.emit(&mut message);
            out.extend_from_slice(&(message.len() as u16).to_be_bytes());
            out.extend_from_slice(&message);
        }
    };
    let overhears = Said::Overhears { rate_kilobits_per_second: 54_000 };
    let heard = Said::Heard { boot: 1, newest: 2, bitmap: &[0b111] };
    let mut chunks = Vec::new();
    named_chunks::emit(
        14,
        &mut vec![NamedChunk { slot: 3, tag: 4 }, NamedChunk { slot: 700, tag: 5 }],
        &mut chunks,
    );
    vec![
        Seed::of("heard", |out| write(&[(FOREIGN, overhears), (FOREIGN, heard)], out)),
        Seed::of("named", |out| write(&[(OWN, Said::Named(&chunks))], out)),
        Seed::of("has", |out| write(&[(FOREIGN, Said::Has)], out)),
        Seed::of("group", |out| {
            write(&[(0, Said::Group(OtherGroup { key_id: 7, traffic_key: [1; 32] }))], out);
        }),
        Seed::of("gone", |out| write(&[(FOREIGN, overhears), (FOREIGN, Said::Gone)], out)),
    ]
}
