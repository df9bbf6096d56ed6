//! Whether a scenario makes sense in itself, before anything is made.

use std::collections::HashSet;

use crate::error::LabError;
use crate::scenario::{Action, Scenario, Start};
use crate::topology::{Medium, Topology};

/// The receiver remembers each datagram of a stream.
const MOST_DATAGRAMS: u64 = 100_000_000;
/// Times beyond this many seconds are a slip of the pen.
const LONGEST_SECONDS: f64 = 1e7;

impl Scenario {
    /// Whether the scenario makes sense in itself.
    ///
    /// # Errors
    ///
    /// [`LabError::Scenario`] with the first mistake.
    pub fn check(&self) -> Result<(), LabError> {
        check_topology(&self.topology)
            .and_then(|()| check_programs(self))
            .and_then(|()| check_traffic(self))
            .and_then(|()| check_events(self))
            .map_err(|detail| LabError::Scenario { name: self.name.clone(), detail })
    }
}

/// `Err` with the sentence unless the condition holds.
fn demand(holds: bool, sentence: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(sentence()) }
}

fn check_topology(topology: &Topology) -> Result<(), String> {
    let word = |name: &str, most: usize| {
        (1..=most).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    demand(topology.links.len() <= 255, || "there are more than 255 links".to_owned())?;
    let mut names = HashSet::new();
    for place in &topology.places {
        let name = &place.name;
        demand(word(name, 32), || format!("the place name `{name}` is not 1 to 32 letters and digits"))?;
        demand(names.insert(name), || format!("two places are called `{name}`"))?;
    }
    let mut names = HashSet::from(["lo"]);
    for link in &topology.links {
        let name = &link.name;
        demand(word(name, 15), || format!("the link name `{name}` is not 1 to 15 letters and digits"))?;
        demand(names.insert(name), || format!("two links, or a link and loopback, are called `{name}`"))?;
        let [first, second] = &link.ends;
        demand(first != second, || format!("the link `{name}` has `{first}` at both ends"))?;
        check_place(topology, first)?;
        check_place(topology, second)?;
    }
    demand(topology.channels.len() <= 255, || "there are more than 255 channels".to_owned())?;
    for channel in &topology.channels {
        let name = &channel.name;
        demand(word(name, 15), || format!("the channel name `{name}` is not 1 to 15 letters and digits"))?;
        demand(names.insert(name), || {
            format!("two links or channels, or one and loopback, are called `{name}`")
        })?;
        let (stations, places) = (channel.stations.len(), channel.medium.stations.len());
        demand(stations == places, || {
            format!("the channel `{name}` has {stations} stations and positions for {places}")
        })?;
        demand(stations <= 254, || format!("the channel `{name}` has more than 254 stations"))?;
        let mut seen = HashSet::new();
        for station in &channel.stations {
            check_place(topology, station)?;
            demand(seen.insert(station), || {
                format!("the channel `{name}` has the station `{station}` twice")
            })?;
        }
    }
    Ok(())
}

fn check_place(topology: &Topology, name: &str) -> Result<(), String> {
    demand(topology.has_place(name), || format!("there is no place `{name}`"))
}

fn check_seconds(seconds: f64) -> Result<(), String> {
    let sensible = (0.0..=LONGEST_SECONDS).contains(&seconds);
    demand(sensible, || format!("{seconds} is not a time from 0 to {LONGEST_SECONDS} seconds"))
}

fn check_programs(scenario: &Scenario) -> Result<(), String> {
    // They become the names of files.
    let plain = |name: &str| {
        let octet = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        !name.is_empty() && !name.starts_with('.') && name.bytes().all(octet)
    };
    check_seconds(scenario.bound_seconds)?;
    let mut names = HashSet::new();
    for content in &scenario.contents {
        let name = &content.name;
        demand(plain(name), || {
            format!("the content name `{name}` is not letters, digits, `-`, `_` and `.`")
        })?;
        demand(names.insert(name), || format!("two contents are called `{name}`"))?;
    }
    let mut names = HashSet::new();
    for daemon in &scenario.daemons {
        let name = &daemon.name;
        demand(plain(name), || format!("the daemon name `{name}` is not letters, digits, `-`, `_` and `.`"))?;
        demand(names.insert(name), || format!("two daemons are called `{name}`"))?;
        demand(!daemon.command.is_empty(), || format!("the daemon `{name}` has no command"))?;
        check_place(&scenario.topology, &daemon.place)?;
    }
    scenario.servers.iter().try_for_each(|place| check_place(&scenario.topology, place))
}

fn check_traffic(scenario: &Scenario) -> Result<(), String> {
    let check_content = |name: &String| {
        let known = scenario.contents.iter().any(|content| &content.name == name);
        demand(known, || format!("there is no content `{name}`"))
    };
    for (index, download) in scenario.downloads.iter().enumerate() {
        check_place(&scenario.topology, &download.place)?;
        check_content(&download.content)?;
        match download.start {
            Start::AtSeconds(seconds) => check_seconds(seconds)?,
            Start::After(other) => demand(other < index, || {
                format!("download {index} starts after download {other}, which is not an earlier one")
            })?,
        }
    }
    for client in &scenario.clients {
        check_place(&scenario.topology, &client.place)?;
        for page in &client.pages {
            check_seconds(page.think_seconds)?;
            demand(!page.contents.is_empty(), || "a client's page has no contents".to_owned())?;
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
        demand(datagrams <= MOST_DATAGRAMS, || {
            format!("a stream of {datagrams} datagrams is longer than {MOST_DATAGRAMS}")
        })?;
        let payload = stream.payload_bytes;
        demand((20..=65_507).contains(&payload), || {
            format!("a stream's payload of {payload} octets is not within 20 to 65507")
        })?;
    }
    Ok(())
}

fn check_events(scenario: &Scenario) -> Result<(), String> {
    for event in &scenario.events {
        check_seconds(event.at_seconds)?;
        match &event.action {
            Action::Configure { link, .. } => {
                let found = scenario.topology.links.iter().find(|other| &other.name == link);
                let air = found.is_some_and(|link| matches!(link.medium, Medium::Air { .. }));
                demand(air, || format!("there is no link over the air called `{link}`"))?;
            }
            Action::Run { place, command } => {
                check_place(&scenario.topology, place)?;
                demand(!command.is_empty(), || "an event runs an empty command".to_owned())?;
            }
            Action::Start(name) | Action::Stop(name) => {
                let known = scenario.daemons.iter().any(|daemon| &daemon.name == name);
                demand(known, || format!("there is no daemon `{name}` to start or stop"))?;
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
                         "payload_bytes": 100, "interval_milliseconds": 1}]
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
        type Mistake = fn(&mut Scenario);
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
        let mistakes: [(Mistake, &str); 12] = [
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
}
