//! Reads pcap and pcapng, frame by frame, in bounded memory.

mod time;

use crate::{CaptureError, Damage, Source};
use pcap_parser::{Block, PcapBlockOwned, PcapError, create_reader, traits::PcapReaderIterator};
use std::time::Duration;
use time::{Clock, Stamp};
use wire::link::LinkType;

/// Initial buffer; it must hold at least one record.
const BUFFER_BYTES: usize = 1 << 20;
/// The largest buffer for one long record. Frames never come near this size, but pcapng's other records
/// (names, secrets, journals) may be long.
const MAX_BUFFER_BYTES: usize = 64 << 20;
/// The most interfaces of one pcapng section.
const MAX_INTERFACES: usize = 1 << 16;

/// A captured frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Its link type.
    pub link_type: LinkType,
    /// The time of its capture, since 1970. A frame without a time has that of the frame before.
    pub at: Duration,
    /// Its captured bytes.
    pub bytes: &'a [u8],
    /// Its length on the link.
    pub original_bytes: usize,
}

/// An interface of a pcapng section.
#[derive(Debug, Clone, Copy)]
struct Interface {
    link_type: LinkType,
    snap_bytes: usize,
    clock: Clock,
}

/// Reads the frames of a capture.
pub struct CaptureReader {
    reader: Box<dyn PcapReaderIterator + Send>,
    failure: crate::source::Failure,
    interfaces: Vec<Interface>,
    capacity_bytes: usize,
    frame: Vec<u8>,
    at: Duration,
    frames: u64,
    ended: bool,
    damage: Option<Damage>,
}

impl std::fmt::Debug for CaptureReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CaptureReader").field("frames", &self.frames).finish_non_exhaustive()
    }
}

/// A record of the file.
enum Record {
    Frame { link_type: LinkType, at: Option<Duration>, original_bytes: usize },
    Other,
    Malformed(&'static str),
}

impl CaptureReader {
    /// Reads the capture's header.
    pub fn new(source: Source) -> Result<Self, CaptureError> {
        let failure = source.failure();
        let reader = create_reader(BUFFER_BYTES, source).map_err(|error| match (error, failure.take()) {
            (_, Some(source)) => CaptureError::Open { source },
            (PcapError::Eof, None) => CaptureError::Empty,
            _ => CaptureError::Foreign,
        })?;
        Ok(CaptureReader {
            reader,
            failure,
            interfaces: Vec::new(),
            capacity_bytes: BUFFER_BYTES,
            frame: Vec::new(),
            at: Duration::ZERO,
            frames: 0,
            ended: false,
            damage: None,
        })
    }

    /// The next frame; `None` at the capture's end. [`damage`](Self::damage) then returns whether the end was
    /// premature.
    pub fn next_frame(&mut self) -> Option<Frame<'_>> {
        while !self.ended {
            let (consumed_bytes, record) = match self.reader.next() {
                Ok((consumed_bytes, block)) => {
                    (consumed_bytes, take_record(block, &mut self.interfaces, &mut self.frame))
                }
                Err(PcapError::Incomplete(_)) => {
                    self.refill();
                    continue;
                }
                Err(PcapError::BufferTooSmall) => {
                    self.grow();
                    continue;
                }
                Err(PcapError::Eof) => {
                    self.end(None);
                    continue;
                }
                Err(PcapError::UnexpectedEof) => {
                    self.end(Some(Damage::Truncated { frames: self.frames }));
                    continue;
                }
                Err(_) => {
                    self.malformed("its length or its fields contradict each other");
                    continue;
                }
            };
            self.reader.consume(consumed_bytes);
            match record {
                Record::Frame { link_type, at, original_bytes } => {
                    self.frames += 1;
                    self.at = at.unwrap_or(self.at);
                    return Some(Frame { link_type, at: self.at, bytes: &self.frame, original_bytes });
                }
                Record::Other => {}
                Record::Malformed(why) => self.malformed(why),
            }
        }
        None
    }

    /// Reason of an early end, if any.
    #[must_use]
    pub fn damage(&self) -> Option<&Damage> {
        self.damage.as_ref()
    }

    /// Ends the reading. A failure of the underlying stream takes precedence as the reason.
    fn end(&mut self, damage: Option<Damage>) {
        self.ended = true;
        let failed = self.failure.take();
        self.damage = failed.map(|e| Damage::Failed { frames: self.frames, why: e.to_string() }).or(damage);
    }

    fn malformed(&mut self, why: &'static str) {
        self.end(Some(Damage::Malformed { frames: self.frames, why }));
    }

    fn refill(&mut self) {
        let before = self.reader.data().len();
        let filled = self.reader.refill().is_ok();
        let nothing_came = self.reader.data().len() == before;
        if !filled || (nothing_came && !self.reader.reader_exhausted()) {
            self.grow();
        }
    }

    fn grow(&mut self) {
        self.capacity_bytes *= 2;
        if self.capacity_bytes > MAX_BUFFER_BYTES || !self.reader.grow(self.capacity_bytes) {
            self.malformed("it is longer than any record should be");
            return;
        }
        self.refill();
    }
}

/// Handles one record; the bytes of a frame go to `frame`.
fn take_record(block: PcapBlockOwned<'_>, interfaces: &mut Vec<Interface>, frame: &mut Vec<u8>) -> Record {
    let (interface, stamp, bytes, original_bytes) = match block {
        PcapBlockOwned::LegacyHeader(header) => {
            let link_type = LinkType(header.network.0 as u32 as u16);
            let clock =
                if header.is_nanosecond_precision() { Clock::NANOSECONDS } else { Clock::MICROSECONDS };
            interfaces.push(Interface { link_type, snap_bytes: usize::MAX, clock });
            return Record::Other;
        }
        PcapBlockOwned::Legacy(record) => {
            (0, Some(Stamp::Parts(record.ts_sec, record.ts_usec)), record.data, record.origlen)
        }
        PcapBlockOwned::NG(Block::SectionHeader(_)) => {
            interfaces.clear();
            return Record::Other;
        }
        PcapBlockOwned::NG(Block::InterfaceDescription(about)) => {
            if interfaces.len() == MAX_INTERFACES {
                return Record::Malformed("it is one interface too many");
            }
            let snap_bytes = if about.snaplen == 0 { usize::MAX } else { about.snaplen as usize };
            let clock = Clock::of_interface(about.if_tsresol, about.if_tsoffset);
            interfaces.push(Interface {
                link_type: LinkType(about.linktype.0 as u32 as u16),
                snap_bytes,
                clock,
            });
            return Record::Other;
        }
        PcapBlockOwned::NG(Block::EnhancedPacket(packet)) => {
            let captured_bytes = packet.data.len().min(packet.caplen as usize);
            let stamp = Stamp::Units(u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low));
            (packet.if_id as usize, Some(stamp), &packet.data[..captured_bytes], packet.origlen)
        }
        PcapBlockOwned::NG(Block::SimplePacket(packet)) => {
            let snap_bytes = interfaces.first().map_or(usize::MAX, |interface| interface.snap_bytes);
            let captured_bytes = packet.data.len().min(packet.origlen as usize).min(snap_bytes);
            (0, None, &packet.data[..captured_bytes], packet.origlen)
        }
        PcapBlockOwned::NG(_) => return Record::Other,
    };
    let Some(interface) = interfaces.get(interface) else {
        return Record::Malformed("it names an interface that was never described");
    };
    frame.clear();
    frame.extend_from_slice(bytes);
    let original_bytes = (original_bytes as usize).max(bytes.len());
    let at = stamp.map(|stamp| interface.clock.since_1970(stamp));
    Record::Frame { link_type: interface.link_type, at, original_bytes }
}
