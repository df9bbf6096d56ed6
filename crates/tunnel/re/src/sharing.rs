//! How far references reach: which flows' packets a packet may refer to, and how finely.
//!
//! Sizes betray content. Whoever has bytes of their choosing sent, and sees how long datagrams become, learns
//! whether these bytes were sent before. Where a match may end at any byte, that is asked byte by byte: a
//! secret of five hexadecimal digits takes 80 questions (CRIME, 2012). So a match ends at any byte only in a
//! packet's own flow. In other flows it is made of whole pieces ([`crate::pieces`]), and a secret is asked
//! for as a whole.

use crate::parameters::ParameterError;
use std::fmt;
use std::str::FromStr;

/// To which stored packets a packet may refer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Sharing {
    /// To those of its own flow: the same addresses, protocol and ports.
    Flow,
    /// Also to those of other flows between the same two addresses, in whole pieces.
    Host,
    /// To all of the direction; to those of other flows in whole pieces.
    #[default]
    Station,
    /// To all of the direction, to the byte: as the papers do. No configuration has it.
    ToTheByte,
}

impl Sharing {
    /// What a configuration may choose.
    pub const ALL: [Sharing; 3] = [Sharing::Flow, Sharing::Host, Sharing::Station];

    /// Whether a packet refers to other flows than its own, in whole pieces.
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

    /// Reads what a configuration may choose.
    fn from_str(name: &str) -> Result<Self, ParameterError> {
        let unknown = || ParameterError::UnknownSharing(name.chars().take(40).collect());
        Sharing::ALL.into_iter().find(|sharing| sharing.to_string() == name).ok_or_else(unknown)
    }
}
