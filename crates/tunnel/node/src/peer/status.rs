//! The status of a peer.

use super::Peer;
use super::link::{Link, NoStreams};
use crate::group::Sharing;
use crate::status::{
    OverheardAtRate, PeerCounters, PeerStatus, StoresStatus, StreamsStatus, outer_header_bytes,
};
use overhear::StationId;
use std::time::Duration;

impl Peer {
    /// The status at `now`. `sharing`: this node's group.
    pub fn status(&self, now: Duration, sharing: Option<&Sharing>) -> PeerStatus {
        let link = self.link.as_ref();
        let heard = link.and_then(|link| Some(*link.roles.listener()?.statistics())).unwrap_or_default();
        let (boosted_flows, boost_ratio) = self.ratios.boosted(now);
        PeerStatus {
            name: self.config.name.clone(),
            public_key: self.config.public_key.to_string(),
            endpoint: self.endpoint.address(),
            allowed_ips: self.config.allowed_ips.iter().map(ToString::to_string).collect(),
            session_age_seconds: self
                .sessions
                .established()
                .map(|established| now.saturating_sub(established).as_secs_f64()),
            srtt_seconds: link.and_then(|link| link.arq.srtt()).map(|srtt| srtt.as_secs_f64()),
            loss: link.and_then(|link| link.arq.loss()),
            queueing_seconds: link
                .and_then(|link| Some(link.arq.progress()?.delay.queueing()?.as_secs_f64())),
            window_bytes: link.and_then(|link| link.hop.as_ref()?.window_bytes()),
            paced_bits_per_second: link.and_then(|link| Some((link.hop.as_ref()?.rate()? * 8.0) as u64)),
            reachable: self.reachability.is_up(),
            previous_network_key: false,
            revoked: self.revoked,
            source_ports: self.lanes.ports().0,
            heard_ports: self.lanes.ports().1,
            path_mtu_bytes: self
                .endpoint
                .address()
                .map(|to| self.path.limit() as u64 + outer_header_bytes(to)),
            path_mtu_confirmed: self.path.is_confirmed(),
            version: self.sessions.version(),
            cipher: self.sessions.cipher().map(|cipher| cipher.to_string()),
            store_bytes: link.map(Link::store_bytes),
            stores: link.map(|_| self.stores_status()),
            radio_bits_per_second: sharing.and_then(|sharing| sharing.radio_rate(self.index as u8)),
            overheard_share: link
                .and_then(|link| sharing?.codec.overheard_share(StationId(link.roles.member()?.id))),
            overheard_by_rate: link
                .and_then(|link| {
                    let by_rate = sharing?.codec.overheard_by_rate(StationId(link.roles.member()?.id))?;
                    Some(by_rate.iter().copied().map(OverheardAtRate::from).collect())
                })
                .unwrap_or_default(),
            associated: self.associated.map(|association| association > 0),
            associated_with: None,
            overheard_by: None,
            queue_bytes: self.queue.bytes(),
            recover: link.and_then(|link| link.tcp.status()),
            streams: self.streams_status(),
            boosted_flows,
            boost_ratio,
            counters: PeerCounters {
                queue_dropped: self.queue.dropped,
                queue_dropped_by_codel: self.queue.dropped_by_codel,
                queue_dropped_for_path: self.queue.dropped_for_path,
                dropped_old: self.counters.dropped_old + self.queue.dropped_old,
                queue_marked: self.queue.marked,
                path_probes: self.path.probes,
                black_holes: self.path.black_holes,
                chunks_hit: heard.hit_chunks,
                chunks_missed: heard.missed_chunks,
                streams: self.streams.as_ref().map(|it| it.streams.counters().into()).unwrap_or_default(),
                ..self.counters
            },
        }
    }

    /// The stores with their bounds.
    fn stores_status(&self) -> StoresStatus {
        let [sent, received, sent_records, received_records] =
            self.store_bounds().map(Option::unwrap_or_default);
        let memory = self.store_memory_bytes();
        StoresStatus {
            sent_bound_bytes: sent,
            sent_memory_bytes: memory[0],
            received_bound_bytes: received,
            received_memory_bytes: memory[1],
            sent_records_bound_bytes: sent_records,
            sent_records_memory_bytes: memory[2],
            received_records_bound_bytes: received_records,
            received_records_memory_bytes: memory[3],
            departed_bytes: self.departed_bytes(),
        }
    }

    /// The state of the streams. None where this node has none.
    fn streams_status(&self) -> Option<StreamsStatus> {
        let it = &self.streams.as_ref()?.streams;
        let link = self.link.as_ref().filter(|_| self.sessions.established().is_some());
        let off = link.map_or(Some(NoStreams::NoSession), Link::no_streams);
        let (most, most_memory_bytes) = it.bounds();
        Some(StreamsStatus {
            off: off.map(|why| why.to_string()),
            open: it.open_streams(),
            most,
            memory_bytes: it.memory_bytes(),
            most_memory_bytes,
        })
    }
}
