//! Others' frames by the rate at which they were sent: what a radio overhears, and what WPA keeps from it.

use super::{AtRate, Finding, State};
use io::radio::{Monitor, Radio};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};
use wire::link::survey::{Kind, Seen, Sent, look};
use wire::link::{LinkType, Unpacker};

/// The most rates that are told apart.
const MAX_RATES: usize = 256;
/// The most radios that are tried.
const MAX_RADIOS: usize = 8;
/// The time between two looks at a quiet monitor.
const PAUSE: Duration = Duration::from_millis(2);

/// Frames of data for one other station, at one rate. A readable one holds an IP packet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Counts {
    readable: u64,
    protected: u64,
    aggregated: u64,
}

/// The frames of a monitor.
#[derive(Debug, Default)]
struct Tally {
    rates: BTreeMap<Sent, Counts>,
    /// Beacons and so on, acknowledgements and so on, and data for several.
    others: u64,
    retries: u64,
    damaged: u64,
    own: u64,
    own_radios: BTreeSet<[u8; 6]>,
    unpacker: Unpacker,
}

impl Tally {
    fn count(&mut self, link_type: LinkType, frame: &[u8]) {
        let Ok(Seen { sent, kind, receiver, transmitter, is_retry, is_aggregated }) = look(link_type, frame)
        else {
            self.damaged += 1;
            return;
        };
        let mut holds_ip = false;
        // Its errors are the kinds of frames that `look` tells apart.
        let _ = self.unpacker.unpack(link_type, frame, &mut |_| holds_ip = true);
        let is_own = self.own_radios.contains(&receiver)
            || transmitter.is_some_and(|transmitter| self.own_radios.contains(&transmitter));
        match kind {
            Kind::Data { .. } if is_own => self.own += 1,
            Kind::Data { .. } if is_retry => self.retries += 1,
            Kind::Data { protected } if protected || holds_ip => {
                if self.rates.len() == MAX_RATES && !self.rates.contains_key(&sent) {
                    return;
                }
                let counts = self.rates.entry(sent).or_default();
                counts.readable += u64::from(!protected);
                counts.protected += u64::from(protected);
                counts.aggregated += u64::from(is_aggregated);
            }
            _ => self.others += 1,
        }
    }

    fn rows(&self) -> Vec<AtRate> {
        let row = |(sent, counts): (&Sent, &Counts)| {
            let &Counts { readable, protected, aggregated } = counts;
            AtRate { rate: sent.to_string(), readable, protected, aggregated }
        };
        self.rates.iter().map(row).collect()
    }

    fn sum(&self, of: fn(&Counts) -> u64) -> u64 {
        self.rates.values().map(of).sum()
    }

    /// The state of overhearing by these frames, and what was seen.
    fn conclude(&self, place: &str) -> (State, String) {
        let (readable, protected) = (self.sum(|it| it.readable), self.sum(|it| it.protected));
        let rest =
            format!("{} frames without data for one station, {} sent again", self.others, self.retries);
        match (readable, protected) {
            (0, 0) => (State::Unknown, format!("{place}: no data for other stations; {rest}")),
            (0, protected) => {
                let what = "all encrypted by the radio (WPA): nothing can be overheard";
                (
                    State::Absent,
                    format!("{place}: {protected} frames of data for other stations, {what}; {rest}"),
                )
            }
            (readable, protected) => {
                let by_rate: Vec<String> = self
                    .rates
                    .iter()
                    .filter(|(_, counts)| counts.readable > 0)
                    .map(|(sent, counts)| format!("{} at {sent}", counts.readable))
                    .collect();
                let by_rate = by_rate.join(", ");
                let said = format!(
                    "{place}: {readable} frames of data for other stations that can be used ({by_rate}), and {protected} \
                     encrypted; {rest}"
                );
                (State::Present, said)
            }
        }
    }

    fn finding(&self, place: &str) -> Finding {
        let (state, detail) = self.conclude(place);
        Finding { rates: self.rows(), ..finding(state, detail) }
    }
}

fn finding(state: State, detail: String) -> Finding {
    Finding::new("others' frames by rate", state, detail).without(
        "what was sent to other stations saves no air towards this one; the tunnel works all the same",
        "see docs/guides/radios.md: an open network, rates and spatial streams that every station receives, and a \
         driver with a monitor beside the station",
    )
}

/// Adds a monitor to each radio beside what it does, and counts others' frames for this time.
pub fn try_radios(duration: Duration) -> Vec<Finding> {
    match io::radio::radios() {
        Ok(radios) if radios.is_empty() => {
            vec![finding(State::Absent, "no radio that nl80211 knows".to_owned())]
        }
        Ok(radios) => radios.iter().take(MAX_RADIOS).map(|radio| try_radio(radio, duration)).collect(),
        Err(error) => vec![finding(State::Unknown, error.to_string())],
    }
}

fn try_radio(radio: &Radio, duration: Duration) -> Finding {
    let mut tally =
        Tally { own_radios: addresses_of(Path::new("/sys/class/net"), &radio.name), ..Tally::default() };
    let heard = Monitor::beside(radio).and_then(|monitor| {
        let mut frames = monitor.frames()?;
        let link_type = frames.link_type();
        let end = Instant::now() + duration;
        while Instant::now() < end {
            match frames.next_frame() {
                Ok(Some(frame)) => tally.count(link_type, frame),
                Ok(None) => std::thread::sleep(PAUSE),
                Err(_) => break,
            }
        }
        Ok(())
    });
    match heard {
        Ok(()) => tally.finding(&radio.name),
        Err(error) => {
            finding(State::Absent, format!("{}: no monitor beside its other interfaces: {error}", radio.name))
        }
    }
}

/// The link-layer addresses of a radio's interfaces.
fn addresses_of(folder: &Path, radio: &str) -> BTreeSet<[u8; 6]> {
    let Ok(entries) = std::fs::read_dir(folder) else { return BTreeSet::new() };
    let of_radio = |path: &Path| {
        let name = std::fs::read_to_string(path.join("phy80211/name")).ok()?;
        (name.trim() == radio).then_some(())?;
        address(std::fs::read_to_string(path.join("address")).ok()?.trim())
    };
    entries.filter_map(|entry| of_radio(&entry.ok()?.path())).collect()
}

fn address(text: &str) -> Option<[u8; 6]> {
    let bytes: Vec<u8> =
        text.split(':').map(|byte| u8::from_str_radix(byte, 16)).collect::<Result<_, _>>().ok()?;
    bytes.try_into().ok()
}

/// Counts the frames of a monitor's capture in the same way.
///
/// # Errors
///
/// If the capture cannot be read.
#[cfg(feature = "capture")]
pub fn of_capture(path: &Path) -> anyhow::Result<Finding> {
    use anyhow::Context;
    use capture::{CaptureReader, Source};
    let read = Source::open(path).and_then(CaptureReader::new);
    let mut reader = read.with_context(|| format!("cannot read the capture {}", path.display()))?;
    let mut tally = Tally::default();
    while let Some(frame) = reader.next_frame() {
        tally.count(frame.link_type, frame.bytes);
    }
    Ok(tally.finding(&path.display().to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(half_mbit: u8, flags: u8, to: u8) -> Vec<u8> {
        let mut bytes = vec![0, 0, 9, 0, 4, 0, 0, 0, half_mbit, 0x88, flags, 0, 0, 2, 0, 0, 0, 0, to];
        bytes.extend([2, 0, 0, 0, 0, 0xee, 2, 0, 0, 0, 0, 0xee, 0, 0, 0, 0]);
        bytes.extend([0xaa, 0xaa, 3, 0, 0, 0, 8, 0, 0x45, 0, 0, 20]);
        bytes.extend([0; 16]);
        bytes
    }

    #[test]
    fn frames_are_counted_by_rate_and_only_those_for_others() {
        let mut tally = Tally { own_radios: [[2, 0, 0, 0, 0, 9]].into(), ..Tally::default() };
        assert_eq!(tally.conclude("phy0").0, State::Unknown);
        let mut count =
            |half_mbit, flags, to| tally.count(LinkType::IEEE802_11_RADIOTAP, &frame(half_mbit, flags, to));
        for (half_mbit, flags, to) in
            [(108, 2, 1), (108, 2, 1), (11, 2, 1), (108, 2, 9), (108, 0x42, 1), (108, 0x0a, 1)]
        {
            count(half_mbit, flags, to);
        }
        let (state, said) = tally.conclude("phy0");
        assert_eq!(state, State::Present);
        assert!(
            said.contains("3 frames of data") && said.contains("1 at 5.5 Mbit/s, 2 at 54 Mbit/s"),
            "{said}"
        );
        assert_eq!((tally.own, tally.retries), (1, 1));
        let row = AtRate { rate: "54 Mbit/s".to_owned(), readable: 2, protected: 1, aggregated: 0 };
        assert_eq!(tally.rows()[1], row);
    }

    #[test]
    fn where_everything_is_encrypted_nothing_is_overheard() {
        let mut tally = Tally::default();
        tally.count(LinkType::IEEE802_11_RADIOTAP, &frame(108, 0x42, 1));
        let (state, said) = tally.conclude("phy0");
        assert!(state == State::Absent && said.contains("WPA"), "{said}");
        assert_eq!(address("02:00:00:00:01:ff"), Some([2, 0, 0, 0, 1, 255]));
        assert_eq!(address("02:00"), None);
    }
}
