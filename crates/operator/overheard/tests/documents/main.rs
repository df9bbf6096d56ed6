//! The documents: their statements are true, their commands run, and guides work to their end.

#[path = "../program/support/mod.rs"]
mod support;

mod commands;
mod configuration;
mod defaults;
mod frames;
mod guides;
mod links;
mod pictures;
mod radios;
mod reference;
mod sizes;
mod statements;
mod status;
