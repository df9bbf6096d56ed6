//! The event log: one line for each event.
//!
//! A line has the time in seconds, the host, the event, and for packets and frames their length and
//! [`digest`](crate::digest). Two logs are equal only if all transmitted bytes are.

use crate::observer::{Observation, Observer};
use crate::setup::host_name;
use std::fmt;
use std::io;
use std::time::Duration;

/// Writes the log. After a failed write it stops; [`EventLog::finish`] returns the error.
#[derive(Debug)]
pub struct EventLog<W: io::Write> {
    writer: W,
    error: Option<io::Error>,
}

impl<W: io::Write> EventLog<W> {
    /// A log to `writer`, which should be buffered.
    pub fn new(writer: W) -> Self {
        EventLog { writer, error: None }
    }

    /// Ends the log; the error if one has occurred, otherwise the writer.
    pub fn finish(mut self) -> io::Result<W> {
        match self.error {
            Some(error) => Err(error),
            None => self.writer.flush().map(|()| self.writer),
        }
    }
}

impl<W: io::Write> Observer for EventLog<W> {
    fn see(&mut self, now: Duration, sight: &Observation<'_>) {
        if self.error.is_none() {
            let line = writeln!(self.writer, "{}.{:09} {sight}", now.as_secs(), now.subsec_nanos());
            self.error = line.err();
        }
    }
}

struct Bytes<'a>(&'a [u8]);

impl fmt::Display for Bytes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes {:016x}", self.0.len(), crate::digest(self.0))
    }
}

impl fmt::Display for Observation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Observation::Offered { source, host, packet } => {
                write!(f, "{} offered by source {source}: {}", host_name(host), Bytes(packet))
            }
            Observation::Sent { link, frame } => write!(f, "link-{link} takes {}", Bytes(frame)),
            Observation::NotSent { host, frame } => {
                write!(f, "{} cannot send {}", host_name(host), Bytes(frame))
            }
            Observation::Arrived { link, frame } => write!(f, "link-{link} gives {}", Bytes(frame)),
            Observation::Node { host, event } => write!(f, "{} node: {event}", host_name(host)),
            Observation::Delivered { source, host, packet, delay } => {
                let micros = delay.as_micros();
                let (host, bytes) = (host_name(host), Bytes(packet));
                write!(f, "{host} delivers for source {source} after {micros} us: {bytes}")
            }
            Observation::Duplicate { source, host, packet } => {
                write!(f, "{} delivers again for source {source}: {}", host_name(host), Bytes(packet))
            }
            Observation::Unrecognised { host, packet } => {
                write!(f, "{} delivers what was not offered: {}", host_name(host), Bytes(packet))
            }
            Observation::Fault(mishap) => write!(f, "mishap {mishap:?}"),
        }
    }
}
