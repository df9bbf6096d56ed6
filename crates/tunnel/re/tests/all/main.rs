//! All tests of this crate from outside, in one program: what they link is linked once.

mod circles;
mod link;
mod round_trip;
mod schedules;
mod store;
