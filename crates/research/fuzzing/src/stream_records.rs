//! Records of streams, which a far end sends.

use crate::Seed;
use re::{Parameters, Policy};
use std::collections::{BTreeSet, VecDeque};
use streams::{RecordReader, RecordWriter, Reduction};
use wire::inner::{Flow, TCP};
use wire::record::{MOST_PLAIN_BYTES, Record};

/// The store of the far end.
const STORE_BYTES: usize = 64 << 10;
/// What the store here takes, with its tables.
const MOST_BYTES: usize = 1 << 20;
/// Records that the far end is told of at once.
const MOST_TOLD: u64 = 4096;
/// An arrival of this kind sets the bound of the store.
const BOUND: u8 = 0x80;

/// What both ends of the targets remove from streams, and keep.
pub(crate) fn reduction() -> Reduction {
    Reduction {
        parameters: Parameters { policy: Policy::Acked, store_bytes: STORE_BYTES, ..Parameters::default() },
        peer_window_bytes: 16,
        peer_sample_bits: 4,
        compresses: true,
        ..Reduction::default()
    }
}

fn flow(number: u8) -> Flow {
    let (source, destination) = match number {
        3 => ([0xfd; 16].into(), [0xfc; 16].into()),
        _ => ([10, 0, 0, 1].into(), [10, 0, 0, 2].into()),
    };
    let destination_port = 4000 + u16::from(number);
    Flow { source, destination, protocol: TCP, source_port: 80, destination_port }
}

/// One arrival in the input: its kind, whose low bits are those of its flow, and its bytes.
fn arrivals(mut rest: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    std::iter::from_fn(move || {
        let &[kind, high, low, ref behind @ ..] = rest else { return None };
        let (bytes, behind) = behind.split_at_checked(u16::from_be_bytes([high, low]).into())?;
        rest = behind;
        Some((kind, bytes))
    })
}

/// A parsed record is equal after it is emitted again. What is read has bytes, and no more than a record may
/// have. The far end is told only of records that came to be stored, and the store keeps within its bound.
pub fn check(bytes: &[u8]) -> bool {
    let mut reader = RecordReader::new(&reduction());
    let (mut offsets, mut stored, mut told) = ([0; 4], BTreeSet::new(), BTreeSet::new());
    let (mut stored_records, mut is_accepted) = (0, false);
    for (kind, bytes) in arrivals(bytes) {
        if kind & BOUND != 0 {
            reader.set_store_bytes(STORE_BYTES / 64 * bytes.len().min(64));
            continue;
        }
        let parsed = Record::parse(bytes);
        if let Ok(record) = parsed {
            let mut again = Vec::new();
            record.emit(&mut again);
            assert_eq!(again, bytes);
        }
        let offset = &mut offsets[usize::from(kind & 3)];
        if let Ok(plain) = reader.read(&flow(kind & 3), *offset, bytes) {
            assert!((1..=MOST_PLAIN_BYTES).contains(&plain.len()));
            *offset += plain.len() as u64;
            let record = parsed.expect("it was read");
            if record.is_stored {
                stored.insert(record.number);
                stored_records += 1;
            }
            is_accepted = true;
        }
        while let Some(records) = reader.take_stored() {
            assert!(!records.is_empty() && records.end - records.start <= MOST_TOLD);
            assert!(records.clone().all(|number| stored.contains(&(number as u32))));
            told.extend(records);
        }
        assert!(told.len() <= stored_records && !reader.has_stored());
        assert!(reader.memory_bytes() <= MOST_BYTES, "{} bytes", reader.memory_bytes());
    }
    let tally = reader.tally();
    assert!(tally.saved_bytes <= tally.stored_bytes);
    is_accepted
}

/// Records as they are, stored, repeated in their own flow and in others, compressed, and of a smaller store.
pub fn seeds() -> Vec<Seed> {
    let arrival = |out: &mut Vec<u8>, kind: u8, bytes: &[u8]| {
        out.push(kind);
        out.extend_from_slice(&(bytes.len() as u16).to_be_bytes());
        out.extend_from_slice(bytes);
    };
    let content: Vec<u8> = (0..900u32).map(|at| (at.wrapping_mul(at) >> 5) as u8 ^ (at as u8)).collect();
    // `pieces`: the flow of each, and its part of the content
    let stream = move |pieces: &'static [(u8, usize, usize)], reduction: Reduction, smaller: bool| {
        let content = content.clone();
        move |out: &mut Vec<u8>| {
            let mut writer = RecordWriter::new(&reduction);
            let mut offsets = [0; 4];
            for (number, &(kind, first, count)) in pieces.iter().enumerate() {
                let mut plain: VecDeque<u8> = content[first..first + count].iter().copied().collect();
                let (mut record, offset) = (VecDeque::new(), &mut offsets[usize::from(kind)]);
                writer.write(&flow(kind), *offset, &mut plain, count, &mut record);
                *offset += count as u64;
                arrival(out, kind, record.make_contiguous());
                writer.confirm(number as u32, 1);
                if smaller {
                    arrival(out, BOUND, &[0; 8]);
                }
            }
        }
    };
    let plain = Reduction { compresses: false, ..Reduction::default() };
    vec![
        Seed::of("plain", stream(&[(0, 0, 40), (1, 40, 300)], plain, false)),
        Seed::of(
            "again",
            stream(&[(0, 0, 400), (0, 0, 400), (1, 100, 300), (3, 0, 900)], reduction(), false),
        ),
        Seed::of("smaller", stream(&[(0, 0, 700), (1, 100, 600)], reduction(), true)),
    ]
}
