//! The byte-caching paper's experiments without TCP: one stream over one link. They measure the application's
//! loss against the link's (section VII, Figure 13) and sent bytes (Figure 10). They vary k (Figure 12) and
//! impairments that the paper names without a plot.
//!
//! A [`Trial`] is one stream under one method. [`Case`]s are trials as points of a figure, made by
//! [`over_losses`], [`over_distances`] and [`over_conditions`]. [`Case::run`] runs one with one seed, on any
//! thread. Trials with equal seeds meet the same air: the same frame indexes are lost.

mod cases;

pub use cases::{Case, Condition, Measured, over_conditions, over_distances, over_losses};

use crate::addresses::GATEWAY;
use crate::delays::DelayReport;
use crate::fault::{Fault, FaultRefused};
use crate::observer::Observer;
use crate::path::{down_link, up_link};
use crate::setup::{Setup, SetupError, Station, Tunnel};
use crate::simulation::{Simulation, Stuck};
use crate::traffic::{ConstantRate, Content, Ends, Segments, Source};
use air::{Bitrate, LinkConfig, LossConfig};
use serde::Serialize;
use std::sync::Arc;
use std::time::Duration;

/// Start of the stream, after the session's start over faultless links.
const START: Duration = Duration::from_secs(1);
/// Duration of the run after the last packet of a stream.
const DRAIN: Duration = Duration::from_secs(3);

/// Kind of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// UDP packets.
    Datagrams,
    /// Segments in TCP's form, without TCP ([`Segments`]).
    Segments {
        /// Time after which an undelivered segment is retransmitted; `None` for never.
        retransmit_after: Option<Duration>,
    },
}

/// One stream from the gateway to a station.
#[derive(Debug, Clone)]
pub struct Trial {
    /// The tunnel; `None` for the bare baseline.
    pub tunnel: Option<Tunnel>,
    /// Kind of the stream.
    pub stream: Stream,
    /// Its content, repeated.
    pub content: Arc<[u8]>,
    /// Bytes of content in each packet.
    pub payload_bytes: usize,
    /// The time between packets.
    pub interval: Duration,
    /// How many packets, retransmissions not counted.
    pub packets: u64,
    /// The link from the gateway while the stream lasts.
    pub down: LinkConfig,
    /// The link to the gateway while the stream lasts.
    pub up: LinkConfig,
}

/// The result of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Outcome {
    /// Packets that the application offered, retransmissions included.
    pub offered_packets: u64,
    /// Their bytes.
    pub offered_bytes: u64,
    /// Packets delivered at the other end.
    pub delivered_packets: u64,
    /// The share of transmitted frames from the gateway that the air lost or corrupted.
    pub actual_loss: f64,
    /// The share of offered packets that were not delivered.
    pub perceived_loss: f64,
    /// Packets that arrived and could never be restored.
    pub undecodable_packets: u64,
    /// Packets delivered with wrong bytes: must be 0.
    pub wrong_packets: u64,
    /// Frames from the gateway that the queue dropped. If there are any, the stream was too fast, and they
    /// are part of the perceived loss.
    pub queue_dropped_packets: u64,
    /// Bytes sent from the gateway, with all headers and control.
    pub bytes_down: u64,
    /// Bytes sent to the gateway.
    pub bytes_up: u64,
    /// From offer to delivery.
    pub delay: Option<DelayReport>,
    /// For segments: the share of the stream delivered without a gap from the beginning.
    pub in_order_share: Option<f64>,
    /// For segments: time until all were delivered, if they were.
    pub completion_seconds: Option<f64>,
}

/// Reason why a trial is impossible.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TrialError {
    /// Links or parameters.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// Links.
    #[error(transparent)]
    Conditions(#[from] FaultRefused),
    /// A node that never finishes.
    #[error(transparent)]
    Stuck(#[from] Stuck),
}

impl Trial {
    /// A stream of `content` at half of the link's capacity, under the default tunnel: 1360 bytes a packet (a
    /// full segment inside the tunnel) over the paper's link of 1 MByte/s and 20 ms, without loss.
    #[must_use]
    pub fn of(content: impl Into<Arc<[u8]>>, stream: Stream, packets: u64) -> Self {
        let link = LinkConfig {
            rate: Some(Bitrate::from_bytes_per_second(1_000_000)),
            delay: Duration::from_millis(10),
            ..LinkConfig::default()
        };
        Trial {
            tunnel: Some(Tunnel::default()),
            stream,
            content: content.into(),
            payload_bytes: 1360,
            interval: Duration::from_micros(2720),
            packets,
            down: link.clone(),
            up: link,
        }
    }

    /// The same under a policy, in the form (compact or the paper's) that the tunnel has.
    #[must_use]
    pub fn with_policy(&self, policy: re::Policy) -> Self {
        let mut tunnel = self.tunnel.clone().unwrap_or_default();
        tunnel.reduce.policy = policy;
        Trial { tunnel: Some(tunnel), ..self.clone() }
    }

    /// The same without a tunnel.
    #[must_use]
    pub fn bare(&self) -> Self {
        Trial { tunnel: None, ..self.clone() }
    }

    /// The same with losses in both directions.
    #[must_use]
    pub fn with_loss(&self, loss: &LossConfig) -> Self {
        let with = |link: &LinkConfig| LinkConfig { loss: loss.clone(), ..link.clone() };
        Trial { down: with(&self.down), up: with(&self.up), ..self.clone() }
    }

    /// Name of the stream's method: `bare`, or the policy's name.
    #[must_use]
    pub fn method(&self) -> String {
        self.tunnel.as_ref().map_or_else(|| "bare".to_owned(), |tunnel| tunnel.reduce.policy.to_string())
    }

    /// Runs the trial.
    pub fn run(&self, seed: u64) -> Result<Outcome, TrialError> {
        self.run_observed(seed, &mut ())
    }

    /// Runs the trial with an observer.
    pub fn run_observed(&self, seed: u64, observer: &mut dyn Observer) -> Result<Outcome, TrialError> {
        let links = Station { down: faultless(&self.down), up: faultless(&self.up) };
        let mut simulation =
            Simulation::new(&Setup { seed, stations: vec![links], tunnel: self.tunnel.clone() })?;
        simulation.add_source("stream", self.source());
        for (link, config) in [(down_link(1), &self.down), (up_link(1), &self.up)] {
            simulation.schedule(START, Fault::Conditions { link, config: Box::new(config.clone()) })?;
        }
        let before_start = START - Duration::from_nanos(1);
        simulation.run_until(before_start, observer)?;
        let before = simulation.report().links[down_link(1)].counters.clone();
        let nominal = u32::try_from(self.packets)
            .map_or(Duration::MAX, |packets| self.interval.saturating_mul(packets));
        let limit = match self.stream {
            Stream::Segments { retransmit_after: Some(_) } => {
                nominal.saturating_mul(4) + Duration::from_secs(60)
            }
            _ => nominal,
        };
        simulation.run_until_complete(START.saturating_add(limit), observer)?;
        simulation.run_until(simulation.now() + DRAIN, observer)?;
        Ok(outcome(&simulation, &before))
    }

    fn source(&self) -> Box<dyn Source> {
        let ends = Ends::between(GATEWAY, 1);
        match self.stream {
            Stream::Datagrams => {
                let content = Content::given(self.content.clone());
                let stream = ConstantRate::new(ends, content, self.payload_bytes, self.interval);
                Box::new(stream.starting_at(START).ending_after(self.packets))
            }
            Stream::Segments { retransmit_after } => {
                let per_pass = self.content.len().div_ceil(self.payload_bytes.max(1)).max(1) as u64;
                let passes = u32::try_from(self.packets.div_ceil(per_pass)).unwrap_or(u32::MAX);
                let stream = Segments::new(ends, self.content.clone(), self.payload_bytes, self.interval);
                let stream = stream.starting_at(START).acknowledging_every(2).passing(passes);
                match retransmit_after {
                    Some(time) => Box::new(stream.retransmitting_after(time)),
                    None => Box::new(stream),
                }
            }
        }
    }
}

/// The same link without faults.
fn faultless(link: &LinkConfig) -> LinkConfig {
    LinkConfig { loss: LossConfig::None, reorder: None, duplicate: 0.0, corrupt: 0.0, ..link.clone() }
}

fn outcome(simulation: &Simulation, before: &air::LinkCounters) -> Outcome {
    let report = simulation.report();
    let (source, down) = (&report.sources[0], &report.links[down_link(1)].counters);
    let stream = &source.forwards;
    let harmed = |counters: &air::LinkCounters| counters.lost.frames + counters.corrupted.frames;
    let on_air = |counters: &air::LinkCounters| counters.transmitted.frames - counters.retried.frames;
    let (harmed, on_air) = (harmed(down) - harmed(before), on_air(down) - on_air(before));
    let bare = report.hosts[GATEWAY].boots.is_empty();
    Outcome {
        offered_packets: stream.offered.packets,
        offered_bytes: stream.offered.bytes,
        delivered_packets: stream.delivered.packets,
        actual_loss: harmed as f64 / on_air.max(1) as f64,
        perceived_loss: stream.perceived_loss().unwrap_or(0.0),
        undecodable_packets: report.hosts.iter().map(|host| host.outcomes.never_delivered()).sum(),
        wrong_packets: if bare { 0 } else { report.unrecognised },
        queue_dropped_packets: down.queue_dropped.frames,
        bytes_down: down.offered.bytes,
        bytes_up: report.links[up_link(1)].counters.offered.bytes,
        delay: stream.delay,
        in_order_share: source.in_order_share,
        completion_seconds: source.completed_at_seconds.map(|at| at - START.as_secs_f64()),
    }
}
