//! The configuration file of `overheard cache`: [`file`] is the file as it is written, [`resolve`] what it means.

mod file;
mod resolve;

pub use file::File;
pub use resolve::{Mistake, resolve};
