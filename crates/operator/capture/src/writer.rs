//! Writes pcap, frame by frame, for every tool that reads captures.

use std::io::{self, Write};
use std::time::Duration;

use pcap_parser::{LegacyPcapBlock, Linktype, PcapHeader, ToVec};

use crate::LinkType;

/// The snap length of a capture, in bytes.
const SNAP_BYTES: u32 = 262_144;

/// Writes a pcap capture with microsecond timestamps.
#[derive(Debug)]
pub struct CaptureWriter<W: Write> {
    out: W,
}

impl<W: Write> CaptureWriter<W> {
    /// Writes the capture's header.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn new(mut out: W, link_type: LinkType) -> io::Result<Self> {
        let mut header = PcapHeader::new();
        header.snaplen = SNAP_BYTES;
        header.network = Linktype(i32::from(link_type.0));
        out.write_all(&header.to_vec_raw().map_err(io::Error::other)?)?;
        Ok(Self { out })
    }

    /// Writes a frame with its time since the origin.
    ///
    /// # Errors
    ///
    /// If it cannot be written, or exceeds the snap length.
    pub fn write(&mut self, at: Duration, frame: &[u8]) -> io::Result<()> {
        let bytes = u32::try_from(frame.len()).ok().filter(|bytes| *bytes <= SNAP_BYTES);
        let bytes = bytes.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        let record = LegacyPcapBlock {
            ts_sec: at.as_secs() as u32,
            ts_usec: at.subsec_micros(),
            caplen: bytes,
            origlen: bytes,
            data: frame,
        };
        self.out.write_all(&record.to_vec_raw().map_err(io::Error::other)?)
    }

    /// Flushes the buffer.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn finish(mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CaptureReader, Source};
    use std::io::Cursor;

    #[test]
    fn what_is_written_is_read_again() {
        let mut file = Vec::new();
        let mut writer = CaptureWriter::new(&mut file, LinkType::RAW).unwrap();
        for frame in [&b"one"[..], b"another"] {
            writer.write(Duration::from_micros(1_000_001), frame).unwrap();
        }
        assert!(writer.write(Duration::ZERO, &vec![0; 270_000]).is_err());
        writer.finish().unwrap();
        let mut reader = CaptureReader::new(Source::from_stream(Cursor::new(file), None).unwrap()).unwrap();
        for expected in [&b"one"[..], b"another"] {
            let frame = reader.next_frame().unwrap();
            assert_eq!((frame.bytes, frame.link_type), (expected, LinkType::RAW));
        }
        assert!(reader.next_frame().is_none() && reader.damage().is_none());
    }
}
