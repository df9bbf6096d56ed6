//! Checks of a scenario before anything is created.

mod mistake;

pub use mistake::Mistake;

use std::collections::HashSet;

use air::LinkConfig;
use air::timing::Standard;

use crate::error::LabError;
use crate::scenario::{Action, Connections, Ready, Scenario, Start};
use crate::topology::{Medium, Topology};
use crate::wi_fi::{self, WiFi};

/// The receiver remembers each datagram of a stream.
const MOST_DATAGRAMS: u64 = 100_000_000;
/// Seeds of the air are multiples of a run's seed, and must not wrap: two seeds would be one.
pub(crate) const SEEDS: u64 = 1 << 54;
/// The kernel simulates at most this many radios.
const MOST_RADIOS: usize = 100;
/// The kernel drops frames of a radio when twice as many wait for their ends.
const MOST_WAITING_FRAMES: usize = 100;
/// The longest time in seconds; longer ones are typing errors.
const LONGEST_SECONDS: f64 = 1e7;

impl Scenario {
    /// Checks the scenario.
    ///
    /// # Errors
    ///
    /// [`LabError::Check`] with the first mistake.
    pub fn check(&self) -> Result<(), LabError> {
        check_seeds(&self.seeds)
            .and_then(|()| check_topology(&self.topology))
            .and_then(|()| check_programs(self))
            .and_then(|()| check_traffic(self))
            .and_then(|()| check_events(self))
            .map_err(|mistake| LabError::Check { name: self.name.clone(), mistake })
    }
}

/// `Err` with the mistake unless the condition holds.
fn demand(holds: bool, mistake: impl FnOnce() -> Mistake) -> Result<(), Mistake> {
    if holds { Ok(()) } else { Err(mistake()) }
}

fn check_seeds(seeds: &[u64]) -> Result<(), Mistake> {
    let mut seen = HashSet::new();
    seeds.iter().try_for_each(|&seed| {
        demand(seed < SEEDS, || Mistake::LargeSeed(seed))?;
        demand(seen.insert(seed), || Mistake::SeedTwice(seed))
    })
}

fn check_topology(topology: &Topology) -> Result<(), Mistake> {
    let word = |name: &str, most: usize| {
        (1..=most).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    demand(topology.links.len() <= 255, || Mistake::ManyLinks)?;
    let mut names = HashSet::new();
    for place in &topology.places {
        let name = &place.name;
        demand(word(name, 32), || Mistake::PlaceName(name.clone()))?;
        demand(names.insert(name), || Mistake::PlaceTwice(name.clone()))?;
    }
    let mut names = HashSet::from(["lo"]);
    for link in &topology.links {
        let name = &link.name;
        demand(word(name, 15), || Mistake::LinkName(name.clone()))?;
        demand(names.insert(name), || Mistake::LinkTwice(name.clone()))?;
        let [first, second] = &link.ends;
        demand(first != second, || Mistake::Loop { link: name.clone(), place: first.clone() })?;
        check_place(topology, first)?;
        check_place(topology, second)?;
        if let Medium::Air { forward, backward } = &link.medium {
            check_link(name, forward)?;
            check_link(name, backward)?;
        }
    }
    demand(topology.channels.len() <= 255, || Mistake::ManyChannels)?;
    for channel in &topology.channels {
        let name = &channel.name;
        demand(word(name, 15), || Mistake::ChannelName(name.clone()))?;
        demand(names.insert(name), || Mistake::ChannelTwice(name.clone()))?;
        let (stations, places) = (channel.stations.len(), channel.medium.stations.len());
        demand(stations == places, || Mistake::Positions {
            channel: name.clone(),
            stations,
            positions: places,
        })?;
        demand(stations <= 254, || Mistake::ManyStations(name.clone()))?;
        let medium = channel.medium.validate();
        medium.map_err(|error| Mistake::Channel { channel: name.clone(), why: error.to_string() })?;
        let mut seen = HashSet::new();
        for station in &channel.stations {
            check_place(topology, station)?;
            demand(seen.insert(station), || Mistake::StationTwice {
                channel: name.clone(),
                station: station.clone(),
            })?;
        }
    }
    demand(topology.wi_fi.len() <= 255, || Mistake::ManyNetworks)?;
    let radios: usize = topology.wi_fi.iter().map(|network| network.members().count()).sum();
    demand(radios <= MOST_RADIOS, || Mistake::ManyRadios(radios))?;
    for network in &topology.wi_fi {
        let name = &network.name;
        demand(word(name, 12), || Mistake::NetworkName(name.clone()))?;
        demand(names.insert(name), || Mistake::ChannelTwice(name.clone()))?;
        check_network(topology, network)?;
    }
    for network in topology.wi_fi.iter().filter(|network| !network.monitors.is_empty()) {
        let monitor = network.monitor_name();
        demand(!names.contains(&*monitor), || Mistake::MonitorTwice {
            network: network.name.clone(),
            monitor,
        })?;
    }
    Ok(())
}

fn check_network(topology: &Topology, network: &WiFi) -> Result<(), Mistake> {
    let name = || network.name.clone();
    let (members, positions) = (network.members().count(), network.medium.stations.len());
    demand(members == positions, || Mistake::Members { network: name(), members, positions })?;
    let mut seen = HashSet::new();
    for member in network.members() {
        check_place(topology, member)?;
        demand(seen.insert(member), || Mistake::MemberTwice { network: name(), member: member.clone() })?;
    }
    for monitor in &network.monitors {
        demand(seen.contains(monitor), || Mistake::Monitor { network: name(), monitor: monitor.clone() })?;
    }
    let medium = &network.medium;
    demand(medium.radio.standard == Standard::G, || Mistake::Standard(name()))?;
    demand(medium.listeners.is_empty(), || Mistake::Listeners(name()))?;
    let frames = medium.queue_frames;
    demand(frames <= MOST_WAITING_FRAMES, || Mistake::WaitingFrames { network: name(), frames })
}

fn check_link(link: &str, config: &LinkConfig) -> Result<(), Mistake> {
    config.validate().map_err(|error| Mistake::Link { link: link.to_owned(), why: error.to_string() })
}

fn check_place(topology: &Topology, name: &str) -> Result<(), Mistake> {
    demand(topology.has_place(name), || Mistake::NoPlace(name.to_owned()))
}

fn check_seconds(seconds: f64) -> Result<(), Mistake> {
    let sensible = (0.0..=LONGEST_SECONDS).contains(&seconds);
    demand(sensible, || Mistake::Time(seconds))
}

fn check_programs(scenario: &Scenario) -> Result<(), Mistake> {
    // Names of files.
    let plain = |name: &str| {
        let octet = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        !name.is_empty() && !name.starts_with('.') && name.bytes().all(octet)
    };
    check_seconds(scenario.bound_seconds)?;
    let mut names = HashSet::new();
    for content in &scenario.contents {
        let name = &content.name;
        demand(plain(name), || Mistake::ContentName(name.clone()))?;
        demand(names.insert(name), || Mistake::ContentTwice(name.clone()))?;
    }
    let joining: HashSet<String> =
        wi_fi::daemons(&scenario.topology.wi_fi).into_iter().map(|daemon| daemon.name).collect();
    let mut names = HashSet::new();
    for daemon in &scenario.daemons {
        let name = &daemon.name;
        demand(plain(name), || Mistake::DaemonName(name.clone()))?;
        demand(names.insert(name), || Mistake::DaemonTwice(name.clone()))?;
        demand(!joining.contains(name), || Mistake::DaemonOfNetwork(name.clone()))?;
        demand(!daemon.command.is_empty(), || Mistake::NoCommand(name.clone()))?;
        if let Ready::Succeeds { command, .. } = &daemon.ready {
            demand(!command.is_empty(), || Mistake::NoReadiness(name.clone()))?;
        }
        check_place(&scenario.topology, &daemon.place)?;
    }
    scenario.servers.iter().try_for_each(|place| check_place(&scenario.topology, place))
}

fn check_traffic(scenario: &Scenario) -> Result<(), Mistake> {
    let check_content = |name: &String| {
        let known = scenario.contents.iter().any(|content| &content.name == name);
        demand(known, || Mistake::NoContent(name.clone()))
    };
    for (index, download) in scenario.downloads.iter().enumerate() {
        check_place(&scenario.topology, &download.place)?;
        check_content(&download.content)?;
        match download.start {
            Start::AtSeconds(seconds) => check_seconds(seconds)?,
            Start::After(other) => {
                demand(other < index, || Mistake::Order { download: index, after: other })?
            }
        }
    }
    for client in &scenario.clients {
        check_place(&scenario.topology, &client.place)?;
        for page in &client.pages {
            check_seconds(page.think_seconds)?;
            demand(!page.contents.is_empty(), || Mistake::EmptyPage)?;
            page.contents.iter().try_for_each(check_content)?;
        }
    }
    for stream in &scenario.streams {
        check_place(&scenario.topology, &stream.from)?;
        check_place(&scenario.topology, &stream.to)?;
        stream.content.iter().try_for_each(check_content)?;
        check_seconds(stream.start_seconds)?;
        check_seconds(stream.interval_milliseconds / 1e3)?;
        let datagrams = stream.datagrams;
        demand(datagrams <= MOST_DATAGRAMS, || Mistake::ManyDatagrams(datagrams))?;
        let payload = stream.payload_bytes;
        demand((20..=65_507).contains(&payload), || Mistake::Payload(payload))?;
    }
    for exchange in &scenario.exchanges {
        check_place(&scenario.topology, &exchange.client)?;
        check_place(&scenario.topology, &exchange.server)?;
        check_content(&exchange.content)?;
        check_seconds(exchange.start_seconds)?;
        let answers = exchange.answers;
        demand((1..=256).contains(&answers), || Mistake::Answers(answers))?;
        demand(exchange.answer_bytes > 0, || Mistake::EmptyAnswer)?;
        let is_numbered = exchange.asks || exchange.connections != Connections::AtOnce;
        demand(is_numbered, || Mistake::Unasked)?;
    }
    Ok(())
}

fn check_events(scenario: &Scenario) -> Result<(), Mistake> {
    for event in &scenario.events {
        check_seconds(event.at_seconds)?;
        match &event.action {
            Action::Configure { link, config, .. } => {
                let found = scenario.topology.links.iter().find(|other| &other.name == link);
                let air = found.is_some_and(|link| matches!(link.medium, Medium::Air { .. }));
                demand(air, || Mistake::NoAir(link.clone()))?;
                check_link(link, config)?;
            }
            Action::Run { place, command } => {
                check_place(&scenario.topology, place)?;
                demand(!command.is_empty(), || Mistake::EmptyCommand)?;
            }
            Action::Start(name) | Action::Stop(name) => {
                let known = scenario.daemons.iter().any(|daemon| &daemon.name == name);
                demand(known, || Mistake::NoDaemon(name.clone()))?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Content, Event};
    use crate::topology::Link;
    use crate::wi_fi::Protection;

    fn sound() -> Scenario {
        let text = r#"{
            "name": "sound", "seeds": [1],
            "topology": {
                "places": [{"name": "gateway"}, {"name": "station"}],
                "links": [{"name": "air", "ends": ["gateway", "station"],
                           "medium": {"air": {"forward": {"delay_ms": 10}, "backward": {}}}}]
            },
            "contents": [{"name": "file", "file": "/nonexistent"}],
            "servers": ["gateway"],
            "downloads": [{"place": "station", "from": "10.77.0.1", "content": "file"}],
            "streams": [{"from": "gateway", "to": "station", "address": "fd77::2", "datagrams": 1,
                         "payload_bytes": 100, "interval_milliseconds": 1}],
            "exchanges": [{"client": "station", "server": "gateway", "address": "10.77.0.1", "asks": true,
                           "answers": 3, "answer_bytes": 10, "connections": "new", "content": "file"}]
        }"#;
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_sound_scenario_is_read_checked_and_written_without_change() {
        let scenario = sound();
        scenario.check().unwrap();
        let text = serde_json::to_string(&scenario).unwrap();
        assert_eq!(serde_json::from_str::<Scenario>(&text).unwrap(), scenario);
    }

    #[test]
    fn each_mistake_is_named() {
        type Change = fn(&mut Scenario);
        let channel = |stations: &[&str], places: usize| crate::topology::Channel {
            name: "mesh".to_owned(),
            stations: stations.iter().map(|name| (*name).to_owned()).collect(),
            medium: air::MediumConfig { stations: vec![[0.0; 2]; places], ..Default::default() },
        };
        let mut shared = sound();
        shared.topology.channels.push(channel(&["gateway", "station"], 2));
        shared.check().unwrap();
        for (stations, places, named) in [
            (&["gateway", "station"][..], 3, "2 stations and positions for 3"),
            (&["gateway", "gateway"], 2, "`gateway` twice"),
            (&["nowhere"], 1, "no place `nowhere`"),
        ] {
            shared.topology.channels[0] = channel(stations, places);
            let error = shared.check().unwrap_err().to_string();
            assert!(error.contains(named), "`{error}` does not say `{named}`");
        }
        let mistakes: [(Change, &str); 18] = [
            (|it| it.seeds = vec![1, 2, 1], "seed 1 is given twice"),
            (|it| it.seeds = vec![1 << 54], "the largest is 2^54 - 1"),
            (|it| it.topology.places[0].name = "gate/way".to_owned(), "not 1 to 32 letters"),
            (|it| it.topology.places[1].name = "gateway".to_owned(), "two places are called `gateway`"),
            (|it| it.topology.links[0].name = "a link of too long a name".to_owned(), "not 1 to 15 letters"),
            (
                |it| it.topology.links.push(Link::new("air", "gateway", "station", Medium::Cable)),
                "called `air`",
            ),
            (|it| it.topology.links[0].ends[0] = "station".to_owned(), "`station` at both ends"),
            (|it| it.servers[0] = "nowhere".to_owned(), "there is no place `nowhere`"),
            (|it| it.downloads[0].content = "other".to_owned(), "there is no content `other`"),
            (|it| it.downloads[0].start = Start::After(0), "not an earlier one"),
            (|it| it.downloads[0].start = Start::AtSeconds(f64::NAN), "NaN is not a time"),
            (|it| it.streams[0].payload_bytes = 8, "8 octets"),
            (|it| it.exchanges[0].server = "nowhere".to_owned(), "there is no place `nowhere`"),
            (|it| it.exchanges[0].answers = 257, "257 answers"),
            (|it| it.exchanges[0].answer_bytes = 0, "0 octets"),
            (
                |it| {
                    it.exchanges[0].asks = false;
                    it.exchanges[0].connections = Connections::AtOnce;
                },
                "cannot know",
            ),
            (|it| it.contents.push(Content { name: "../x".to_owned(), ..it.contents[0].clone() }), "`../x`"),
            (
                |it| it.events.push(Event { at_seconds: 1.0, action: Action::Stop("nobody".to_owned()) }),
                "no daemon `nobody`",
            ),
        ];
        for (mistake, named) in mistakes {
            let mut scenario = sound();
            mistake(&mut scenario);
            let error = scenario.check().unwrap_err().to_string();
            assert!(error.contains(named), "`{error}` does not say `{named}`");
        }
    }

    #[test]
    fn each_mistake_of_a_wi_fi_network_is_named() {
        type Change = fn(&mut WiFi);
        let mut medium = air::MediumConfig { stations: vec![[0.0; 2]; 2], ..Default::default() };
        medium.radio.standard = Standard::G;
        let mut wireless = sound();
        wireless.topology.wi_fi.push(WiFi {
            name: "wifi".to_owned(),
            access_point: "gateway".to_owned(),
            stations: vec!["station".to_owned()],
            monitors: Vec::new(),
            protection: Protection::Open,
            medium,
        });
        wireless.check().unwrap();
        let mistakes: [(Change, &str); 8] = [
            (|it| it.name = "a long network".to_owned(), "not 1 to 12 letters"),
            (|it| it.name = "air".to_owned(), "called `air`"),
            (|it| it.stations.clear(), "1 places and positions for 2"),
            (|it| it.stations[0] = "gateway".to_owned(), "the place `gateway` twice"),
            (|it| it.monitors.push("nowhere".to_owned()), "no place `nowhere` for a monitor"),
            (|it| it.medium.radio.standard = Standard::B, "a radio of standard `g`"),
            (|it| it.medium.listeners.push(1), "`monitors` names their places"),
            (|it| it.medium.queue_frames = 101, "at most 100 may"),
        ];
        for (mistake, named) in mistakes {
            let mut scenario = wireless.clone();
            mistake(&mut scenario.topology.wi_fi[0]);
            let error = scenario.check().unwrap_err().to_string();
            assert!(error.contains(named), "`{error}` does not say `{named}`");
        }
        let mut monitored = wireless.clone();
        monitored.topology.wi_fi[0].monitors.push("station".to_owned());
        monitored.check().unwrap();
        monitored.topology.links[0].name = "wifimon".to_owned();
        assert!(monitored.check().unwrap_err().to_string().contains("makes interfaces `wifimon`"));
        wireless.daemons = wi_fi::daemons(&wireless.topology.wi_fi);
        assert!(wireless.check().unwrap_err().to_string().contains("`wifi-gateway` has the name of one"));
    }
}
