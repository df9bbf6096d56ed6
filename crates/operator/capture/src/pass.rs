//! One pass over a capture, for all methods and tunnels at once.
//!
//! One thread reads and dissects. Each method and each tunnel has its own thread and gets the same pieces of
//! the capture. The queues are short, so memory stays bounded and the slowest one sets the pace. All get the
//! same packets in the same order, so the figures do not depend on the threads.

use crate::crossing::Crossings;
use crate::dissect::Dissector;
use crate::method::Method;
use crate::packet::Batch;
use crate::report::MethodReport;
use crate::tunnel::{Pair, TunnelReport};
use crate::{CaptureError, CaptureReader, Damage, LinkType, Progress, Source};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, ScopedJoinHandle};

/// Bytes after which a piece is passed on.
const PIECE_BYTES: usize = 1 << 20;
/// Frames between two progress reports.
const WATCH_FRAMES: u64 = 256;
/// The most pieces that wait for a method.
const QUEUE_PIECES: usize = 4;
/// The most link types of a report.
const MAX_LINK_TYPES: usize = 16;

/// A piece of a capture.
#[derive(Debug, Default)]
struct Piece {
    batch: Batch,
    crossings: Crossings,
}

impl Piece {
    fn size_bytes(&self) -> usize {
        self.batch.size_bytes() + self.crossings.size_bytes()
    }
}

/// The results of a pass.
pub(crate) struct Results {
    pub dissector: Dissector,
    pub link_types: Vec<LinkType>,
    pub damage: Option<Damage>,
    pub methods: Vec<MethodReport>,
    pub tunnels: Vec<TunnelReport>,
}

/// Passes a capture through methods and tunnels. `watch` receives the progress.
pub(crate) fn pass(
    source: Source,
    methods: Vec<Box<dyn Method>>,
    tunnels: Vec<Pair>,
    watch: &mut dyn FnMut(&Progress),
) -> Result<Results, CaptureError> {
    let progress = source.progress();
    let mut reader = CaptureReader::new(source)?;
    let mut dissector = Dissector::default();
    let mut link_types: Vec<LinkType> = Vec::new();
    let (methods, tunnels) = thread::scope(|scope| {
        let mut queues = Vec::new();
        let mut queue = || {
            let (sender, receiver) = sync_channel(QUEUE_PIECES);
            queues.push(sender);
            receiver
        };
        let has_tunnels = !tunnels.is_empty();
        let methods: Vec<_> = methods
            .into_iter()
            .map(|method| {
                let pieces = queue();
                scope.spawn(move || observe(method, &pieces))
            })
            .collect();
        let tunnels: Vec<_> = tunnels
            .into_iter()
            .map(|pair| {
                let pieces = queue();
                scope.spawn(move || carry(pair, &pieces))
            })
            .collect();
        let mut piece = Piece::default();
        while let Some(frame) = reader.next_frame() {
            if !link_types.contains(&frame.link_type) && link_types.len() < MAX_LINK_TYPES {
                link_types.push(frame.link_type);
            }
            match has_tunnels {
                true => dissector.dissect_whole(&frame, &mut piece.batch, &mut piece.crossings),
                false => dissector.dissect(&frame, &mut piece.batch),
            }
            if piece.size_bytes() >= PIECE_BYTES {
                hand_on(&queues, &mut piece);
            }
            if dissector.frames().frames % WATCH_FRAMES == 0 {
                watch(&progress);
            }
        }
        hand_on(&queues, &mut piece);
        drop(queues);
        watch(&progress);
        (joined(methods), joined(tunnels))
    });
    Ok(Results { dissector, link_types, damage: reader.damage().cloned(), methods, tunnels })
}

fn hand_on(queues: &[SyncSender<Arc<Piece>>], piece: &mut Piece) {
    let piece = Arc::new(std::mem::take(piece));
    for queue in queues {
        // The receiver ends early only by a panic, which is passed on when the workers are joined.
        let _ = queue.send(Arc::clone(&piece));
    }
}

/// The workers' results. A panic in a worker is our fault and not the capture's, so it is passed on.
fn joined<T>(workers: Vec<ScopedJoinHandle<'_, T>>) -> Vec<T> {
    let join =
        |worker: ScopedJoinHandle<'_, T>| worker.join().unwrap_or_else(|e| std::panic::resume_unwind(e));
    workers.into_iter().map(join).collect()
}

fn observe(mut method: Box<dyn Method>, pieces: &Receiver<Arc<Piece>>) -> MethodReport {
    for piece in pieces {
        for packet in piece.batch.packets() {
            if packet.retransmitted {
                method.observe_retransmission(&packet);
            } else {
                method.observe(&packet);
            }
        }
    }
    MethodReport::new(&*method)
}

fn carry(mut pair: Pair, pieces: &Receiver<Arc<Piece>>) -> TunnelReport {
    for piece in pieces {
        piece.crossings.packets().for_each(|crossing| pair.carry(&crossing));
    }
    pair.finish()
}
