//! The documents: what they say is so, their commands are run, and guides are followed to their end.

#[path = "../program/support/mod.rs"]
mod support;

mod commands;
mod configuration;
mod defaults;
mod guides;
mod links;
mod pictures;
mod reference;
mod sizes;
mod statements;
mod status;
