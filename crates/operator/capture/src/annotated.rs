//! Writes pcapng captures of several interfaces, with optional comments on packets.

use pcap_parser::{
    EnhancedPacketBlock, InterfaceDescriptionBlock, Linktype, OptionCode, PcapNGOption, SectionHeaderBlock,
    ToVec,
};
use std::borrow::Cow;
use std::io::{self, Write};
use std::time::Duration;

use crate::LinkType;

/// The snap length of a capture, in bytes.
const SNAP_BYTES: u32 = 262_144;
/// Timestamps are in units of 10^-9 seconds.
const RESOLUTION: u8 = 9;
/// The longest comment: an option's length has 16 bits.
const MAX_COMMENT_BYTES: usize = 60_000;

/// An interface of a capture.
#[derive(Debug, Clone, Copy)]
pub struct Interface<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its traffic.
    pub description: &'a str,
    /// Link type of its packets.
    pub link_type: LinkType,
}

/// Writes a pcapng capture.
#[derive(Debug)]
pub struct AnnotatedWriter<W: Write> {
    out: W,
    interfaces: usize,
}

fn option(code: OptionCode, text: &str) -> PcapNGOption<'_> {
    PcapNGOption { code, len: text.len() as u16, value: Cow::Borrowed(text.as_bytes()) }
}

/// The longest prefix of a comment that fits an option, cut between characters.
fn shortened(comment: &str) -> &str {
    let mut end = comment.len().min(MAX_COMMENT_BYTES);
    while !comment.is_char_boundary(end) {
        end -= 1;
    }
    &comment[..end]
}

impl<W: Write> AnnotatedWriter<W> {
    /// Starts a capture by `program` on these interfaces. Packets refer to them by index.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn new(mut out: W, program: &str, interfaces: &[Interface<'_>]) -> io::Result<Self> {
        let mut section = SectionHeaderBlock {
            block_type: 0,
            block_len1: 0,
            bom: 0,
            major_version: 1,
            minor_version: 0,
            section_len: -1,
            options: vec![option(OptionCode::ShbUserAppl, program)],
            block_len2: 0,
        };
        out.write_all(&section.to_vec().map_err(io::Error::other)?)?;
        for interface in interfaces {
            let mut block = InterfaceDescriptionBlock {
                block_type: 0,
                block_len1: 0,
                linktype: Linktype(i32::from(interface.link_type.0)),
                reserved: 0,
                snaplen: SNAP_BYTES,
                options: vec![
                    option(OptionCode::IfName, interface.name),
                    option(OptionCode::IfDescription, interface.description),
                ],
                block_len2: 0,
                if_tsresol: RESOLUTION,
                if_tsoffset: 0,
            };
            out.write_all(&block.to_vec().map_err(io::Error::other)?)?;
        }
        Ok(Self { out, interfaces: interfaces.len() })
    }

    /// Writes a packet of an interface, with its time since 1970. An empty comment is omitted.
    ///
    /// # Errors
    ///
    /// If it cannot be written, is too long, or has an unknown interface.
    pub fn write(&mut self, interface: usize, at: Duration, packet: &[u8], comment: &str) -> io::Result<()> {
        let bytes = u32::try_from(packet.len()).ok().filter(|bytes| *bytes <= SNAP_BYTES);
        let bytes = bytes.filter(|_| interface < self.interfaces);
        let bytes = bytes.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        let stamp = at.as_nanos() as u64;
        let comment = shortened(comment);
        let mut block = EnhancedPacketBlock {
            block_type: 0,
            block_len1: 0,
            if_id: interface as u32,
            ts_high: (stamp >> 32) as u32,
            ts_low: stamp as u32,
            caplen: bytes,
            origlen: bytes,
            data: packet,
            options: if comment.is_empty() { Vec::new() } else { vec![option(OptionCode::Comment, comment)] },
            block_len2: 0,
        };
        self.out.write_all(&block.to_vec().map_err(io::Error::other)?)
    }

    /// Flushes the buffer.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn flush(&mut self) -> io::Result<()> {
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
        let interface = |name, link_type| Interface { name, description: "", link_type };
        let interfaces = [interface("inner", LinkType::RAW), interface("outer", LinkType::RAW)];
        let mut writer = AnnotatedWriter::new(&mut file, "a test", &interfaces).unwrap();
        let packets: [(usize, &[u8], &str); 4] =
            [(0, b"one", ""), (1, b"another", "three bytes were removed"), (1, b"", "ü"), (0, b"last", "x")];
        for (interface, packet, comment) in packets {
            writer.write(interface, Duration::from_millis(1_700_000_000_123), packet, comment).unwrap();
        }
        assert!(writer.write(2, Duration::ZERO, b"", "").is_err(), "there is no such interface");
        assert!(writer.write(0, Duration::ZERO, &vec![0; 300_000], "").is_err());
        writer.write(0, Duration::ZERO, b"long", &"ü".repeat(40_000)).unwrap();
        writer.flush().unwrap();
        let text = String::from_utf8_lossy(&file).into_owned();
        assert!(text.contains("three bytes were removed"));
        let mut reader = CaptureReader::new(Source::from_stream(Cursor::new(file), None).unwrap()).unwrap();
        for (_, packet, _) in packets.into_iter().chain([(0, &b"long"[..], "")]) {
            let frame = reader.next_frame().unwrap();
            assert_eq!((frame.bytes, frame.link_type), (packet, LinkType::RAW));
        }
        assert!(reader.next_frame().is_none() && reader.damage().is_none());
    }
}
