//! All tests of this crate from outside, in one program: what they link is linked once.

mod hop;
mod repair;
mod two_hops;
