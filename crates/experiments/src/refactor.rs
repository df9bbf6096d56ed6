//! *REfactor-ing Content Overhearing to Improve Wireless Performance* (S.-H. Shen, A. Gember, A. Anand, A. Akella,
//! MobiCom 2011), run again.
//!
//! Section 5.3's setting in one process: an access point, C1 beside it, C2 farther away ([`overhearing`]); the air
//! ([`medium`]) loses and lets overhear by the length of what is sent; losses are sent again. What is sent is what the
//! codec of [`overhear`] emits, and what arrives is compared with what was meant. Traffic is composed to the paper's mixes
//! ([`crate::trace`]).

mod air_time;
mod medium;
mod overhearing;
