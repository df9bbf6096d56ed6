//! Forward error correction on the hop: repairs that restore lost units before ARQ could
//! ([`recovery::sliding`]). [`Fec`] has both directions of one link: the [sending](outgoing) and the
//! [receiving](incoming) side. How many repairs leave follows from the air's losses ([`redundancy`]).
//!
//! ARQ and FEC share link sequences. A restored unit takes the way of one that arrived, and receipts hold its
//! packets. They do not count it as arrived, and so the sender knows what the air loses. ARQ sends again what
//! repairs did not restore in time.

mod incoming;
mod outgoing;
mod redundancy;

use incoming::Incoming;
pub use outgoing::Outgoing;
use wire::frame::{Class, Frame, FrameType, Frames};

/// FEC of one link.
pub struct Fec {
    /// Only if the peer restores units, and the configuration wants it.
    pub outgoing: Option<Outgoing>,
    /// Units from the peer.
    pub incoming: Incoming,
}

impl Fec {
    /// `sends`: repairs leave where they pay. `expects`: the peer's are likely to come.
    #[must_use]
    pub fn new(sends: bool, expects: bool) -> Self {
        Fec { outgoing: sends.then(Outgoing::default), incoming: Incoming::new(expects) }
    }

    /// Frees buffers that nobody needed since the last call.
    pub fn trim(&mut self) {
        self.outgoing.iter_mut().for_each(Outgoing::trim);
    }

    /// Bytes of memory now.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.outgoing.as_ref().map_or(0, Outgoing::memory_bytes) + self.incoming.memory_bytes()
    }
}

/// The frames of a unit that repairs restore: all but the lane, if one of them is a packet, a part of one,
/// or of a stream.
#[must_use]
pub fn source(frames: &[u8]) -> Option<&[u8]> {
    let mut rest = Frames::new(frames);
    let mut source = frames;
    while let Some(Ok(Frame { frame_type, body })) = rest.next() {
        let Some(frame_type) = frame_type else { continue };
        if frame_type == FrameType::Lane {
            let behind = body.as_ptr() as usize + body.len() - frames.as_ptr() as usize;
            source = &frames[behind..];
        } else if frame_type == FrameType::Tail
            || matches!(frame_type.class(), Class::Packet | Class::Head | Class::Stream)
        {
            return Some(source);
        }
    }
    None
}

/// How many link sequences a unit with these frames takes.
fn sequences(frames: &[u8]) -> u64 {
    let known = Frames::new(frames).map_while(Result::ok).filter_map(|frame| frame.frame_type);
    known.filter(|frame_type| frame_type.takes_sequence()).count() as u64
}
