//! The result of one run of a scenario with one seed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// All measurements of one run. Runs in virtual time with equal seeds give equal outcomes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The scenario's name.
    pub scenario: String,
    /// The seed of the air.
    pub seed: u64,
    /// The links over the air, in the scenario's order. Cables are not counted.
    pub links: Vec<LinkOutcome>,
    /// The channels, in the scenario's order.
    #[serde(default)]
    pub channels: Vec<ChannelOutcome>,
    /// The clients' contents, in the scenario's order of clients, each in order of time.
    #[serde(default)]
    pub fetches: Vec<Vec<FetchOutcome>>,
    /// The downloads, in the scenario's order.
    pub downloads: Vec<DownloadOutcome>,
    /// The UDP streams, in the scenario's order.
    pub streams: Vec<StreamOutcome>,
    /// The exchanges, in the scenario's order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exchanges: Vec<ExchangeOutcome>,
    /// Final states of the daemons with a status command, by name.
    pub statuses: BTreeMap<String, serde_json::Value>,
    /// Standard output of the events' commands, in order of time.
    pub said: Vec<String>,
}

impl Outcome {
    /// The link of this name.
    pub fn link(&self, name: &str) -> Option<&LinkOutcome> {
        self.links.iter().find(|link| link.name == name)
    }

    /// Whether every download is complete.
    pub fn all_came_whole(&self) -> bool {
        self.downloads.iter().all(DownloadOutcome::came_whole)
    }

    /// Duration of the first download, if it is complete.
    pub fn first_seconds(&self) -> Option<f64> {
        self.downloads.first().filter(|it| it.came_whole()).map(|it| it.seconds)
    }

    /// Duration of all downloads together; `None` where one did not come whole.
    pub fn waited_seconds(&self) -> Option<f64> {
        self.downloads.iter().map(|it| it.came_whole().then_some(it.seconds)).sum()
    }

    /// Air time of all stations of the first channel, in seconds.
    pub fn air_seconds(&self) -> Option<f64> {
        Some(self.channels.first()?.stations.iter().map(|station| station.air_seconds).sum())
    }
}

/// Counts of one link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinkOutcome {
    /// The link's name.
    pub name: String,
    /// From the first end to the second.
    pub forward: LinkCount,
    /// From the second end to the first.
    pub backward: LinkCount,
}

/// Counts of one channel's stations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChannelOutcome {
    /// The channel's name.
    pub name: String,
    /// By station, in the scenario's order.
    pub stations: Vec<StationCount>,
}

/// Counts of one station of a channel, since the radio started.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct StationCount {
    /// Packets from its interface.
    pub offered: Count,
    /// Those from link-local IPv6 addresses: routing.
    pub link_local: Count,
    /// Other broadcasts.
    pub broadcast: Count,
    /// Refused by the full queue; never on the air.
    pub queue_dropped: Count,
    /// On the air; each try counts.
    pub transmitted: Count,
    /// Lost on the air, after all tries.
    pub lost: Count,
    /// Delivered to the addressee.
    pub delivered: Count,
    /// Received from others.
    pub received: Count,
    /// Tries with interference.
    pub interfered: u64,
    /// Time that it kept the channel busy.
    pub air_seconds: f64,
}

impl From<&air::medium::StationCounters> for StationCount {
    fn from(counters: &air::medium::StationCounters) -> Self {
        Self {
            offered: counters.offered.into(),
            link_local: Count::default(),
            broadcast: Count::default(),
            queue_dropped: counters.queue_dropped.into(),
            transmitted: counters.transmitted.into(),
            lost: counters.lost.into(),
            delivered: counters.delivered.into(),
            received: counters.received.into(),
            interfered: counters.interfered,
            air_seconds: counters.air_time.as_secs_f64(),
        }
    }
}

/// One content that a client fetched.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FetchOutcome {
    /// The content's name.
    pub content: String,
    /// How it ended.
    pub ending: Ending,
    /// Octets received.
    pub bytes: u64,
    /// Whether all octets are the content's.
    pub intact: bool,
    /// Its start, after everything was ready.
    pub started_seconds: f64,
    /// Its duration.
    pub seconds: f64,
    /// From its start to the first octet of the answer.
    pub first_byte_seconds: f64,
}

impl FetchOutcome {
    /// Whether it is complete and unchanged.
    pub fn came_whole(&self) -> bool {
        self.ending == Ending::Complete && self.intact
    }
}

/// Packets and their octets, from the IP header on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Count {
    /// How many packets.
    pub packets: u64,
    /// Their lengths, summed.
    pub bytes: u64,
}

/// Counts of one direction of a link since the radio started: headers, control and everything else.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct LinkCount {
    /// Packets from the sender's interface.
    pub offered: Count,
    /// Refused by the full queue; never on the air.
    pub queue_dropped: Count,
    /// On the air, lost or not, with each try of a repeated frame.
    pub transmitted: Count,
    /// Lost on the air.
    pub lost: Count,
    /// Delivered with an error in it.
    pub corrupted: Count,
    /// Second copies.
    pub duplicated: Count,
    /// Delivered after something that was sent later.
    pub reordered: Count,
    /// Delivered to the receiver's interface.
    pub delivered: Count,
    /// Time that the transmitter was busy.
    pub air_seconds: f64,
    /// The largest number of waiting octets.
    pub longest_queue_bytes: u64,
}

impl From<air::Tally> for Count {
    fn from(tally: air::Tally) -> Self {
        Self { packets: tally.frames, bytes: tally.bytes }
    }
}

impl From<&air::LinkCounters> for LinkCount {
    fn from(counters: &air::LinkCounters) -> Self {
        let count = Count::from;
        Self {
            offered: count(counters.offered),
            queue_dropped: count(counters.queue_dropped),
            transmitted: count(counters.transmitted),
            lost: count(counters.lost),
            corrupted: count(counters.corrupted),
            duplicated: count(counters.duplicated),
            reordered: count(counters.reordered),
            delivered: count(counters.delivered),
            air_seconds: counters.air_time.as_secs_f64(),
            longest_queue_bytes: counters.longest_queue_bytes as u64,
        }
    }
}

/// How a download ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// Everything arrived.
    Complete,
    /// No new octet in order for as long as the download allows.
    Stalled,
    /// The scenario's time was up.
    OutOfTime,
    /// The connection was refused, reset or closed early, or the answer was not 200.
    Failed,
}

/// One download, at its receiver.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DownloadOutcome {
    /// Its ending.
    pub ending: Ending,
    /// Octets received in order.
    pub bytes: u64,
    /// Octets that a whole download has.
    pub whole_bytes: u64,
    /// Whether every octet received equals the original's.
    pub intact: bool,
    /// Duration of the transfer, by the program's own clock.
    pub seconds: f64,
    /// From the start of the transfer to the first octet of the answer.
    pub first_byte_seconds: f64,
    /// Its start, after everything was ready.
    pub started_seconds: f64,
    /// curl's message in case of an error; empty otherwise.
    pub complaint: String,
}

impl DownloadOutcome {
    /// Whether it is complete and unchanged.
    pub fn came_whole(&self) -> bool {
        self.ending == Ending::Complete && self.intact
    }
}

/// One exchange, at its client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExchangeOutcome {
    /// How it ended.
    pub ending: Ending,
    /// Answers that came whole.
    pub answers: u32,
    /// Octets that came.
    pub bytes: u64,
    /// Whether every octet equals the server's.
    pub intact: bool,
    /// From the first connection to the last octet.
    pub seconds: f64,
}

impl ExchangeOutcome {
    /// Its duration, if it is complete and unchanged.
    pub fn whole_seconds(&self) -> Option<f64> {
        (self.ending == Ending::Complete && self.intact).then_some(self.seconds)
    }
}

/// One UDP stream, at its receiver.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct StreamOutcome {
    /// Datagrams sent.
    pub sent: u64,
    /// Datagrams that the sender's system refused.
    pub refused: u64,
    /// Distinct datagrams that arrived as they were sent.
    pub received: u64,
    /// Further copies.
    pub duplicated: u64,
    /// Arrived after one with a higher number.
    pub reordered: u64,
    /// Arrived with other octets than were sent.
    pub altered: u64,
    /// One-way delay of what was received, in milliseconds.
    pub delay: Delay,
    /// One-way delay of each datagram by its number; `None` for one that never arrived. Empty unless the
    /// stream keeps delays.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub delays_milliseconds: Vec<Option<f64>>,
}

/// Delays in milliseconds; all 0 when nothing arrived.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Delay {
    /// Mean.
    pub mean_milliseconds: f64,
    /// Median.
    pub median_milliseconds: f64,
    /// 95th percentile.
    pub p95_milliseconds: f64,
    /// 99th percentile.
    pub p99_milliseconds: f64,
    /// Longest.
    pub longest_milliseconds: f64,
}
