//! Reading a capture once, for all methods at the same time.
//!
//! One thread reads and dissects; each method works in a thread of its own on the same batches of packets. The
//! queues between them are short, so that memory stays bounded and the slowest method sets the pace. Every
//! method sees the same packets in the same order, so that the figures do not depend on the threads.

use crate::dissect::Dissector;
use crate::method::{ByteCaching, Chunk, ChunkParameters, MaxMatch, MaxMatchParameters, Method, WholePacket, ZstdAlone};
use crate::packet::Batch;
use crate::report::{MethodReport, Report};
use crate::{CaptureError, CaptureReader, LinkType, Progress, Source};
use re::{Parameters, Policy};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// A batch is handed on when it has so many bytes.
const BATCH_BYTES: usize = 1 << 20;
/// Batches that may wait for a method.
const QUEUE_BATCHES: usize = 4;

/// What is asked of an analysis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// For `chunk`.
    pub chunk: ChunkParameters,
    /// For `max-match`.
    pub max_match: MaxMatchParameters,
    /// For the byte-caching encoders, but for policy and form.
    pub byte_caching: Parameters,
    /// k-distance's k.
    pub k: u32,
    /// After how many later packets `acked` takes one to be confirmed.
    pub packets_in_flight: u64,
    /// The level of stateless zstd.
    pub zstd_level: i32,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            chunk: ChunkParameters::default(),
            max_match: MaxMatchParameters::default(),
            byte_caching: Parameters::default(),
            k: Policy::PAPER_K,
            packets_in_flight: 32,
            zstd_level: crate::DEFAULT_ZSTD_LEVEL,
        }
    }
}

impl Options {
    /// Says what is wrong with the options, if anything is.
    pub fn validate(&self) -> Result<(), CaptureError> {
        let policy = Policy::KDistance { k: self.k };
        let of_re = Parameters { policy, ..self.byte_caching };
        of_re.validate().map_err(|error| CaptureError::Parameters(error.to_string()))
    }

    /// The methods, as they stand in the report.
    #[must_use]
    pub fn methods(&self) -> Vec<Box<dyn Method>> {
        let zstd_level = self.zstd_level;
        let mut methods: Vec<Box<dyn Method>> = vec![
            Box::new(Chunk::new(ChunkParameters { zstd_level, ..self.chunk })),
            Box::new(MaxMatch::new(MaxMatchParameters { zstd_level, ..self.max_match })),
        ];
        let k_distance = Policy::KDistance { k: self.k };
        for policy in [Policy::Naive, k_distance, Policy::TcpSeq, Policy::CacheFlush, Policy::Acked] {
            let parameters = Parameters { policy, ..self.byte_caching };
            methods.push(Box::new(ByteCaching::new(&parameters, self.packets_in_flight, zstd_level)));
        }
        methods.push(Box::new(ZstdAlone::new(zstd_level)));
        methods.push(Box::new(WholePacket::new(zstd_level)));
        methods
    }

    /// Analyses a capture file; `-` is standard input. `watch` is called now and then.
    pub fn analyze_file(&self, path: &Path, watch: &mut dyn FnMut(&Progress)) -> Result<Report, CaptureError> {
        self.analyze(Source::open(path)?, watch)
    }

    /// Analyses a capture. `watch` is called now and then with how far it has been read.
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
                    watch(&progress);
                }
            }
            hand_on(&queues, &mut batch);
            drop(queues);
            watch(&progress);
            // A method that panicked is a fault of ours, not of the capture: let it be seen.
            workers.into_iter().map(|worker| worker.join().unwrap_or_else(|e| std::panic::resume_unwind(e))).collect()
        });
        Ok(Report::new(&dissector, &link_types, reader.damage().cloned(), methods))
    }
}

fn hand_on(queues: &[SyncSender<Arc<Batch>>], batch: &mut Batch) {
    let batch = Arc::new(std::mem::take(batch));
    for queue in queues {
        // The other end hangs up only by a panic, which is passed on when the workers are joined.
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
