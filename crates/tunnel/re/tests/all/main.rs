//! All tests of this crate from outside, in one program: what they link is linked once.

mod circles;
mod link;
mod reference_content;
mod round_trip;
mod schedules;
mod store;
