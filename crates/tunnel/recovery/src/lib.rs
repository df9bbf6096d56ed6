//! Repair of TCP segments that the air lost, at the hop: Snoop, and XBC's coded buffer.
//!
//! *Snoop* (Balakrishnan, Seshan, Amir, Katz, MobiCom 1995) runs between a wired path and a lossy hop. It
//! keeps each segment that it passes to the hop until its acknowledgment, and reads the acknowledgments. If
//! they show a missing segment, Snoop retransmits it and drops the duplicate acknowledgment. The far sender
//! thus does not slow down for a loss on the hop. Snoop leaves segments that it does not have to the sender.
//! It never acknowledges on the receiver's behalf.
//!
//! *XBC* (Zheng, Sinha, SECON 2008) extends a small buffer: it keeps packets as the XOR of several. If one of
//! them is lost and the others arrive, it retransmits the XOR. The other end of the hop removes the recently
//! delivered packets. The number of combined packets is the coding *degree*, and their distance is the coding
//! *distance* ([`pattern`]).
//!
//! ```text
//! far sender ──▶ Snoop::handle_departure ──▶ air ──▶ History::record_delivery ──▶ station
//!                  │ Flow │ Buffer          History::restore ◀── coded repairs
//! far sender ◀── Snoop::handle_arrival ◀──── air ◀────────────────────────── its acknowledgments
//! ```
//!
//! [`Snoop`] is the end before the hop, one for each link. It has a table of flows, each with its [`buffer`],
//! its segments in flight, and a measured local round trip. [`History`] is the other end: recently delivered
//! packets, only for decoding. [`wire::coded`] is the message between them.
//!
//! Data from a station uses the reverse roles. The end away from TCP's sender detects losses ([`Upstream`])
//! and sends notices ([`wire::notice`]). The station's end keeps the sent segments and retransmits those in
//! notices ([`Snoop::heeding_notices`]). Duplicate acknowledgments for these losses, and for no others, do
//! not reach the station's TCP.
//!
//! Degree and distance are fixed, or adapt to each flow ([`choice`]). Packets then stay plain while there is
//! room, and are combined with those that are least likely lost together. Where it is better, several packets
//! become *rows*: sums with different scale factors ([`field`]). Any n rows restore n lost packets, as in
//! Reed-Solomon's code. Rows that arrive before they suffice wait at the other end.
//!
//! This crate asks for neither time nor randomness. Every table has a bound.

#![forbid(unsafe_code)]

mod block;
pub mod buffer;
pub mod choice;
mod equations;
pub mod field;
mod flow;
mod history;
mod linear;
pub mod pattern;
mod round_trip;
mod segment;
mod settings;
pub mod sliding;
mod snoop;
mod upstream;
pub mod xor;

pub use history::{History, NotRestored};
pub use segment::Segment;
pub use settings::{Coding, Replacement, Settings, SettingsError, Undoes};
pub use snoop::{Repair, Snoop, Statistics, Verdict};
pub use upstream::Upstream;
