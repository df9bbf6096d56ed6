//! Cells of the paper's grid: traffic, scheme, impairment, and TCP.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use air::{LinkConfig, LossConfig, ReorderConfig};

use crate::scheme::Scheme;

/// One cell. Equal cells have equal names, and are run once whichever figures want them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cell {
    /// The traffic.
    pub traffic: Traffic,
    /// How.
    pub scheme: Scheme,
    /// What the link does to it.
    pub impairment: Impairment,
    /// The end hosts' TCP.
    pub stack: Stack,
    /// The length of the path.
    pub path: Path,
}

/// The way from the server to the client: perhaps a long wire, then the lossy hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Path {
    /// Round trip of the hop, which the tunnel spans, in milliseconds.
    pub hop_milliseconds: u32,
    /// Round trip of a wire between the server and the hop, in milliseconds; without one the server is at the
    /// hop.
    pub wire_milliseconds: Option<u32>,
    /// What the hop carries.
    pub capacity: Capacity,
}

/// What a link carries, and how much waits for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capacity {
    /// Octets a second, in thousands.
    pub rate_kilobytes: u32,
    /// Octets that wait before its transmitter at most.
    pub queue_bytes: u32,
}

impl Capacity {
    /// At the paper's rate; the paper names no queue.
    pub const PAPER: Self = Self { rate_kilobytes: 1000, queue_bytes: 65_536 };
}

impl Path {
    /// At the paper's rate; the paper names no round trip, so 20 ms is ours, all of it the hop.
    pub const PAPER: Self = Self::hop(20);

    /// A hop with this round trip and nothing else.
    #[must_use]
    pub const fn hop(milliseconds: u32) -> Self {
        Self { hop_milliseconds: milliseconds, wire_milliseconds: None, capacity: Capacity::PAPER }
    }

    /// The whole round trip.
    #[must_use]
    pub fn round_trip_milliseconds(self) -> u32 {
        self.hop_milliseconds + self.wire_milliseconds.unwrap_or(0)
    }

    /// The wire in one direction, if there is one: it delays and does nothing else.
    #[must_use]
    pub fn wire(self) -> Option<LinkConfig> {
        let delay = Duration::from_micros(u64::from(self.wire_milliseconds?) * 500);
        Some(LinkConfig { delay, ..LinkConfig::default() })
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ms", self.round_trip_milliseconds())?;
        if self.wire_milliseconds.is_some() {
            write!(f, ", {} of them the hop", self.hop_milliseconds)?;
        }
        let Capacity { rate_kilobytes, queue_bytes } = self.capacity;
        match self.capacity {
            Capacity::PAPER => Ok(()),
            _ => write!(f, ", {} Mbit/s, queue {queue_bytes} B", rate_kilobytes * 8 / 1000),
        }
    }
}

/// Traffic from the server to the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Traffic {
    /// A file, by HTTP.
    Download(File),
    /// A file, in UDP datagrams at a fixed rate.
    Stream(File),
}

/// Contents of the packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum File {
    /// The paper's file 1: few dependencies.
    One,
    /// The paper's file 2: many.
    Two,
    /// The book of Figure 6.
    Ebook,
    /// Content of file 1's length that neither repeats nor compresses.
    Random,
    /// Random bytes for more than half a minute.
    Long,
    /// Random bytes, half of which are the first ones of the long stretch.
    HalfRepeating,
    /// 10 MB of documentation.
    Documents,
}

impl File {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::One, Self::Two, Self::Ebook, Self::Random, Self::Long, Self::HalfRepeating, Self::Documents];

    /// The name under which it is offered.
    #[must_use]
    pub fn slug(self) -> &'static str {
        match self {
            Self::One => "file-1",
            Self::Two => "file-2",
            Self::Ebook => "ebook",
            Self::Random => "random",
            Self::Long => "random-long",
            Self::HalfRepeating => "half-repeating",
            Self::Documents => "documents",
        }
    }
}

impl FromStr for File {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let unknown = || {
            let known = Self::ALL.map(Self::slug).join(", ");
            format!("no file is called {name:?}; there are {known}")
        };
        Self::ALL.into_iter().find(|file| file.slug() == name).ok_or_else(unknown)
    }
}

impl fmt::Display for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::One => "file 1",
            Self::Two => "file 2",
            Self::Ebook => "ebook",
            Self::Random => "random bytes",
            Self::Long => "a long stretch of random bytes",
            Self::HalfRepeating => "random bytes, half of them those of the long stretch",
            Self::Documents => "10 MB of documentation",
        })
    }
}

/// What the link does, beyond its rate, delay and queue. Percentages are of packets.
///
/// By default it applies only to the direction of the data. The paper rate-limits and thins the link by a
/// traffic shaper at the server (section III-C), which sees the data; its analysis treats only lost data.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Impairment {
    /// Each packet is lost with this probability.
    Loss(f64),
    /// A loss rate in bursts: Gilbert-Elliott's model on bits. The bad state lasts for five full packets on
    /// average with an error in every thousandth bit, and the good state is clean.
    Bursts(f64),
    /// This loss rate in each direction.
    LossBothWays(f64),
    /// This share is held back for 5 ms, while about three others pass.
    Reordering(f64),
    /// This share has one flipped bit.
    Corruption(f64),
    /// This share arrives twice.
    Duplication(f64),
    /// A little of everything, in both directions.
    Everything,
}

/// Bits of a burst, on average: five full packets.
const BURST_BITS: f64 = 5.0 * 1500.0 * 8.0;
/// For how long reordered packets are held back: at 1 MByte/s three full packets pass meanwhile.
const HELD_BACK: Duration = Duration::from_millis(5);

impl Impairment {
    /// None.
    pub const NONE: Self = Self::Loss(0.0);

    /// The link from server to client and the link back: half the hop's round trip each.
    #[must_use]
    pub fn links(self, path: Path) -> [LinkConfig; 2] {
        let plain = || LinkConfig {
            rate: Some(air::Bitrate::from_bytes_per_second(u64::from(path.capacity.rate_kilobytes) * 1000)),
            delay: Duration::from_micros(u64::from(path.hop_milliseconds) * 500),
            queue_bytes: path.capacity.queue_bytes as usize,
            ..LinkConfig::default()
        };
        let loss = |percent: f64| match percent {
            0.0 => LossConfig::None,
            _ => LossConfig::Bernoulli { probability: percent / 100.0 },
        };
        let reorder = |percent: f64| ReorderConfig { probability: percent / 100.0, extra_delay: HELD_BACK };
        let data = match self {
            Self::Loss(percent) => LinkConfig { loss: loss(percent), ..plain() },
            Self::LossBothWays(percent) => {
                return [(); 2].map(|()| LinkConfig { loss: loss(percent), ..plain() });
            }
            Self::Bursts(percent) => {
                let (share, bad_to_good) = (percent / 100.0, 1.0 / BURST_BITS);
                let loss = LossConfig::GilbertElliott {
                    good_error_rate: 0.0,
                    bad_error_rate: 1e-3,
                    good_to_bad: bad_to_good * share / (1.0 - share),
                    bad_to_good,
                };
                LinkConfig { loss, ..plain() }
            }
            Self::Reordering(percent) => LinkConfig { reorder: Some(reorder(percent)), ..plain() },
            Self::Corruption(percent) => LinkConfig { corrupt: percent / 100.0, ..plain() },
            Self::Duplication(percent) => LinkConfig { duplicate: percent / 100.0, ..plain() },
            Self::Everything => {
                return [(); 2].map(|()| LinkConfig {
                    loss: loss(2.0),
                    reorder: Some(reorder(2.0)),
                    corrupt: 0.01,
                    duplicate: 0.01,
                    ..plain()
                });
            }
        };
        [data, plain()]
    }
}

impl fmt::Display for Impairment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Loss(percent) => write!(f, "loss {percent}%"),
            Self::Bursts(percent) => write!(f, "loss {percent}% in bursts"),
            Self::LossBothWays(percent) => write!(f, "loss {percent}% both ways"),
            Self::Reordering(percent) => write!(f, "reordering {percent}%"),
            Self::Corruption(percent) => write!(f, "corruption {percent}%"),
            Self::Duplication(percent) => write!(f, "duplication {percent}%"),
            Self::Everything => f.write_str("everything, both ways"),
        }
    }
}

/// The end hosts' TCP. The tunnel does not depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stack {
    /// Linux as it comes: cubic, SACK, RACK, tail loss probes, F-RTO.
    Modern,
    /// Cubic, without SACK, RACK, tail loss probes and early retransmit, which the paper's analysis does not
    /// know.
    Plain,
    /// NewReno without them, as of 2011.
    Reno,
}

impl Stack {
    /// Kernel parameters of both end hosts.
    #[must_use]
    pub fn parameters(self) -> BTreeMap<String, String> {
        let control = if self == Self::Reno { "reno" } else { "cubic" };
        let mut parameters = vec![("net.ipv4.tcp_congestion_control", control)];
        if self != Self::Modern {
            parameters.extend([
                ("net.ipv4.tcp_sack", "0"),
                ("net.ipv4.tcp_dsack", "0"),
                ("net.ipv4.tcp_recovery", "0"),
                ("net.ipv4.tcp_early_retrans", "0"),
                ("net.ipv4.tcp_frto", "0"),
            ]);
        }
        parameters.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }
}

impl fmt::Display for Stack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Modern => "modern TCP",
            Self::Plain => "cubic without SACK, RACK, early retransmit",
            Self::Reno => "NewReno without SACK, RACK, early retransmit",
        })
    }
}

impl Cell {
    /// A download over a lossy link by the usual TCP.
    #[must_use]
    pub fn download(file: File, scheme: Scheme, loss_percent: f64) -> Self {
        let (traffic, impairment) = (Traffic::Download(file), Impairment::Loss(loss_percent));
        Self { traffic, scheme, impairment, stack: Stack::Modern, path: Path::PAPER }
    }

    /// A stream over a lossy link.
    #[must_use]
    pub fn stream(file: File, scheme: Scheme, loss_percent: f64) -> Self {
        Self { traffic: Traffic::Stream(file), ..Self::download(file, scheme, loss_percent) }
    }

    /// The same with another scheme.
    #[must_use]
    pub fn with(self, scheme: Scheme) -> Self {
        Self { scheme, ..self }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> String {
        let Self { traffic, scheme, impairment, stack, path } = self;
        match traffic {
            Traffic::Download(file) => format!("{file}, {scheme}, {impairment}, {stack}, {path}"),
            Traffic::Stream(file) => format!("UDP stream of {file}, {scheme}, {impairment}, {path}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_impairment_is_a_link_that_the_air_accepts() {
        for impairment in [
            Impairment::NONE,
            Impairment::Loss(20.0),
            Impairment::Bursts(5.0),
            Impairment::LossBothWays(5.0),
            Impairment::Reordering(5.0),
            Impairment::Corruption(1.0),
            Impairment::Duplication(5.0),
            Impairment::Everything,
        ] {
            impairment.links(Path::PAPER).iter().for_each(|link| link.validate().unwrap());
        }
    }
}
