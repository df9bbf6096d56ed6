//! A scenario: places and links, daemons, downloads and streams, and events.
//!
//! A scenario is plain data, written and read as JSON. The same file runs on this kernel or on the
//! virtual-time kernel.
//!
//! In the texts of [`Daemon`] and [`Event`], `{overheard}` and `{lab}` are the [`crate::Programs`] named to
//! [`crate::Driver`], `{folder}` a folder of the run's own, `{config}` the daemon's configuration file and
//! `{socket}` the path for its status socket.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;

use air::LinkConfig;
use serde::{Deserialize, Serialize};

use crate::radio::Direction;
use crate::topology::Topology;

/// One scenario, run once for each seed. Everything in it is made afresh for each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Its name, also in its outcomes.
    pub name: String,
    /// Seeds of the air: a run for each.
    pub seeds: Vec<u64>,
    /// The places and links.
    pub topology: Topology,
    /// Kernel parameters of every place, by dotted name (`net.ipv4.tcp_congestion_control`).
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
    /// Files for HTTP from the places in `servers`, and for streams.
    #[serde(default)]
    pub contents: Vec<Content>,
    /// Places where an HTTP daemon offers all contents on port [`HTTP_PORT`].
    #[serde(default)]
    pub servers: Vec<String>,
    /// Programs in the background, started in this order, each when the one before is ready.
    #[serde(default)]
    pub daemons: Vec<Daemon>,
    /// Downloads, simultaneous unless they say otherwise.
    #[serde(default)]
    pub downloads: Vec<Download>,
    /// Browsing clients.
    #[serde(default)]
    pub clients: Vec<Client>,
    /// Freshness of contents by the HTTP daemons; none if absent.
    #[serde(default)]
    pub fresh_seconds: Option<u32>,
    /// UDP streams.
    #[serde(default)]
    pub streams: Vec<Stream>,
    /// Requests and answers over TCP.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exchanges: Vec<Exchange>,
    /// Events. Those due after the last download and stream are omitted.
    #[serde(default)]
    pub events: Vec<Event>,
    /// Bound of a run, from the time when everything is ready.
    #[serde(default = "bound_seconds")]
    pub bound_seconds: f64,
}

impl Default for Scenario {
    /// Nothing, for an hour.
    fn default() -> Self {
        Self {
            name: String::new(),
            seeds: Vec::new(),
            topology: Topology::default(),
            parameters: BTreeMap::new(),
            contents: Vec::new(),
            servers: Vec::new(),
            daemons: Vec::new(),
            downloads: Vec::new(),
            clients: Vec::new(),
            fresh_seconds: None,
            streams: Vec::new(),
            exchanges: Vec::new(),
            events: Vec::new(),
            bound_seconds: bound_seconds(),
        }
    }
}

/// Port of the HTTP daemons.
pub const HTTP_PORT: u16 = 80;

const fn bound_seconds() -> f64 {
    3600.0
}

/// A file, or a slice of one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Content {
    /// The name under which it is offered.
    pub name: String,
    /// The file on this machine.
    pub file: PathBuf,
    /// Where the slice starts.
    #[serde(default)]
    pub skip_bytes: u64,
    /// How long it is; to the end when absent.
    #[serde(default)]
    pub length_bytes: Option<u64>,
}

/// A program that runs in a place for the whole run, in the foreground.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Daemon {
    /// Its name.
    pub name: String,
    /// Where it runs.
    pub place: String,
    /// The program and its arguments, such as `["{overheard}", "up", "{config}"]`.
    pub command: Vec<String>,
    /// The text of its configuration file.
    #[serde(default)]
    pub config: String,
    /// When it counts as ready.
    pub ready: Ready,
    /// A command that prints its state as JSON, run at the end.
    #[serde(default)]
    pub status: Vec<String>,
    /// Whether only an [`Action::Start`] starts it.
    #[serde(default)]
    pub later: bool,
    /// Timeout of its readiness, where [`Ready`] has none of its own; [`Ready::WITHIN_SECONDS`] when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within_seconds: Option<u64>,
}

/// Condition of a daemon's readiness.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ready {
    /// As soon as it is started.
    AtOnce,
    /// When this path exists (`{socket}`).
    Path(String),
    /// When an interface of this name is up in its place.
    Interface(String),
    /// When something listens on this TCP port in its place.
    Listening(u16),
    /// When it has written this text to its output.
    Said {
        /// The text.
        text: String,
        /// Seconds until the daemon counts as failed.
        within_seconds: u64,
    },
    /// When a command succeeds in its place. Each try may take ten seconds; the daemon has this many for it.
    Succeeds {
        /// The program and its arguments.
        command: Vec<String>,
        /// Seconds until the daemon counts as failed.
        within_seconds: u64,
    },
}

impl Ready {
    /// Timeout of a daemon's readiness, unless it has one of its own.
    pub const WITHIN_SECONDS: u64 = 10;
}

impl Daemon {
    /// Timeout of its readiness, in seconds.
    pub(crate) fn within_seconds(&self) -> u64 {
        match &self.ready {
            Ready::Said { within_seconds, .. } | Ready::Succeeds { within_seconds, .. } => *within_seconds,
            _ => self.within_seconds.unwrap_or(Ready::WITHIN_SECONDS),
        }
    }
}

/// One transfer by curl.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Download {
    /// The receiving place.
    pub place: String,
    /// The address that is asked.
    pub from: IpAddr,
    /// The name of the content.
    pub content: String,
    /// The port that is asked.
    #[serde(default = "http_port")]
    pub port: u16,
    /// When it starts.
    #[serde(default)]
    pub start: Start,
    /// Seconds without a new octet after which it counts as stalled.
    #[serde(default = "stall_seconds")]
    pub stall_seconds: u32,
}

const fn http_port() -> u16 {
    HTTP_PORT
}

const fn stall_seconds() -> u32 {
    60
}

/// When a download starts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// So long after everything is ready.
    AtSeconds(f64),
    /// When the download of this index (lower than its own) has ended.
    After(usize),
}

impl Default for Start {
    fn default() -> Self {
        Self::AtSeconds(0.0)
    }
}

/// A client that reads pages, each by one run of curl, until the end of the scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Client {
    /// Its place.
    pub place: String,
    /// The address that is asked.
    pub from: IpAddr,
    /// What is read, in this order.
    pub pages: Vec<Page>,
}

/// A page: its contents are fetched one after the other, over a connection each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Page {
    /// Pause before this page, after the previous page's end or the start.
    pub think_seconds: f64,
    /// Names of contents.
    pub contents: Vec<String>,
}

/// UDP datagrams at a constant rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stream {
    /// Where it is sent.
    pub from: String,
    /// Where it is received.
    pub to: String,
    /// The address it is sent to, one of `to`'s.
    pub address: IpAddr,
    /// How many datagrams.
    pub datagrams: u64,
    /// Octets of payload of each, at least 20.
    pub payload_bytes: usize,
    /// From one datagram to the next.
    pub interval_milliseconds: f64,
    /// What fills the payload, over and over; zeros when absent.
    #[serde(default)]
    pub content: Option<String>,
    /// When it starts.
    #[serde(default)]
    pub start_seconds: f64,
    /// Whether the outcome has the delay of each datagram ([`StreamOutcome::delays_milliseconds`]).
    ///
    /// [`StreamOutcome::delays_milliseconds`]: crate::StreamOutcome::delays_milliseconds
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keeps_delays: bool,
}

/// Requests and answers over TCP, between two programs of the laboratory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exchange {
    /// The place that connects.
    pub client: String,
    /// The place that answers.
    pub server: String,
    /// The address that is connected to, one of `server`'s.
    pub address: IpAddr,
    /// Whether the client sends an octet for each answer. Otherwise each connection has one answer, and the
    /// server speaks first.
    pub asks: bool,
    /// How many answers, at most 256.
    pub answers: u32,
    /// Octets of each.
    pub answer_bytes: usize,
    /// How they share connections.
    pub connections: Connections,
    /// What the answers are consecutive slices of.
    pub content: String,
    /// When it starts.
    #[serde(default)]
    pub start_seconds: f64,
}

/// How the answers of an exchange share connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Connections {
    /// One for all, one answer after the other.
    Kept,
    /// One for each, one after the other.
    New,
    /// One for each, all at once.
    AtOnce,
}

/// Something that happens during a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// Its time, after everything was ready.
    pub at_seconds: f64,
    /// Its action.
    pub action: Action,
}

/// What an event does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[expect(clippy::large_enum_variant, reason = "a handful a scenario")]
pub enum Action {
    /// Changes one direction of a link.
    Configure {
        /// The link's name.
        link: String,
        /// Which direction.
        direction: Direction,
        /// What it is from now on.
        config: LinkConfig,
    },
    /// Runs a command in a place, to its end (at most ten seconds).
    Run {
        /// The place.
        place: String,
        /// The program and its arguments.
        command: Vec<String>,
    },
    /// Starts a daemon and waits until it is ready.
    Start(String),
    /// Ends a daemon.
    Stop(String),
}
