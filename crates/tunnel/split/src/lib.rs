//! Split TCP: a connection ends here and another one goes on from here, each with the other's addresses.
//!
//! For senders that are elsewhere. What makes TCP fast over a long or lossy link has to happen where its
//! sender is; where that is a server somewhere, the gateway takes its connections on their way
//! ([`interception`]), accepts them in the name of whom they are for, and opens its own to there in the name
//! of whom they came from ([`door`]). From then on it hands bytes across, in both directions ([`relay`]): the
//! ends of both connections that face each other are the gateway's, and the one towards the link is a sender
//! that can be boosted and that repairs losses over the link's round trip alone.
//!
//! Neither end sees an address or port change. The end of one direction is passed on as such, a reset as a
//! reset, and so is a server that refuses, though the client has been accepted by then.
//!
//! What it costs is TCP's end-to-end meaning: an acknowledgment says that the gateway has the bytes, and what
//! the gateway holds is lost with it. Hence nobody gets it without asking for it. Connections are bounded in
//! number, and those on which nothing moves in time; each takes two buffers of [`BUFFER_BYTES`].
//!
//! (REboost letter, section III; RFC 3135 on performance enhancing proxies.)

mod counters;
mod door;
mod relay;

pub use counters::Counts;
pub use door::{NotListening, Settings, Split, Watch};
pub use interception::{Plan, Taken};
pub use relay::BUFFER_BYTES;
