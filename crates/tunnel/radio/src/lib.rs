//! Bit rates as people write them, and how long 802.11 occupies the air for a frame.
//!
//! The dashboard reckons air time with it, and the emulated air of the laboratory keeps to it.

#![forbid(unsafe_code)]

mod bitrate;
pub mod timing;

pub use bitrate::{Bitrate, MalformedBitrate};
