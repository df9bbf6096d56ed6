//! Cache selection (MeshCache section 4) without sockets and clocks. `now` is a
//! [`Duration`](std::time::Duration) since an origin of the driver's choice.
//!
//! [`message`] has the messages between routers, [`search`] the broadcast search (BCP), and [`mapping`] the
//! results of searches and setup messages. [`grid`] is consistent hashing within a virtual grid (GHCP), and
//! [`worth`] decides whether a search pays. The crate [`routing`] is the paper's cross-layer module.

pub mod grid;
pub mod mapping;
pub mod message;
pub mod search;
pub mod worth;
