//! Analysis of a capture in one pass, for all methods at once.
//!
//! One thread reads and dissects. Each method has its own thread and gets the same batches of packets. The
//! queues are short, so memory stays bounded and the slowest method sets the pace. Every method gets the same
//! packets in the same order, so the figures do not depend on the threads.

use crate::dissect::Dissector;
use crate::method::{
    ByteCaching, Chunk, ChunkParameters, MaxMatch, MaxMatchParameters, Method, WholePacket, ZstdAlone,
};
use crate::packet::Batch;
use crate::report::{MethodReport, Report};
use crate::{CaptureError, CaptureReader, LinkType, Progress, Source};
use re::{Parameters, Policy};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// Bytes after which a batch is passed on.
const BATCH_BYTES: usize = 1 << 20;
/// Frames between two progress reports.
const WATCH_FRAMES: u64 = 256;
/// The most batches that wait for a method.
const QUEUE_BATCHES: usize = 4;

/// Options of an analysis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Parameters of `chunk`.
    pub chunk: ChunkParameters,
    /// Parameters of `max-match`.
    pub max_match: MaxMatchParameters,
    /// Parameters of the byte-caching encoders, except policy and form.
    pub byte_caching: Parameters,
    /// The reference policies of the byte-caching encoders; each is a method with the policy's name.
    pub policies: Vec<Policy>,
    /// Number of later packets after which `acked` counts a packet as confirmed.
    pub packets_in_flight: u64,
    /// The level of stateless zstd.
    pub zstd_level: i32,
    /// The selected methods, by name; empty for all.
    pub only: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            chunk: ChunkParameters::default(),
            max_match: MaxMatchParameters::default(),
            byte_caching: Parameters::default(),
            policies: vec![Policy::Acked],
            packets_in_flight: 32,
            zstd_level: crate::DEFAULT_ZSTD_LEVEL,
            only: Vec::new(),
        }
    }
}

impl Options {
    /// The names of all methods, in the order of the report.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let policies = self.policies.iter().map(Policy::to_string);
        let named = |names: [&'static str; 2]| names.into_iter().map(str::to_owned);
        named(["chunk", "max-match"]).chain(policies).chain(named(["zstd", "whole-packet"])).collect()
    }

    /// Checks the options.
    pub fn validate(&self) -> Result<(), CaptureError> {
        let refused = |why: String| Err(CaptureError::Parameters(why));
        let MaxMatchParameters { window_bytes, sample_bits, .. } = self.max_match;
        if !Parameters::WINDOW_BYTES.contains(&window_bytes) || sample_bits > Parameters::MAX_SAMPLE_BITS {
            return refused(
                "max-match takes windows of 8 to 128 bytes and at most 12 sample bits".to_owned(),
            );
        }
        if !zstd::compression_level_range().contains(&self.zstd_level) {
            return refused(format!("zstd has no level {}", self.zstd_level));
        }
        let names = self.names();
        if let Some(unknown) = self.only.iter().find(|name| !names.contains(name)) {
            return refused(format!("no method is called {unknown:?}; there are {}", names.join(", ")));
        }
        let mut encoders =
            self.policies.iter().map(|policy| Parameters { policy: *policy, ..self.byte_caching });
        encoders.try_for_each(|encoder| encoder.validate()).or_else(|error| refused(error.to_string()))
    }

    /// The method with this name.
    fn method(&self, name: &str) -> Option<Box<dyn Method>> {
        let zstd_level = self.zstd_level;
        Some(match name {
            "chunk" => Box::new(Chunk::new(ChunkParameters { zstd_level, ..self.chunk })),
            "max-match" => Box::new(MaxMatch::new(MaxMatchParameters { zstd_level, ..self.max_match })),
            "zstd" => Box::new(ZstdAlone::new(zstd_level)),
            "whole-packet" => Box::new(WholePacket::new(zstd_level)),
            _ => {
                let policy = *self.policies.iter().find(|policy| policy.to_string() == name)?;
                let parameters = Parameters { policy, ..self.byte_caching };
                Box::new(ByteCaching::new(name, &parameters, self.packets_in_flight, zstd_level))
            }
        })
    }

    /// The methods, in the report's order.
    #[must_use]
    pub fn methods(&self) -> Vec<Box<dyn Method>> {
        let wanted = |name: &String| self.only.is_empty() || self.only.contains(name);
        self.names().iter().filter(|name| wanted(name)).filter_map(|name| self.method(name)).collect()
    }

    /// Analyses a capture file; `-` is standard input. `watch` receives the progress.
    pub fn analyze_file(
        &self,
        path: &Path,
        watch: &mut dyn FnMut(&Progress),
    ) -> Result<Report, CaptureError> {
        self.analyze(Source::open(path)?, watch)
    }

    /// Analyses a capture. `watch` receives the progress.
    pub fn analyze(&self, source: Source, watch: &mut dyn FnMut(&Progress)) -> Result<Report, CaptureError> {
        self.validate()?;
        let progress = source.progress();
        let mut reader = CaptureReader::new(source)?;
        let mut dissector = Dissector::default();
        let mut link_types: Vec<LinkType> = Vec::new();
        let methods = thread::scope(|scope| {
            let (queues, workers): (Vec<_>, Vec<_>) = self
                .methods()
                .into_iter()
                .map(|method| {
                    let (queue, batches) = sync_channel(QUEUE_BATCHES);
                    (queue, scope.spawn(move || work(method, &batches)))
                })
                .unzip();
            let mut batch = Batch::default();
            while let Some(frame) = reader.next_frame() {
                if !link_types.contains(&frame.link_type) && link_types.len() < 16 {
                    link_types.push(frame.link_type);
                }
                dissector.dissect(&frame, &mut batch);
                if batch.size_bytes() >= BATCH_BYTES {
                    hand_on(&queues, &mut batch);
                }
                if dissector.frames().frames % WATCH_FRAMES == 0 {
                    watch(&progress);
                }
            }
            hand_on(&queues, &mut batch);
            drop(queues);
            watch(&progress);
            // A panic in a method is our fault and not the capture's, so it is passed on.
            workers
                .into_iter()
                .map(|worker| worker.join().unwrap_or_else(|e| std::panic::resume_unwind(e)))
                .collect()
        });
        Ok(Report::new(&dissector, &link_types, reader.damage().cloned(), methods))
    }
}

fn hand_on(queues: &[SyncSender<Arc<Batch>>], batch: &mut Batch) {
    let batch = Arc::new(std::mem::take(batch));
    for queue in queues {
        // The receiver ends early only by a panic, which is passed on when the workers are joined.
        let _ = queue.send(Arc::clone(&batch));
    }
}

fn work(mut method: Box<dyn Method>, batches: &Receiver<Arc<Batch>>) -> MethodReport {
    for batch in batches {
        for packet in batch.packets() {
            if packet.retransmitted {
                method.observe_retransmission(&packet);
            } else {
                method.observe(&packet);
            }
        }
    }
    MethodReport::new(&*method)
}
