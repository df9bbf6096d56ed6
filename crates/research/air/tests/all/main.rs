//! All tests of this crate from outside, in one program: what they link is linked once.

mod conditions;
mod configuration;
mod conservation;
mod driver;
mod loss_rates;
mod medium;
mod pairing;
mod recorded;
