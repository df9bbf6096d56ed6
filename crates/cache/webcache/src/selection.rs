//! Cache selection (MeshCache section 4) without a socket or a clock: `now` is a
//! [`Duration`](std::time::Duration) since an origin that the driver chooses.
//!
//! [`message`] is what routers say to each other, [`search`] the broadcast search (BCP), [`mapping`] what
//! searches and setup messages leave behind, [`grid`] consistent hashing within a virtual grid (GHCP),
//! [`worth`] whether a search pays. What the routing protocol knows (the paper's cross-layer module) is the
//! crate [`routing`]'s.

pub mod grid;
pub mod mapping;
pub mod message;
pub mod search;
pub mod worth;
