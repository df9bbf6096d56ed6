//! The `overheard` program.

fn main() {}
