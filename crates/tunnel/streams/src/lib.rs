//! Streams, sans-IO: TCP connections end on both sides of a hop, and their bytes cross it by a transport of
//! its own.
//!
//! A host's SYN is held until the far end's connection to the destination stands. Then the host is answered.
//! Each end has user-space [TCP](tcp) with the addresses of the other host, so that nobody notices.
//!
//! Bytes leave in frames ([`wire::stream`]) of datagrams with a link sequence. Receipts of the hop tell which
//! came. Lost bytes leave again in other datagrams; no stream waits for another's. [Repetition](records) is
//! removed before.
//!
//! [`Streams`] has those of one peer. All memory of a peer's streams has one bound.

#![forbid(unsafe_code)]

mod beside;
mod counters;
mod due;
mod fates;
mod half_open;
#[cfg(test)]
mod hostile;
mod incoming;
#[cfg(test)]
mod late;
mod outgoing;
mod patience;
mod ranges;
mod reading;
mod records;
mod seen;
mod sequences;
mod stream;
mod streams;
pub mod tcp;
mod undelivered;
mod under_way;
#[cfg(test)]
mod ways;
mod writing;

pub use beside::NoWayBack;
pub use counters::Counters;
pub use records::{RecordReader, RecordWriter, Reduction, Tally, reader_store_bytes};
pub use streams::{Settings, Streams};
