//! What a node of a mesh does for others: natives for several next hops leave as one frame, the XOR of all of
//! them, where each next hop has heard the others ([`cope`]; Katti and others, "XORs in the Air", SIGCOMM
//! 2006); and so does what is left of them where a relay removed content that they have (Shen and others,
//! REfactor, MobiCom 2011).
//!
//! Which next hop leads where, and how well nodes hear each other, routing says. Frames are taken to come
//! from whoever they say they come from: whoever drives this authenticates them. Nothing here asks for the
//! time or draws randomness, and every table has a bound.

#![forbid(unsafe_code)]

pub mod cope;
