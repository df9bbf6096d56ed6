//! Whether this machine can overhear others' traffic: listens for a second.

use super::{Finding, State};
use io::clock::Clock;
use io::sniffer::{Counters, Heard, LinkType, Sniffer, link_type};
use std::fs;
use std::path::Path;
use std::time::Duration;

/// Duration of listening.
const SECOND: Duration = Duration::from_secs(1);
/// The most interfaces.
const MAX_EARS: usize = 4;
/// The most system calls' worth of frames for each interface; later frames count as dropped.
const MAX_BATCHES: usize = 1000;

pub fn examine() -> Vec<Finding> {
    let (state, detail) = match listen(&interfaces(Path::new("/sys/class/net"))) {
        Ok(heard) if heard.is_empty() => {
            (State::Absent, "no interface in monitor mode, and none like Ethernet that is up".to_owned())
        }
        Ok(heard) => {
            let told: Vec<String> = heard.iter().map(tell).collect();
            (conclude(&heard), told.join("; "))
        }
        Err(error) => (State::Unknown, error.to_string()),
    };
    vec![Finding::new("hearing others", state, detail).without(
        "what was sent to other stations saves no air towards this one; the tunnel works all the same",
        "an open network or mesh without WPA, and a monitor interface on its channel (iw dev wlan0 interface add \
         wlan0mon type monitor); on a wire, a hub or a bridge that floods",
    )]
}

/// Interfaces in monitor mode, or else active Ethernet-like ones.
fn interfaces(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut found: Vec<(bool, String)> = entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let say = |what: &str| fs::read_to_string(entry.path().join(what)).ok();
            let link = link_type(say("type")?.trim().parse().ok()?)?;
            let flags = u32::from_str_radix(say("flags")?.trim().trim_start_matches("0x"), 16).ok()?;
            const UP: u32 = 1;
            let wired = link == LinkType::ETHERNET;
            (flags & UP != 0).then(|| entry.file_name().into_string().ok().map(|name| (wired, name)))?
        })
        .collect();
    found.sort();
    let monitors = found.iter().filter(|(wired, _)| !wired).count();
    found.truncate(if monitors > 0 { monitors.min(MAX_EARS) } else { MAX_EARS });
    found.into_iter().map(|(_, name)| name).collect()
}

/// The counts of all UDP between others on these interfaces in a second.
fn listen(interfaces: &[String]) -> Result<Vec<Heard>, io::Error> {
    let clock = Clock::start();
    let mut ears: Vec<Sniffer> =
        interfaces.iter().map(|interface| Sniffer::open(interface, &[])).collect::<Result<_, _>>()?;
    if !ears.is_empty() {
        std::thread::sleep(SECOND);
    }
    for ear in &mut ears {
        let mut batches = 0;
        while batches < MAX_BATCHES && ear.receive(clock.now(), |_| {}).unwrap_or(false) {
            batches += 1;
        }
    }
    Ok(ears.iter_mut().map(Sniffer::heard).collect())
}

fn tell(heard: &Heard) -> String {
    let Heard { interface, link, counters } = heard;
    let said = match counters {
        Counters { datagrams: datagrams @ 1.., protected, .. } => {
            format!("{datagrams} datagrams for others in a second, {protected} frames encrypted by the radio")
        }
        Counters { protected: protected @ 1.., .. } => {
            format!(
                "{protected} frames in a second, all encrypted by the radio (WPA): nothing can be overheard"
            )
        }
        _ => "no datagrams for others in a second".to_owned(),
    };
    format!("{interface} ({link}): {said}")
}

/// The state after listening. A second of silence proves nothing.
fn conclude(heard: &[Heard]) -> State {
    if heard.iter().any(|heard| heard.counters.datagrams > 0) {
        State::Present
    } else if heard.iter().any(|heard| heard.counters.protected > 0) {
        State::Absent
    } else {
        State::Unknown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(datagrams: u64, protected: u64) -> Heard {
        let counters = Counters { datagrams, protected, ..Counters::default() };
        Heard { interface: "wlan0mon".to_owned(), link: "802.11".to_owned(), counters }
    }

    #[test]
    fn encrypted_frames_are_no_hearing_and_silence_proves_nothing() {
        assert_eq!(conclude(&[heard(0, 9), heard(2, 0)]), State::Present);
        assert_eq!(conclude(&[heard(0, 9), heard(0, 0)]), State::Absent);
        assert_eq!(conclude(&[heard(0, 0)]), State::Unknown);
        assert!(tell(&heard(0, 9)).contains("nothing can be overheard"));
    }

    #[test]
    fn a_monitor_is_preferred_and_what_is_down_or_of_another_kind_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let add = |name: &str, kind: u16, flags: &str| {
            let of_interface = folder.path().join(name);
            fs::create_dir(&of_interface).unwrap();
            fs::write(of_interface.join("type"), format!("{kind}\n")).unwrap();
            fs::write(of_interface.join("flags"), format!("{flags}\n")).unwrap();
        };
        add("lo", 772, "0x9");
        add("eth1", 1, "0x1002");
        add("eth0", 1, "0x1003");
        assert_eq!(interfaces(folder.path()), ["eth0"]);
        add("wlan0mon", 803, "0x1003");
        assert_eq!(interfaces(folder.path()), ["wlan0mon"]);
    }
}
