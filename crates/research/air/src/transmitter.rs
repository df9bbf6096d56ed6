//! Air time of a frame.

use std::time::Duration;

use crate::config::{CapacityConfig, LinkConfig};
use crate::mahimahi::Opportunities;
use crate::timing::{ETHERNET_TO_MPDU_BYTES, Timing};
use crate::{Bitrate, ConfigError};

/// Sends one frame at a time, by one of the three kinds of capacity or without delay.
#[derive(Debug, Clone)]
pub(crate) enum Transmitter {
    Instant,
    Rate(Bitrate),
    /// Opportunities before `since` belonged to another transmitter.
    Recorded {
        since: Duration,
        opportunities: Opportunities,
    },
    Radio {
        timing: Timing,
        retry_limit: u8,
    },
}

impl Transmitter {
    /// A transmitter that is free from `since` on.
    pub(crate) fn new(config: &LinkConfig, since: Duration) -> Result<Self, ConfigError> {
        if let Some(rate) = config.rate {
            return Ok(Self::Rate(rate));
        }
        if let Some(radio) = &config.radio {
            let timing = Timing::new(radio.standard, radio.rate)?;
            return Ok(Self::Radio { timing, retry_limit: radio.retry_limit });
        }
        match &config.trace {
            Some(CapacityConfig::OpportunitiesMs(trace)) => {
                Ok(Self::Recorded { since, opportunities: Opportunities::new(trace.clone()) })
            }
            Some(CapacityConfig::File(path)) => Err(ConfigError::TraceNotLoaded(path.clone())),
            None => Ok(Self::Instant),
        }
    }

    /// Length of a frame on the air with the configured overhead.
    pub(crate) fn bytes_on_air(&self, bytes: usize) -> usize {
        match self {
            Self::Radio { .. } => bytes.saturating_add(ETHERNET_TO_MPDU_BYTES),
            _ => bytes,
        }
    }

    pub(crate) fn retry_limit(&self) -> u8 {
        match self {
            Self::Radio { retry_limit, .. } => *retry_limit,
            _ => 0,
        }
    }

    /// End of the transmission of a frame that arrived at `arrival`, became first at `start`, has `bytes` on
    /// the air and was tried `tries` times. The last try is received, unless `lost`.
    pub(crate) fn finish(
        &mut self,
        arrival: Duration,
        start: Duration,
        bytes: usize,
        tries: u8,
        lost: bool,
    ) -> Duration {
        match self {
            Self::Instant => start,
            Self::Rate(rate) => start.saturating_add(rate.time_for(bytes)),
            Self::Recorded { since, opportunities } => opportunities.finish(arrival.max(*since), bytes),
            Self::Radio { timing, .. } => (0..tries)
                .map(|retry| {
                    if !lost && retry + 1 == tries {
                        timing.acknowledged(bytes, retry)
                    } else {
                        timing.unacknowledged(bytes, retry)
                    }
                })
                .fold(start, Duration::saturating_add),
        }
    }
}
