//! A driver of a link as in a program: from one timer to the next.

use std::time::Duration;

use air::{Link, LinkConfig};

/// Arrivals with their times.
pub type Log = Vec<(Duration, Vec<u8>)>;

pub const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

pub const fn us(microseconds: u64) -> Duration {
    Duration::from_micros(microseconds)
}

/// A frame of `bytes` (at least 8) that carries its number.
pub fn numbered(number: u64, bytes: usize) -> Vec<u8> {
    let mut frame = number.to_be_bytes().to_vec();
    frame.resize(bytes.max(8), number as u8);
    frame
}

/// The number that a frame carries.
pub fn number(frame: &[u8]) -> u64 {
    u64::from_be_bytes(frame[..8].try_into().unwrap())
}

/// Takes all arrivals up to `until`, each at the time that the link returns.
pub fn deliver(link: &mut Link, until: Duration, log: &mut Log) {
    while let Some(time) = link.poll_timeout().filter(|&time| time <= until) {
        while let Some(frame) = link.poll_deliver(time) {
            log.push((time, frame));
        }
    }
}

/// Offers every frame at its time (in order), and takes all arrivals.
pub fn run(link: &mut Link, schedule: impl IntoIterator<Item = (Duration, Vec<u8>)>) -> Log {
    let mut log = Log::new();
    for (time, frame) in schedule {
        deliver(link, time, &mut log);
        link.send(time, frame);
    }
    deliver(link, Duration::MAX, &mut log);
    log
}

/// The numbers of lost frames among `count`, all offered to an idle transmitter.
pub fn lost_numbers(config: &LinkConfig, seed: u64, sizes: impl Iterator<Item = usize>) -> Vec<u64> {
    let mut link = Link::new(config, seed).unwrap();
    let mut log = Log::new();
    let mut count = 0;
    for bytes in sizes {
        // The transmitter is idle when nothing is left to wait for.
        let now = link.poll_timeout().map_or(ms(count), |time| time.max(ms(count)));
        deliver(&mut link, now, &mut log);
        link.send(now, numbered(count, bytes));
        count += 1;
    }
    deliver(&mut link, Duration::MAX, &mut log);
    assert_eq!(link.counters().queue_dropped.frames, 0);
    let mut arrived = vec![false; count as usize];
    log.iter().for_each(|(_, frame)| arrived[number(frame) as usize] = true);
    (0..count).filter(|&number| !arrived[number as usize]).collect()
}
