//! Traces composed from content to the mixes of redundancy that REfactor was measured with (MobiCom 2011,
//! section 5.3).
//!
//! The paper's traces are a university's and are not to be had. What it says of them is how much of what goes
//! to two clients was received before, by the same client (*intra*) or by the other one only (*inter*), as
//! max-match finds it with a large cache. A [`Composer`] makes such traffic of any content:
//!
//! - Content is delivered in flows of TCP to either client at random. A flow begins with a few bytes of its
//!   own, as responses begin with their headers, has its own segment size, ports and sequence numbers, and
//!   carries 4 to 60 KB.
//! - What is delivered is *fresh*, or was delivered before and is delivered again, once: to the other client
//!   or to the same. How long after is drawn log-uniformly, from 128 KB of traffic on.
//! - What repeats is a whole flow's content ([`Kind::Whole`]), or pieces of 80 to 780 bytes among fresh ones
//!   ([`Kind::Fine`]). Neither stands where it stood: the beginnings of flows and the segment sizes differ,
//!   so that no packet repeats as a whole.
//! - Fresh bytes are those of the content that do not repeat others of it ([`Fresh`]); when they are used up
//!   they are used again under another alphabet, so that traffic of any length repeats only what the mix
//!   says.
//!
//! A composer is an iterator and remembers places in the content, not bytes: gigabytes need neither file nor
//! memory.

mod composer;
mod flow;
mod fresh;
mod mix;
mod shares;
mod unrepeated;

pub use composer::{CLIENTS, Composer, TracePacket};
pub use flow::HEADER_BYTES;
pub use fresh::{Fresh, TooLittleContent};
pub use mix::{Kind, Mix};
pub use shares::{MeasuredShares, Meter};
pub use unrepeated::unrepeated;
