//! A scheme at work: one packet in, its encoded form out.

use std::time::Duration;

use anyhow::Result;
use overhear::boundaries::Boundaries;
use published::comparators::{Counted, Ideal, LongestMatch};

use super::air_time::AirTimes;
use super::as_printed;
use super::codec::{self, Codec, PacketNumber};
use super::run::Run;
use super::scheme::Scheme;

/// Bits of a reference under the ceiling: the paper's slot number.
const REFERENCE_BITS: u64 = 20;

/// What a scheme keeps.
pub enum Reduction {
    /// No RE.
    Nothing,
    /// Perfect RE.
    Ideal(Box<Ideal>),
    /// By station, the packets that it has heard.
    Heard(Vec<Ideal>),
    /// The ceiling, by station.
    Longest(Vec<LongestMatch>),
    /// A gateway and its stations.
    Codec(Box<Codec>),
}

/// A payload in encoded form.
pub struct Encoded {
    /// The codec's number; none without a codec.
    pub number: Option<PacketNumber>,
    /// The bytes; for a scheme without a decoder, zeros of that length.
    pub bytes: Vec<u8>,
    /// Bytes of the payload that are left out.
    pub removed_bytes: usize,
}

impl Reduction {
    /// The scheme of a run.
    ///
    /// # Errors
    ///
    /// When its settings make no sense.
    pub fn new(run: &Run<'_>, air_times: &[AirTimes]) -> Result<Self> {
        let min_chunk = run.scheme.min_chunk();
        let stations = 0..run.radios.len();
        Ok(match run.scheme {
            Scheme::Nothing => Self::Nothing,
            Scheme::Perfect => Self::Ideal(Box::new(codec::ideal(as_printed::boundaries(min_chunk), false))),
            Scheme::PerfectKnowledge => {
                let boundaries = Boundaries { min_chunk, ..Boundaries::default() };
                Self::Heard(stations.map(|_| codec::ideal(boundaries, true)).collect())
            }
            Scheme::MaxMatch => Self::Longest(stations.map(|_| LongestMatch::new(REFERENCE_BITS)).collect()),
            _ => Self::Codec(Box::new(Codec::new(run, air_times)?)),
        })
    }

    /// Encodes a payload for a station.
    pub fn encode(&mut self, to: usize, payload: &[u8], now: Duration) -> Encoded {
        let counted = match self {
            Self::Nothing => return Encoded { number: None, bytes: payload.to_vec(), removed_bytes: 0 },
            Self::Codec(codec) => {
                let mut bytes = Vec::with_capacity(payload.len() + 1);
                let (number, removed_bytes) = codec.encode(to, payload, now, &mut bytes);
                return Encoded { number: Some(number), bytes, removed_bytes };
            }
            Self::Ideal(ideal) => ideal.encode(payload, false),
            Self::Heard(ideals) => ideals[to].encode(payload, true),
            Self::Longest(ceilings) => ceilings[to].encode(payload),
        };
        let Counted { found_bytes, sent_bytes, .. } = counted;
        Encoded { number: None, bytes: vec![0; sent_bytes as usize], removed_bytes: found_bytes as usize }
    }

    /// Schemes without a codec learn that a station overheard a payload, all of it.
    pub fn note_overheard(&mut self, by: usize, payload: &[u8]) {
        match self {
            Self::Heard(ideals) => {
                ideals[by].encode(payload, true);
            }
            Self::Longest(ceilings) => ceilings[by].keep(payload),
            Self::Nothing | Self::Ideal(_) | Self::Codec(_) => {}
        }
    }

    /// The codec, where there is one.
    pub fn codec(&mut self) -> Option<&mut Codec> {
        if let Self::Codec(codec) = self { Some(codec) } else { None }
    }
}
