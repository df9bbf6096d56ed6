//! TCP that turns saved bytes into throughput: the REboost paper's congestion control, without a kernel
//! patch.
//!
//! On a long or lossy link, the congestion window bounds TCP, and it counts segments. Redundancy elimination
//! shrinks segments but not their number, so the link idles and downloads take as long as before (section
//! II-B of the paper). The remedy has two parts. The tunnel fills each wire packet with several encoded
//! segments (`node::pack`). TCP's window grows by their number, the *ratio* of its flow. The link then
//! carries the wire packets of the unmodified congestion control: *ref* (section III-A).
//!
//! The paper patches the kernel. Here a [`Controller`] loads eBPF programs (`struct_ops`). They call the
//! kernel's own cubic or reno ([`Wrapped`]) on the reference window, and convert all values at the boundary;
//! the C source explains how (`bpf/boost.bpf.c`). The kernel lets no program call vegas, veno and westwood,
//! so the C source reimplements them, which also needs no module. The programs read the ratio from a map,
//! where the controller's holder writes its node's ratios ([`Told`]). A flow without a ratio, or without a
//! new one for five seconds, behaves as without this controller. So does every connection that outlives the
//! node.
//!
//! A controller has its own name on the machine. Its node sets the name for the routes into its tunnel (`ip
//! route … congctl NAME`), so unmodified programs use it on connections through the tunnel, and only there.
//! It ends with the process that loaded it. Before Linux 6.4, after a kill, it ends with the next process
//! (`registration`). Existing connections keep the programs until they close.
//!
//! Without the feature `bpf` nothing of this is built, and [`Controller::load`] returns an error.

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
