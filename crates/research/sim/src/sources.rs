//! The sources of a simulation, and the fates of their packets.

use crate::delays::Delays;
use crate::ledger::Verdict;
use crate::observer::Observation;
use crate::report::{FlowReport, Packets, SourceReport};
use crate::traffic::{Passage, Source};
use std::time::Duration;

#[derive(Default)]
pub(crate) struct Sources(Vec<Account>);

struct Account {
    name: String,
    source: Box<dyn Source>,
    /// Destination of its first packet.
    forwards_to: Option<usize>,
    forwards: Flow,
    backwards: Flow,
}

#[derive(Default)]
struct Flow {
    offered: Packets,
    delivered: Packets,
    duplicates: u64,
    delays: Delays,
}

impl Account {
    fn flow(&mut self, to: usize) -> &mut Flow {
        if *self.forwards_to.get_or_insert(to) == to { &mut self.forwards } else { &mut self.backwards }
    }
}

impl Flow {
    fn report(&self) -> FlowReport {
        FlowReport {
            offered: self.offered,
            delivered: self.delivered,
            duplicates: self.duplicates,
            delay: self.delays.report(),
        }
    }
}

impl Sources {
    pub fn add(&mut self, name: &str, source: Box<dyn Source>) -> usize {
        self.0.push(Account {
            name: name.to_owned(),
            source,
            forwards_to: None,
            forwards: Flow::default(),
            backwards: Flow::default(),
        });
        self.0.len() - 1
    }

    /// Times of the sources' next packets.
    pub fn timeouts(&self) -> impl Iterator<Item = (usize, Duration)> {
        let timeout = |(number, account): (usize, &Account)| Some((number, account.source.poll_timeout()?));
        self.0.iter().enumerate().filter_map(timeout)
    }

    pub fn poll_packet(&mut self, number: usize, now: Duration, packet: &mut Vec<u8>) -> Option<Passage> {
        self.0[number].source.poll_packet(now, packet)
    }

    pub fn record_offer(&mut self, number: usize, to: usize, bytes: usize) {
        self.0[number].flow(to).offered.add(bytes);
    }

    /// Records a delivered packet.
    pub fn judge<'a>(
        &mut self,
        verdict: Verdict,
        now: Duration,
        host: usize,
        packet: &'a [u8],
    ) -> Observation<'a> {
        match verdict {
            Verdict::First { source, delay } => {
                let account = &mut self.0[source];
                let flow = account.flow(host);
                flow.delivered.add(packet.len());
                flow.delays.record(delay);
                account.source.handle_delivery(now, host, packet);
                Observation::Delivered { source, host, packet, delay }
            }
            Verdict::Again { source } => {
                self.0[source].flow(host).duplicates += 1;
                Observation::Duplicate { source, host, packet }
            }
            Verdict::Unrecognised => Observation::Unrecognised { host, packet },
        }
    }

    pub fn are_complete(&self) -> bool {
        self.0.iter().all(|account| account.source.is_complete())
    }

    pub fn report(&self) -> Vec<SourceReport> {
        let report = |account: &Account| SourceReport {
            name: account.name.clone(),
            forwards: account.forwards.report(),
            backwards: account.backwards.report(),
            round_trip: account.source.round_trips().and_then(Delays::report),
            in_order_share: account.source.in_order_share(),
            completed_at_seconds: account.source.completed_at().map(|at| at.as_secs_f64()),
        };
        self.0.iter().map(report).collect()
    }
}
