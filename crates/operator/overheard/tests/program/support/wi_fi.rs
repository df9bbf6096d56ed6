//! An access point and its stations on radios that the kernel simulates (mac80211_hwsim): real nl80211,
//! mac80211, hostapd and wpa_supplicant, and frames of a receiver in monitor mode.

use super::namespaces::{Machine, possible, run};
use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Timeout of daemons: scanning alone takes seconds.
const PATIENCE: Duration = Duration::from_secs(60);
/// The radios of the access point and of two stations.
const RADIOS: usize = 3;
const SIMULATED: &str = "/sys/module/mac80211_hwsim";
const RADIOS_HERE: &str = "/sys/class/ieee80211";

/// Whether this machine can run such tests and has simulated radios; prints the reason if not. The module is
/// not loaded here, because a desktop's Wi-Fi manager would see the radios.
pub fn has_radios() -> bool {
    if !possible() {
        return false;
    }
    let present = Path::new(SIMULATED).exists();
    if !present {
        println!(
            "skipped: no simulated radios; scripts/in-qemu --radios {RADIOS} has some, and so has a machine after \
             modprobe mac80211_hwsim radios={RADIOS}"
        );
    }
    present
}

/// Protection by the radio.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protection {
    /// None: an open network.
    Open,
    /// Encryption for each station (WPA2).
    Wpa2,
}

/// An access point (the gateway at 192.0.2.1), and two stations, 192.0.2.2 and 192.0.2.3. Their interfaces
/// are called `cable`, as elsewhere; the second station also has a monitor on its radio, `ear`.
pub struct Cell {
    pub gateway: Machine,
    pub stations: [Machine; 2],
    daemons: Vec<Child>,
    folder: TempDir,
}

impl Cell {
    pub fn new(protection: Protection) -> Self {
        let (gateway, stations) = (Machine::new("ap"), [Machine::new("st1"), Machine::new("st2")]);
        let folder = TempDir::new().unwrap();
        let mut cell = Cell { gateway, stations, daemons: Vec::new(), folder };
        let radios = radios();
        let machines = [&cell.gateway, &cell.stations[0], &cell.stations[1]];
        for (index, (machine, radio)) in machines.into_iter().zip(&radios).enumerate() {
            run("iw", &["phy", radio, "set", "netns", "name", &machine.name]);
            let interface = machine.run("iw", "dev");
            let interface =
                interface.split("Interface ").nth(1).and_then(|rest| rest.split_whitespace().next());
            machine.ip(&format!("link set {} name cable", interface.unwrap()));
            machine.ip(&format!("addr add 192.0.2.{}/24 dev cable", index + 1));
        }
        cell.start_access_point(protection);
        for station in 0..cell.stations.len() {
            cell.join(station, protection);
        }
        cell.stations[1].run("iw", "dev cable interface add ear type monitor");
        cell.stations[1].ip("link set ear up");
        cell
    }

    fn start_access_point(&mut self, protection: Protection) {
        let security = match protection {
            Protection::Open => "",
            Protection::Wpa2 => {
                "wpa=2\nwpa_key_mgmt=WPA-PSK\nrsn_pairwise=CCMP\nwpa_passphrase=all the same\n"
            }
        };
        let text =
            format!("interface=cable\ndriver=nl80211\nssid=overheard\nhw_mode=g\nchannel=1\n{security}");
        let config = self.folder.path().join("hostapd.conf");
        fs::write(&config, text).unwrap();
        let daemon = start(&self.gateway, &["hostapd", config.to_str().unwrap()], "AP-ENABLED");
        self.daemons.push(daemon);
    }

    fn join(&mut self, station: usize, protection: Protection) {
        let security = match protection {
            Protection::Open => "key_mgmt=NONE",
            Protection::Wpa2 => "psk=\"all the same\"",
        };
        let config = self.folder.path().join(format!("station{station}.conf"));
        fs::write(&config, format!("network={{\nssid=\"overheard\"\n{security}\n}}\n")).unwrap();
        let command = ["wpa_supplicant", "-i", "cable", "-D", "nl80211", "-c", config.to_str().unwrap()];
        let daemon = start(&self.stations[station], &command, "CTRL-EVENT-CONNECTED");
        self.daemons.push(daemon);
    }
}

impl Drop for Cell {
    fn drop(&mut self) {
        for daemon in &mut self.daemons {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

/// Radios that no machine has; those of a removed machine return a little later.
fn radios() -> Vec<String> {
    let end = Instant::now() + PATIENCE;
    loop {
        let entries = fs::read_dir(RADIOS_HERE).unwrap();
        let mut radios: Vec<String> =
            entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
        if radios.len() >= RADIOS {
            radios.sort();
            return radios;
        }
        assert!(Instant::now() < end, "radios are missing: {radios:?}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Starts a daemon on a machine and waits for its output `ready`.
fn start(machine: &Machine, command: &[&str], ready: &str) -> Child {
    let log = tempfile::NamedTempFile::new().unwrap();
    let out: File = log.reopen().unwrap();
    let mut daemon = Command::new("ip")
        .args(["netns", "exec", &machine.name])
        .args(command)
        .stdin(Stdio::null())
        .stdout(out.try_clone().unwrap())
        .stderr(out)
        .spawn()
        .unwrap();
    let end = Instant::now() + PATIENCE;
    loop {
        let said = fs::read_to_string(log.path()).unwrap();
        if said.contains(ready) {
            return daemon;
        }
        let ended = daemon.try_wait().unwrap();
        assert!(ended.is_none() && Instant::now() < end, "{command:?} {ended:?}: {said}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
