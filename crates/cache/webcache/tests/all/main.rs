//! All tests of this crate from outside, in one program: what they link is linked once.

mod configuration;
mod recovery;
