//! How long the air is occupied by a frame.

use std::time::Duration;

use crate::config::{CapacityConfig, LinkConfig};
use crate::mahimahi::Opportunities;
use crate::timing::{ETHERNET_TO_MPDU_BYTES, Timing};
use crate::{Bitrate, ConfigError};

/// One frame at a time, by one of the three kinds of capacity or none.
#[derive(Debug, Clone)]
pub(crate) enum Transmitter {
    Instant,
    Rate(Bitrate),
    /// Opportunities before `since` were another transmitter's.
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
    /// Free from `since` on.
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

    /// What the frame is on the air, given its length and the configured overhead.
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

    /// When a frame is off the air that arrived at `arrival`, became first at `start`, has `bytes` on the air
    /// and was tried `tries` times, the last of them received or, if `lost`, not.
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
