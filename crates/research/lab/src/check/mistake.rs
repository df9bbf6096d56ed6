//! Mistakes in a scenario.

use super::{LONGEST_SECONDS, MOST_DATAGRAMS, MOST_RADIOS, MOST_WAITING_FRAMES};

/// A mistake in a scenario.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[allow(missing_docs)] // the sentences say what each is
pub enum Mistake {
    #[error("seed {0} is given twice: two runs with one seed are one run")]
    SeedTwice(u64),
    #[error("seed {0} is too large: the largest is 2^54 - 1, so that two seeds never give one run")]
    LargeSeed(u64),
    #[error("there are more than 255 links")]
    ManyLinks,
    #[error("there are more than 255 channels")]
    ManyChannels,
    #[error("the place name `{0}` is not 1 to 32 letters and digits")]
    PlaceName(String),
    #[error("two places are called `{0}`")]
    PlaceTwice(String),
    #[error("there is no place `{0}`")]
    NoPlace(String),
    #[error("the link name `{0}` is not 1 to 15 letters and digits")]
    LinkName(String),
    #[error("two links, or a link and loopback, are called `{0}`")]
    LinkTwice(String),
    #[error("the link `{link}` has `{place}` at both ends")]
    Loop { link: String, place: String },
    #[error("the link `{link}`: {why}")]
    Link { link: String, why: String },
    #[error("the channel `{channel}`: {why}")]
    Channel { channel: String, why: String },
    #[error("the channel name `{0}` is not 1 to 15 letters and digits")]
    ChannelName(String),
    #[error("two links or channels, or one and loopback, are called `{0}`")]
    ChannelTwice(String),
    #[error("the channel `{channel}` has {stations} stations and positions for {positions}")]
    Positions { channel: String, stations: usize, positions: usize },
    #[error("the channel `{0}` has more than 254 stations")]
    ManyStations(String),
    #[error("the channel `{channel}` has the station `{station}` twice")]
    StationTwice { channel: String, station: String },
    #[error("there are more than 255 Wi-Fi networks")]
    ManyNetworks,
    #[error("the Wi-Fi networks have {0} radios, and the kernel simulates at most {MOST_RADIOS}")]
    ManyRadios(usize),
    #[error("the Wi-Fi network's name `{0}` is not 1 to 12 letters and digits")]
    NetworkName(String),
    #[error("the Wi-Fi network `{network}` has {members} places and positions for {positions}")]
    Members { network: String, members: usize, positions: usize },
    #[error("the Wi-Fi network `{network}` has the place `{member}` twice")]
    MemberTwice { network: String, member: String },
    #[error("the Wi-Fi network `{network}` has no place `{monitor}` for a monitor")]
    Monitor { network: String, monitor: String },
    #[error(
        "the Wi-Fi network `{network}` makes interfaces `{monitor}` for its monitors, and something has that name"
    )]
    MonitorTwice { network: String, monitor: String },
    #[error("the Wi-Fi network `{0}` needs a radio of standard `g`: the simulated radios have no other")]
    Standard(String),
    #[error("the Wi-Fi network `{0}` names listeners of its medium: `monitors` names their places")]
    Listeners(String),
    #[error(
        "{frames} frames wait at a station of the Wi-Fi network `{network}`, and at most {MOST_WAITING_FRAMES} may"
    )]
    WaitingFrames { network: String, frames: usize },
    #[error("{0} is not a time from 0 to {LONGEST_SECONDS} seconds")]
    Time(f64),
    #[error("the content name `{0}` is not letters, digits, `-`, `_` and `.`")]
    ContentName(String),
    #[error("two contents are called `{0}`")]
    ContentTwice(String),
    #[error("there is no content `{0}`")]
    NoContent(String),
    #[error("the daemon name `{0}` is not letters, digits, `-`, `_` and `.`")]
    DaemonName(String),
    #[error("two daemons are called `{0}`")]
    DaemonTwice(String),
    #[error("the daemon `{0}` has the name of one that a Wi-Fi network starts")]
    DaemonOfNetwork(String),
    #[error("the daemon `{0}` has no command")]
    NoCommand(String),
    #[error("the readiness check of the daemon `{0}` has no command")]
    NoReadiness(String),
    #[error("there is no daemon `{0}` to start or stop")]
    NoDaemon(String),
    #[error("download {download} starts after download {after}, which is not an earlier one")]
    Order { download: usize, after: usize },
    #[error("a client's page has no contents")]
    EmptyPage,
    #[error("a stream of {0} datagrams is longer than {MOST_DATAGRAMS}")]
    ManyDatagrams(u64),
    #[error("a stream's payload of {0} octets is not within 20 to 65507")]
    Payload(usize),
    #[error("an exchange of {0} answers is not within 1 to 256")]
    Answers(u32),
    #[error("an exchange has answers of 0 octets")]
    EmptyAnswer,
    #[error("connections at once need `asks`: their server cannot know which answer is whose")]
    Unasked,
    #[error("there is no link over the air called `{0}`")]
    NoAir(String),
    #[error("an event runs an empty command")]
    EmptyCommand,
}
