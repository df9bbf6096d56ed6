//! Traces composed from content to the mixes of redundancy that REfactor was measured with (MobiCom 2011,
//! section 5.3).
//!
//! The paper's traces come from a university and are not available. The paper gives the shares of two
//! clients' traffic that the same client (*intra*) or only the other one (*inter*) received before, as
//! max-match finds them with a large cache. A [`Composer`] makes such traffic from any content:
//!
//! - Content is delivered in flows of TCP to either client at random. A flow begins with a few bytes of its
//!   own, as responses begin with their headers, has its own segment size, ports and sequence numbers, and
//!   carries 4 to 60 KB.
//! - A delivery is *fresh*, or repeats an earlier one once: for the other client or the same. Its distance is
//!   drawn log-uniformly, from 128 KB of traffic on.
//! - A repetition is a whole flow's content ([`Kind::Whole`]), or pieces of 80 to 780 bytes among fresh ones
//!   ([`Kind::Fine`]). Its position differs, because the beginnings of flows and the segment sizes do; no
//!   packet repeats as a whole.
//! - Fresh bytes are those of the content without internal repetitions ([`Fresh`]). When they are used up,
//!   they are reused under another alphabet, so traffic of any length repeats only as the mix requires.
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
