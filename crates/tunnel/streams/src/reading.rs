//! Records of streams that came, and how they are made.

use crate::records::{RecordReader, RecordWriter, Reduction, Unreadable};
use crate::stream::Phase;
use crate::streams::{Emit, Streams};
use std::time::Duration;
use wire::record::MOST_PLAIN_BYTES;
use wire::stream::{Cause, Name};

/// The least bound of a record.
const LEAST_RECORD_BYTES: usize = 1 << 10;
/// The far end is told of stored records after this time.
const STORED_DELAY: Duration = Duration::from_millis(50);

impl Streams {
    /// How repetition is removed from now on. There is no stream yet.
    pub fn reduce(&mut self, reduction: &Reduction) {
        self.writer = RecordWriter::new(reduction);
        self.reader = RecordReader::new(reduction);
    }

    /// The records that leave: their store, and what it did.
    pub fn writer_mut(&mut self) -> &mut RecordWriter {
        &mut self.writer
    }

    /// The records that came: their store, and what it did.
    pub fn reader_mut(&mut self) -> &mut RecordReader {
        &mut self.reader
    }

    /// The same, to be looked at.
    #[must_use]
    pub fn records(&self) -> (&RecordWriter, &RecordReader) {
        (&self.writer, &self.reader)
    }

    /// Sets the bytes that streams may keep. Room that was promised stays so.
    pub fn set_memory_bytes(&mut self, bytes: usize) {
        self.settings.memory_bytes = bytes;
    }

    /// Sets whether bytes wait for the processor and not for the link: repetition is then searched rarely.
    pub fn set_processor_short(&mut self, is_short: bool) {
        self.writer.set_processor_short(is_short);
    }

    /// A record has so many bytes of a host at most: it is read as a whole.
    pub fn set_record_bytes(&mut self, bytes: usize) {
        self.record_bytes = bytes.clamp(LEAST_RECORD_BYTES, MOST_PLAIN_BYTES);
    }

    /// Reads the records of a stream that came. One whose records cannot be read is given up.
    pub(crate) fn read(&mut self, now: Duration, name: Name, emit: Emit<'_>) {
        let Streams { streams, reader, record, .. } = self;
        let Some(stream) = streams.get_mut(&name).filter(|stream| !matches!(stream.phase, Phase::Over))
        else {
            return;
        };
        let granted = stream.incoming.granted_bytes();
        let is_read = stream.read(reader, record);
        self.granted = self.granted + stream.incoming.granted_bytes() - granted;
        if self.tells_stored_at.is_none() && reader.has_stored() {
            self.tells_stored_at = Some(now + STORED_DELAY);
        }
        if let Err(why) = is_read {
            if let Some(connection) = &mut stream.connection {
                connection.abort();
                connection.poll(now, &mut |packet| emit(packet));
            }
            let is_other = why == Unreadable::Unrestored;
            self.counters.aborted += 1;
            self.counters.unrestored += u64::from(is_other);
            self.give_up(now, name, Some(if is_other { Cause::Unrestored } else { Cause::Reset }));
        }
    }
}
