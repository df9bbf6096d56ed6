//! Two nodes in virtual time, in one process.

#![allow(clippy::unwrap_used)] // a harness fails by panicking

mod bounds;
mod carrying;
mod changes;
mod common_stations;
mod filling;
mod group;
mod growth;
mod guesser;
mod guessing;
mod horizon;
mod keys;
mod lanes;
mod marks;
mod mesh;
mod narrow;
mod natives;
mod neighbours;
mod next_hops;
mod packing;
mod pair;
mod passing;
mod reachability;
mod relays;
mod restoring;
mod sessions;
mod snoop;
mod streams;
mod twins;
mod versions;
