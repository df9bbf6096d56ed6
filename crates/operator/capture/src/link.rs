//! What becomes of a capture's frames: IP packets, or a counter of [`FrameCounts`].

use crate::Frame;
use serde::Serialize;
use wire::link::{Skipped, Unpacker};

/// What became of the frames of a capture.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct FrameCounts {
    /// Frames in the capture.
    pub frames: u64,
    /// IP packets found in them.
    pub ip_packets: u64,
    /// Frames that carry something else: ARP, 802.11 management and control, spanning tree and so on.
    pub other_frames: u64,
    /// Frames that were captured in part only (a snap length).
    pub cut_frames: u64,
    /// 802.11 data frames that the radio encrypted, which say nothing to a monitor.
    pub protected_frames: u64,
    /// 802.11 frames that repeat the one before because no acknowledgement came.
    pub link_retries: u64,
    /// Frames whose headers make no sense.
    pub malformed_frames: u64,
    /// Frames of link types that are not known here.
    pub unknown_link_frames: u64,
}

/// Unpacks frames and counts them.
#[derive(Debug, Default)]
pub struct LinkLayer {
    counts: FrameCounts,
    unpacker: Unpacker,
}

impl LinkLayer {
    /// Hands each IP packet in a frame to `each`: mostly one, several in an 802.11 A-MSDU.
    pub fn unpack(&mut self, frame: &Frame<'_>, mut each: impl FnMut(&[u8])) {
        self.counts.frames += 1;
        self.counts.cut_frames += u64::from(frame.original_bytes > frame.bytes.len());
        let mut found = 0;
        let unpacked = self.unpacker.unpack(frame.link_type, frame.bytes, &mut |packet| {
            found += 1;
            each(packet);
        });
        self.counts.ip_packets += found;
        match unpacked {
            Ok(()) => {}
            Err(Skipped::Other) => self.counts.other_frames += 1,
            Err(Skipped::Protected) => self.counts.protected_frames += 1,
            Err(Skipped::Retry) => self.counts.link_retries += 1,
            Err(Skipped::Malformed) => self.counts.malformed_frames += 1,
            Err(Skipped::UnknownLink) => self.counts.unknown_link_frames += 1,
        }
    }

    /// What became of the frames so far.
    #[must_use]
    pub fn counts(&self) -> &FrameCounts {
        &self.counts
    }
}
