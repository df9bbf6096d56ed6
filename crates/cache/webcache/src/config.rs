//! The configuration file of `overheard cache`, as it is written and what it means.

mod file;
mod resolve;

pub use file::{Architecture, File, Protocol};
pub use resolve::{Config, Mesh, Mistake, Routing, resolve};
