//! Handling of a capture's frames: IP packets, or a counter of [`FrameCounts`].

use crate::Frame;
use serde::Serialize;
use wire::link::{Skipped, Unpacker};

/// Counts of a capture's frames.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct FrameCounts {
    /// Frames in the capture.
    pub frames: u64,
    /// IP packets found in them.
    pub ip_packets: u64,
    /// Frames with other contents: ARP, 802.11 management and control, spanning tree and so on.
    pub other_frames: u64,
    /// Frames that were captured in part (snap length).
    pub cut_frames: u64,
    /// 802.11 data frames under the radio's encryption, which a monitor cannot read.
    pub protected_frames: u64,
    /// 802.11 frames that repeat the one before, because no acknowledgement came.
    pub link_retries: u64,
    /// Frames with malformed headers.
    pub malformed_frames: u64,
    /// Frames of unknown link types.
    pub unknown_link_frames: u64,
}

/// Unpacks and counts frames.
#[derive(Debug, Default)]
pub struct LinkLayer {
    counts: FrameCounts,
    unpacker: Unpacker,
}

impl LinkLayer {
    /// Passes each IP packet in a frame to `each`: usually one, several in an 802.11 A-MSDU.
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

    /// The counts so far.
    #[must_use]
    pub fn counts(&self) -> &FrameCounts {
        &self.counts
    }
}
