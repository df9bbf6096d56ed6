//! All tests of this crate from outside, in one program, so that dependencies are linked once.

mod coding;
mod comparators;
mod reference_content;
mod vectors;
