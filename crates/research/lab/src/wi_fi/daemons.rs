//! The daemons of networks: hostapd at the access points, wpa_supplicant at the stations.

use super::{Protection, WiFi};
use crate::scenario::{Daemon, Ready};

/// Timeout of a daemon's readiness: a scan and an association that losses delay.
const WITHIN_SECONDS: u64 = 60;
/// The frequency of channel 1.
pub(super) const MEGAHERTZ: u32 = 2412;
/// The passphrase of protected networks.
const PASSPHRASE: &str = "all the same";

/// The daemons in their order: each access point before its stations.
pub(crate) fn daemons(networks: &[WiFi]) -> Vec<Daemon> {
    let of_network = |network: &WiFi| {
        let stations = network.stations.iter().map(|place| station(network, place));
        std::iter::once(access_point(network)).chain(stations).collect::<Vec<_>>()
    };
    networks.iter().flat_map(of_network).collect()
}

fn access_point(network: &WiFi) -> Daemon {
    let name = &network.name;
    let security = match network.protection {
        Protection::Open => String::new(),
        Protection::Wpa2 => {
            format!("wpa=2\nwpa_key_mgmt=WPA-PSK\nrsn_pairwise=CCMP\nwpa_passphrase={PASSPHRASE}\n")
        }
    };
    // OFDM alone, in units of 100 kbit/s.
    let config = format!(
        "interface={name}\ndriver=nl80211\nssid={name}\nhw_mode=g\nchannel=1\n\
         supported_rates=60 90 120 180 240 360 480 540\nbasic_rates=60 120 240\n{security}"
    );
    daemon(network, &network.access_point, &["hostapd", "{config}"], config, "AP-ENABLED")
}

fn station(network: &WiFi, place: &str) -> Daemon {
    let name = &network.name;
    let security = match network.protection {
        Protection::Open => "key_mgmt=NONE".to_owned(),
        Protection::Wpa2 => format!("psk=\"{PASSPHRASE}\""),
    };
    let config = format!("network={{\nssid=\"{name}\"\nscan_freq={MEGAHERTZ}\n{security}\n}}\n");
    let command = ["wpa_supplicant", "-i", name, "-D", "nl80211", "-c", "{config}"];
    daemon(network, place, &command, config, "CTRL-EVENT-CONNECTED")
}

fn daemon(network: &WiFi, place: &str, command: &[&str], config: String, ready: &str) -> Daemon {
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    Daemon {
        name: format!("{}-{place}", network.name),
        place: place.to_owned(),
        command: owned(command),
        config,
        ready: Ready::Said { text: ready.to_owned(), within_seconds: WITHIN_SECONDS },
        status: Vec::new(),
        later: false,
        within_seconds: None,
    }
}
