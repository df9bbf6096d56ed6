//! Two nodes in virtual time, in one process.

mod carrying;
mod pair;
mod sessions;
