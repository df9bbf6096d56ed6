//! Split TCP: a connection ends here, and another one continues, each with the other's addresses.
//!
//! It serves senders that are elsewhere. Fast TCP over a long or lossy link depends on its sender. If that is
//! a remote server, the gateway intercepts its connections ([`interception`]), accepts them under the
//! destination's address, and opens a connection to the destination under the client's address ([`door`]). It
//! then copies bytes in both directions ([`relay`]). The gateway is thus an end of both connections. The
//! sender towards the link can be boosted, and repairs losses over the link's round trip alone.
//!
//! Neither end sees a changed address or port. The end of one direction is passed on as such, and so is a
//! reset. A server's refusal becomes a reset, because the client is already accepted.
//!
//! The cost is TCP's end-to-end semantics: an acknowledgment means that the gateway has the bytes, and they
//! are lost if the gateway fails. It is therefore off by default. Connections are bounded in number, and idle
//! ones in time. Each one takes two buffers of [`BUFFER_BYTES`].
//!
//! (REboost letter, section III; RFC 3135 on performance enhancing proxies.)

mod counters;
mod door;
mod relay;

pub use counters::Counts;
pub use door::{NotListening, Settings, Split, Watch};
pub use interception::{Plan, Taken};
pub use relay::BUFFER_BYTES;
