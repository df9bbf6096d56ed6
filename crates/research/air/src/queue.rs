//! The frames that wait for the transmitter, and their disciplines.

mod codel;

use std::collections::VecDeque;
use std::time::Duration;

use crate::LinkConfig;
use crate::config::QueueDiscipline;
use codel::Codel;

/// A waiting frame.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) arrival: Duration,
    pub(crate) frame: Vec<u8>,
}

/// Waiting frames, oldest first.
#[derive(Debug, Default)]
struct Frames {
    waiting: VecDeque<Waiting>,
    bytes: usize,
}

impl Frames {
    fn take(&mut self) -> Option<Waiting> {
        let next = self.waiting.pop_front()?;
        self.bytes -= next.frame.len();
        Some(next)
    }
}

/// A queue with the configured discipline.
#[derive(Debug)]
pub(crate) struct Queue {
    frames: Frames,
    codel: Option<Codel>,
}

impl Queue {
    pub(crate) fn new(config: &LinkConfig) -> Self {
        Self { frames: Frames::default(), codel: codel(config) }
    }

    /// Changes the discipline and keeps all frames. A new discipline starts without a past.
    pub(crate) fn set_config(&mut self, config: &LinkConfig) {
        self.codel = codel(config);
    }

    /// Whether a frame of `bytes` fits within the bounds of `config`.
    pub(crate) fn has_room(&self, config: &LinkConfig, bytes: usize) -> bool {
        bytes <= config.queue_bytes.saturating_sub(self.frames.bytes)
            && config.queue_frames.is_none_or(|most| self.frames.waiting.len() < most)
    }

    pub(crate) fn push(&mut self, waiting: Waiting) {
        let bytes = waiting.frame.len();
        if let Some(codel) = &mut self.codel {
            codel.sees(bytes);
        }
        self.frames.bytes += bytes;
        self.frames.waiting.push_back(waiting);
    }

    /// The frame to transmit from `now` on. `dropped` gets the length of each frame that the discipline drops
    /// before it.
    pub(crate) fn pop(&mut self, now: Duration, dropped: impl FnMut(usize)) -> Option<Waiting> {
        match &mut self.codel {
            Some(codel) => codel.next(now, &mut self.frames, dropped),
            None => self.frames.take(),
        }
    }

    /// The waiting bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.frames.bytes
    }
}

fn codel(config: &LinkConfig) -> Option<Codel> {
    match config.queue_discipline {
        QueueDiscipline::DropTail => None,
        QueueDiscipline::Codel { target, interval } => Some(Codel::new(target, interval)),
    }
}
