//! Repair of TCP segments that the air lost, next to the air: Snoop, and XBC's coded buffer.
//!
//! *Snoop* (Balakrishnan, Seshan, Amir, Katz, MobiCom 1995) stands where a wired path ends and a lossy hop
//! begins. It keeps what it hands to the hop until the acknowledgment for it comes by, and reads those
//! acknowledgments: where they show that a segment is missing, it sends that segment again itself and keeps
//! the duplicate acknowledgment, so that the far sender never learns of a loss that was not its business and
//! does not slow down for it. What it does not have it leaves to the sender. It never acknowledges anything
//! on the receiver's behalf.
//!
//! *XBC* (Zheng, Sinha, SECON 2008) makes a small buffer go further: packets are kept as the XOR of several.
//! When one of them was lost and the others arrived, the XOR is what is sent again, and the other end of the
//! hop takes out what it delivered lately. How many packets are put together is the coding *degree*, how far
//! they are apart the coding *distance* ([`pattern`]).
//!
//! ```text
//! far sender ──▶ Snoop::handle_departure ──▶ air ──▶ History::record_delivery ──▶ station
//!                  │ Flow │ Buffer          History::restore ◀── coded repairs
//! far sender ◀── Snoop::handle_arrival ◀──── air ◀────────────────────────── its acknowledgments
//! ```
//!
//! [`Snoop`] is the end before the hop, one for each link: a table of flows, each with its [`buffer`], the
//! segments that are on their way, and a measured local round trip. [`History`] is the other end: what it
//! delivered lately, for decoding only. Between them travels [`wire::coded`].
//!
//! What a station sends is the other way round: the end away from TCP's sender sees what is missing
//! ([`Upstream`]) and tells it ([`wire::notice`]); the station's end keeps what it sent, and sends again what
//! it is told of ([`Snoop::heeding_notices`]). Of such losses, and of no others, the duplicate
//! acknowledgments do not reach its TCP.
//!
//! Degree and distance may be fixed, or follow what each flow meets ([`choice`]): packets are kept as they
//! are while there is room, and then combined with those that are least likely lost together. Where that is
//! the better choice several packets become several *rows*, sums that are scaled differently ([`field`]), of
//! which any as many as packets are lost restore all of these: Reed-Solomon's code. What arrives of them
//! before they are enough waits at the other end.
//!
//! Nothing here asks for the time or draws randomness; every table has a bound.

#![forbid(unsafe_code)]

mod block;
pub mod buffer;
pub mod choice;
mod equations;
pub mod field;
mod flow;
mod history;
pub mod pattern;
mod round_trip;
mod segment;
mod settings;
mod snoop;
mod upstream;
pub mod xor;

pub use history::{History, NotRestored};
pub use segment::Segment;
pub use settings::{Coding, Replacement, Settings, SettingsError, Undoes};
pub use snoop::{Repair, Snoop, Statistics, Verdict};
pub use upstream::Upstream;
