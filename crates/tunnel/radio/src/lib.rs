//! Bit rates in their written form, and 802.11's air time of a frame.
//!
//! The dashboard computes air time with it, and the laboratory's emulated air uses it.

#![forbid(unsafe_code)]

mod bitrate;
pub mod timing;

pub use bitrate::{Bitrate, MalformedBitrate};
