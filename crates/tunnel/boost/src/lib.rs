//! TCP that turns saved bytes into speed: the REboost paper's congestion control, without a kernel patch.
//!
//! Where a link is long or loses packets, what bounds TCP is its congestion window, which counts segments.
//! Redundancy elimination makes segments small and leaves their number as it was: the link idles, and
//! downloads take as long as before (section II-B of the paper). The cure has two parts. The tunnel fills
//! each wire packet with as many encoded segments as go into it (`node::pack`), and TCP's window grows by as
//! many as that are, the *ratio* of its flow, so that the link carries what the unmodified congestion control
//! would have sent: *ref* (section III-A).
//!
//! The paper patches the kernel. Here a [`Controller`] is loaded into it: eBPF programs (`struct_ops`) that
//! call the kernel's own cubic or reno ([`Wrapped`]) on the reference window and convert everything that
//! crosses the boundary; the C source says how (`bpf/boost.bpf.c`). Vegas, veno and westwood, which the
//! kernel lets no program call, are written again beside it, and so take no module. They learn the ratio from
//! a map, in which the holder of the controller writes what its node says of each flow ([`Told`]). A flow of
//! which nothing is known, or nothing new for five seconds, behaves as it would without us, and so does every
//! connection that outlives the node.
//!
//! A controller has a name of its own among the machine's, which its node sets for the routes that lead into
//! its tunnel (`ip route … congctl NAME`): unmodified programs get it by connecting through the tunnel, and
//! others never. It goes with the process that loaded it, however that ends, or before Linux 6.4 with the
//! next one, if that was killed (`registration`); what was connected by then keeps the programs until it
//! closes.
//!
//! Without the feature `bpf` nothing of this is built, and [`Controller::load`] says so.

mod error;
mod flow;
#[cfg(feature = "bpf")]
mod registration;
mod wrapped;

#[cfg(feature = "bpf")]
mod controller;
#[cfg(not(feature = "bpf"))]
#[path = "absent.rs"]
mod controller;

pub use controller::Controller;
pub use error::Error;
pub use flow::Told;
pub use wrapped::Wrapped;
