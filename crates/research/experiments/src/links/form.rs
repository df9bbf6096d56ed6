//! The ways by which TCP's bytes cross the hop.

use std::fmt;

use lab::Scenario;

use super::place::RATE_MEGABITS;

/// How the bytes cross.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// As packets.
    Packets,
    /// As streams.
    Streams,
    /// As streams, with the link's rate told.
    StreamsTold,
    /// As streams, with the link's rate told, whose clients are answered before the servers do.
    StreamsEarlyTold,
}

impl Form {
    /// Sets the nodes of a scenario up.
    pub fn configure(self, scenario: &mut Scenario) {
        let streams = match self {
            Self::Packets => "",
            Self::Streams | Self::StreamsTold => "streams = true\n",
            Self::StreamsEarlyTold => "[streams]\nanswer_early = true\n",
        };
        let rate = match self {
            Self::StreamsTold | Self::StreamsEarlyTold => {
                &format!("[link]\nrate = \"{RATE_MEGABITS} Mbit/s\"\n")
            }
            Self::Packets | Self::Streams => "",
        };
        for daemon in &mut scenario.daemons {
            daemon.config.insert_str(0, &format!("{streams}{rate}"));
        }
    }

    /// The recorded program to compare with.
    pub fn rival(self) -> Option<&'static str> {
        match self {
            Self::Packets => None,
            Self::Streams => Some("Hysteria, bbr"),
            Self::StreamsTold => Some("Hysteria, rate told"),
            Self::StreamsEarlyTold => Some("Hysteria, rate told, fastOpen"),
        }
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Packets => "packets",
            Self::Streams => "streams",
            Self::StreamsTold => "streams, rate told",
            Self::StreamsEarlyTold => "streams, answered early, rate told",
        })
    }
}
