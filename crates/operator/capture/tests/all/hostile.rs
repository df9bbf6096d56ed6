//! For any bytes: a result, an error or a counter, but no panic and no hang.

use crate::made::*;
use capture::{CaptureError, Damage, Options, Source};
use proptest::prelude::*;
use std::io::Cursor;

fn frames() -> Vec<Vec<u8>> {
    vec![
        ethernet(0x0800, &tcp_down(0, 1, &noise(1, 60))),
        ethernet(0x86dd, &udp_v6(5000, 53, &noise(2, 30))),
        ethernet(0x8100, &[&[0, 5, 8, 0][..], &tcp_up(0, 80, 1, &noise(3, 40))].concat()),
    ]
}

fn wireless() -> Vec<Vec<u8>> {
    let radiotap = [0, 0, 18, 0, 7, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 0, 2];
    let frame = |number, body: Vec<u8>| [&radiotap[..], &ieee80211(0x88, 2, number, &body)].concat();
    let packet = snap(&tcp_down(0, 1, &noise(4, 50)));
    let subframe = [&[4; 12][..], &(packet.len() as u16).to_be_bytes(), &packet].concat();
    vec![frame(1, [&[0, 0][..], &packet].concat()), frame(2, [&[0x80, 0][..], &subframe, &subframe].concat())]
}

#[test]
fn a_capture_cut_at_any_byte_gives_the_whole_records_before_the_cut() {
    let whole = [
        pcap(1, &frames()),
        pcap(127, &wireless()),
        pcapng(Order::Little, 1, &frames()),
        pcapng(Order::Big, 127, &wireless()),
    ];
    for file in whole {
        let all = read(&file).unwrap();
        assert_eq!(all.damage, None);
        for cut in 0..file.len() {
            let Some(reading) = read(&file[..cut]) else {
                assert!(cut < 32, "a file of {cut} bytes has a header");
                continue;
            };
            let frames = reading.dissector.frames().frames;
            assert!(frames <= all.dissector.frames().frames);
            assert_eq!(reading.payloads, all.payloads[..reading.payloads.len()], "cut at {cut}");
            if let Some(damage) = reading.damage {
                assert_eq!(damage, Damage::Truncated { frames }, "cut at {cut}");
            }
        }
    }
}

#[test]
fn a_packed_capture_cut_at_any_byte_ends_with_a_reason() {
    let file = pcap(1, &frames());
    for packed in [gzip(&file), xz(&file)] {
        for cut in 0..packed.len() {
            if let Some(reading) = read(&packed[..cut]) {
                let whole = reading.payloads.len() == frames().len();
                assert!(reading.damage.is_some() || whole, "cut at {cut}: {reading:?}");
            }
        }
    }
}

#[test]
fn frames_cut_at_any_byte_are_counted_and_give_at_most_what_they_hold() {
    for (link_type, frames) in [(1, frames()), (127, wireless())] {
        for frame in frames {
            for cut in 0..frame.len() {
                let reading = read(&pcap(link_type, &[frame[..cut].to_vec()])).unwrap();
                let payload_bytes: usize = reading.payloads.iter().map(Vec::len).sum();
                assert!(payload_bytes <= cut);
            }
        }
    }
}

#[test]
fn what_is_no_capture_is_told_apart_in_one_line() {
    let refused = |bytes: &[u8]| {
        let source = Source::from_stream(Cursor::new(bytes.to_vec()), None)?;
        capture::CaptureReader::new(source).map(|_| ())
    };
    assert!(matches!(refused(b""), Err(CaptureError::Empty)));
    assert!(matches!(refused(b"%PDF-1.7 and so on, which is no capture at all"), Err(CaptureError::Foreign)));
    assert!(matches!(refused(&gzip(b"just text")), Err(CaptureError::Foreign)));
    assert!(matches!(refused(&gzip(b"")), Err(CaptureError::Empty)));
    assert!(matches!(refused(&[0x1f, 0x8b, 1, 2, 3]), Err(CaptureError::Open { .. })));
    assert!(matches!(Source::open(std::path::Path::new(".")), Err(CaptureError::Directory)));
    for error in [refused(b"%PDF").unwrap_err(), Source::open("/nowhere".as_ref()).unwrap_err()] {
        assert_eq!(error.to_string().lines().count(), 1);
    }
}

#[test]
fn a_record_that_claims_to_be_huge_ends_the_reading() {
    let mut file = pcap(1, &frames()[..1]);
    file.extend([0; 8]);
    file.extend(0x7fff_ffffu32.to_le_bytes());
    file.extend(0x7fff_ffffu32.to_le_bytes());
    file.extend(vec![0; 3 << 20]);
    let reading = read(&file).unwrap();
    assert_eq!(reading.dissector.frames().frames, 1);
    assert!(matches!(
        reading.damage,
        Some(Damage::Truncated { frames: 1 } | Damage::Malformed { frames: 1, .. })
    ));
}

#[test]
fn a_capture_without_anything_in_it_is_an_answer() {
    let report = Options::default().analyze(source(&pcap(1, &[])), &mut |_| {}).unwrap();
    assert_eq!((report.packets, report.traffic.payload_bytes, report.clients), (0, 0, 0));
    assert!(report.advice.starts_with("Nothing can be said"), "{}", report.advice);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        read(&bytes);
    }

    #[test]
    fn any_bytes_behind_a_header_are_read_to_some_end(
        bytes in proptest::collection::vec(any::<u8>(), 0..300),
        next_generation: bool,
        link_type in prop_oneof![Just(1u32), Just(127), Just(105), Just(113), Just(276), Just(0), Just(101)],
    ) {
        let header =
            if next_generation { pcapng(Order::Little, link_type as u16, &[]) } else { pcap(link_type, &[]) };
        prop_assert!(read(&[header, bytes].concat()).is_some());
    }

    #[test]
    fn any_frames_of_any_link_are_taken_apart_or_counted(
        frames in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..120), 0..6),
        link_type in 0u32..300,
    ) {
        let reading = read(&pcap(link_type, &frames)).unwrap();
        prop_assert_eq!(reading.dissector.frames().frames, frames.len() as u64);
        prop_assert_eq!(reading.damage, None);
    }

    #[test]
    fn damaged_captures_are_read_to_some_end(
        kind in 0usize..6,
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let mut file = match kind {
            0 => pcap(1, &frames()),
            1 => pcap(127, &wireless()),
            2 => pcapng(Order::Little, 1, &frames()),
            3 => pcapng(Order::Big, 127, &wireless()),
            4 => gzip(&pcap(1, &frames())),
            _ => xz(&pcapng(Order::Little, 127, &wireless())),
        };
        for (at, byte) in damage {
            let at = at.index(file.len());
            file[at] ^= byte;
        }
        read(&file);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_method_survives_any_payloads(
        payloads in proptest::collection::vec(
            (proptest::collection::vec(0u8..3, 0..200), any::<u16>(), any::<u16>(), any::<bool>(), any::<u32>()), 0..30,
        ),
    ) {
        let packets: Vec<_> = payloads
            .iter()
            .map(|(payload, source, destination, udp, sequence)| {
                if *udp { udp_v6(*source, *destination, payload) } else { tcp_down(usize::from(source % 3), *sequence, payload) }
            })
            .collect();
        let mut options = Options::default();
        options.byte_caching.store_bytes = 1 << 16;
        let report = options.analyze(source(&pcap(101, &packets)), &mut |_| {}).unwrap();
        for method in &report.methods {
            let total = method.total.savings;
            prop_assert_eq!(total.payload_bytes, report.traffic.payload_bytes, "{}", method.name);
            prop_assert!(total.redundant_bytes <= total.payload_bytes);
            prop_assert!(total.encoded_bytes + total.redundant_bytes >= total.payload_bytes);
            prop_assert!(total.encoded_zstd_bytes <= total.encoded_bytes);
            prop_assert!(method.name == "zstd" || method.intra_bytes + method.inter_bytes == method.to_client.savings.redundant_bytes);
        }
    }
}
