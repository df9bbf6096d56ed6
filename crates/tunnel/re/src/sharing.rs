//! The reach of references: the flows that a packet may refer to, and the granularity.
//!
//! Sizes reveal content. An attacker who sends chosen bytes and sees datagram sizes learns whether these
//! bytes were sent before. If a match may end at any byte, the attacker guesses byte by byte: a secret of
//! five hexadecimal digits takes 80 guesses (CRIME, 2012). A match therefore ends at any byte only in the
//! packet's own flow. In other flows it consists of whole pieces ([`crate::pieces`]), so a secret must be
//! guessed as a whole.

use crate::parameters::ParameterError;
use std::fmt;
use std::str::FromStr;

/// The stored packets that a packet may refer to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Sharing {
    /// Packets of its own flow: the same addresses, protocol and ports.
    Flow,
    /// Also packets of other flows between the same two addresses, in whole pieces.
    Host,
    /// All packets of the direction; those of other flows in whole pieces.
    #[default]
    Station,
    /// All packets of the direction, to the byte, as in the papers. No configuration offers it.
    ToTheByte,
}

impl Sharing {
    /// The values that a configuration may choose.
    pub const ALL: [Sharing; 3] = [Sharing::Flow, Sharing::Host, Sharing::Station];

    /// Whether a packet may refer to other flows, in whole pieces.
    pub(crate) fn has_pieces(self) -> bool {
        matches!(self, Sharing::Host | Sharing::Station)
    }
}

impl fmt::Display for Sharing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Sharing::Flow => "flow",
            Sharing::Host => "host",
            Sharing::Station => "station",
            Sharing::ToTheByte => "to-the-byte",
        })
    }
}

impl FromStr for Sharing {
    type Err = ParameterError;

    /// Parses a value that a configuration may choose.
    fn from_str(name: &str) -> Result<Self, ParameterError> {
        let unknown = || ParameterError::UnknownSharing(name.chars().take(40).collect());
        Sharing::ALL.into_iter().find(|sharing| sharing.to_string() == name).ok_or_else(unknown)
    }
}
