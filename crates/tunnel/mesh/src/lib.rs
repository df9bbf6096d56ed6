//! Coding at a node of a mesh: natives for several next hops leave as one frame, their XOR. Each next hop has
//! overheard the others ([`cope`]; Katti and others, "XORs in the Air", SIGCOMM 2006). The same holds for
//! their remainders after a relay has removed known content (Shen and others, REfactor, MobiCom 2011).
//!
//! Routing supplies the next hops and the delivery probabilities. The caller authenticates the senders of
//! frames. This crate asks for neither time nor randomness, and every table has a bound.

#![forbid(unsafe_code)]

pub mod cope;
