//! The documents: what they say is so, their commands are run, and guides are followed to their end.

#[path = "../program/support/mod.rs"]
mod support;

mod commands;
mod guides;
mod statements;
