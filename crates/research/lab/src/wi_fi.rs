//! Wi-Fi networks on radios that the kernel simulates (mac80211_hwsim): real mac80211 with its rate control,
//! hostapd, and wpa_supplicant. The emulated air between the radios decides which frames arrive, and when.

mod cells;
mod daemons;
mod kernel;
mod radios;

pub use cells::Cells;
pub(crate) use daemons::daemons;
pub(crate) use radios::{MovedRadios, move_radios};

use air::MediumConfig;
use serde::{Deserialize, Serialize};

/// A network of 802.11g: an access point and its stations, on a channel of their own.
///
/// Network number `n` is `10.79.n.0/24`. The access point is host 1, and the stations are hosts 2, 3 and so
/// on in order. Each interface has the network's name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WiFi {
    /// The network's name, its SSID, and its interfaces' (at most 12 letters and digits).
    pub name: String,
    /// The place of the access point.
    pub access_point: String,
    /// The places of the stations.
    pub stations: Vec<String>,
    /// Places of this network whose radio also has an interface in monitor mode. Its name is the network's
    /// with `mon` after it.
    #[serde(default)]
    pub monitors: Vec<String>,
    /// Protection by the radio.
    #[serde(default)]
    pub protection: Protection,
    /// The medium: first the access point, then the stations. Its ranges are those at the radio's rate. The
    /// kernel decides the rates of frames, and `monitors` the listeners.
    pub medium: MediumConfig,
}

/// Protection of a network by its radios.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protection {
    /// None: what is in the air can be overheard.
    #[default]
    Open,
    /// Encryption for each station (WPA2).
    Wpa2,
}

impl WiFi {
    /// The places: first the access point, then the stations.
    pub fn members(&self) -> impl Iterator<Item = &String> + Clone {
        std::iter::once(&self.access_point).chain(&self.stations)
    }

    /// The number of a place among the members.
    pub(crate) fn member(&self, place: &str) -> Option<usize> {
        self.members().position(|member| member == place)
    }

    /// Whether the radio of a place also has an interface in monitor mode.
    pub(crate) fn has_monitor(&self, place: &str) -> bool {
        self.monitors.iter().any(|monitor| monitor == place)
    }

    /// The name of interfaces in monitor mode.
    pub(crate) fn monitor_name(&self) -> String {
        format!("{}mon", self.name)
    }

    /// The medium, with the monitors as its listeners.
    fn listened_medium(&self) -> MediumConfig {
        let listeners = self.monitors.iter().filter_map(|place| self.member(place)).collect();
        MediumConfig { listeners, ..self.medium.clone() }
    }
}
