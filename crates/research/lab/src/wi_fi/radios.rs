//! The kernel's simulated radios: finding them, and moving them into places.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::WiFi;
use crate::error::{Doing, LabError, end_of_log};
use crate::namespace::Namespace;

const RADIOS: &str = "/sys/class/ieee80211";
const DRIVER: &str = "mac80211_hwsim";
/// Time for the radios of an earlier run to return after its namespaces have ended.
const PATIENCE: Duration = Duration::from_secs(10);
const INTERVAL: Duration = Duration::from_millis(20);

/// A simulated radio.
struct SimulatedRadio {
    /// Its name, such as `phy0`.
    name: String,
    /// Its own address.
    address: [u8; 6],
    /// Its number for `iw`, such as `phy#0`. In a namespace, `iw` does not find a name: sysfs has the names
    /// of another one.
    number: String,
}

/// Radios that are in places.
pub(crate) struct MovedRadios {
    /// Each with the name of its place.
    radios: Vec<(String, SimulatedRadio)>,
}

impl MovedRadios {
    /// The radios' own addresses, in the order of the networks' members.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = [u8; 6]> {
        self.radios.iter().map(|(_, radio)| radio.address)
    }

    /// Takes the radios back. They would return with the end of their namespaces, but a connection that TCP
    /// has not closed yet keeps a namespace for minutes.
    pub(crate) fn take_back(&self, places: &[(String, Namespace)]) {
        let here = std::process::id().to_string();
        for (place, radio) in &self.radios {
            let found = places.iter().find(|(name, _)| name == place);
            let taken = found.map(|(_, place)| {
                place.enter(|| iw(&[&radio.number, "set", "netns", &here])).and_then(std::convert::identity)
            });
            if let Some(Err(error)) = taken {
                tracing::warn!("{error}");
            }
        }
    }
}

/// Gives each member of each network a radio with an interface of the network's name.
pub(crate) fn move_radios(
    networks: &[WiFi],
    places: &[(String, Namespace)],
) -> Result<MovedRadios, LabError> {
    let wanted = networks.iter().map(|network| network.members().count()).sum();
    let mut radios = simulated_radios(wanted)?.into_iter();
    let mut moved = Vec::new();
    for network in networks {
        for (member, radio) in network.members().zip(radios.by_ref()) {
            let place = places.iter().find(|(name, _)| name == member);
            let (_, place) = place.ok_or_else(|| LabError::Scenario {
                name: network.name.clone(),
                detail: format!("there is no place `{member}`"),
            })?;
            radio.move_into(place, network, member)?;
            moved.push((member.clone(), radio));
        }
    }
    Ok(MovedRadios { radios: moved })
}

/// So many radios of the driver, by number.
fn simulated_radios(wanted: usize) -> Result<Vec<SimulatedRadio>, LabError> {
    if wanted == 0 {
        return Ok(Vec::new());
    }
    let end = Instant::now() + PATIENCE;
    loop {
        let mut found = numbered_radios();
        let present = found.len();
        if present >= wanted {
            found.truncate(wanted);
            return found.into_iter().map(|(_, path)| SimulatedRadio::read(&path)).collect();
        }
        if Instant::now() >= end {
            return Err(LabError::Radios { wanted, present });
        }
        std::thread::sleep(INTERVAL);
    }
}

/// The driver's radios of this namespace with their numbers, in order.
fn numbered_radios() -> Vec<(u32, PathBuf)> {
    let entries = fs::read_dir(RADIOS).into_iter().flatten().flatten();
    let numbered = |path: PathBuf| {
        let driver = fs::read_link(path.join("device/driver")).ok()?;
        let number = path.file_name()?.to_str()?.strip_prefix("phy")?.parse().ok()?;
        (driver.file_name()? == DRIVER).then_some((number, path))
    };
    let mut found: Vec<(u32, PathBuf)> = entries.filter_map(|entry| numbered(entry.path())).collect();
    found.sort();
    found
}

impl SimulatedRadio {
    fn read(path: &Path) -> Result<Self, LabError> {
        let file = path.join("macaddress");
        let doing = || format!("read {}", file.display());
        let text = fs::read_to_string(&file).doing(doing)?;
        let octets = text.trim().split(':').map(|octet| u8::from_str_radix(octet, 16));
        let octets: Vec<u8> = octets.collect::<Result<_, _>>().map_err(std::io::Error::other).doing(doing)?;
        let address =
            <[u8; 6]>::try_from(octets).map_err(|_| std::io::ErrorKind::InvalidData).doing(doing)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let index = fs::read_to_string(path.join("index")).doing(|| format!("read the number of {name}"))?;
        Ok(Self { name, address, number: format!("phy#{}", index.trim()) })
    }

    /// Moves the radio, and makes the interfaces of this member. Those that it had are deleted: an earlier
    /// run may have left some.
    fn move_into(&self, place: &Namespace, network: &WiFi, member: &str) -> Result<(), LabError> {
        let (radio, name) = (&self.name, &network.name);
        for interface in fs::read_dir(Path::new(RADIOS).join(radio).join("device/net")).into_iter().flatten()
        {
            let interface = interface.doing(|| format!("list the interfaces of {radio}"))?.file_name();
            iw(&["dev", &interface.to_string_lossy(), "del"])?;
        }
        iw(&["phy", radio, "set", "netns", "name", place.name()])?;
        let kind = if member == network.access_point { "__ap" } else { "managed" };
        place.enter(|| {
            iw(&[&self.number, "interface", "add", name, "type", kind])?;
            if network.has_monitor(member) {
                iw(&[&self.number, "interface", "add", &network.monitor_name(), "type", "monitor"])?;
            }
            Ok(())
        })?
    }
}

/// Runs `iw` in the namespace of the calling thread.
fn iw(arguments: &[&str]) -> Result<(), LabError> {
    let absent = |_| LabError::ProgramAbsent { program: "iw".to_owned(), package: "iw".to_owned() };
    let output = Command::new("iw").args(arguments).stdin(Stdio::null()).output().map_err(absent)?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(LabError::Command { command: format!("iw {}", arguments.join(" ")), detail: end_of_log(&said, 500) })
}
