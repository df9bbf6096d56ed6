//! All tests of the programs from outside, in one program, so that dependencies are linked once.
//! `tests/documents` has those of the documents.

mod support;

mod analyze;
mod boost;
mod cache_reload;
mod closed_pipe;
mod configuration;
mod copies;
mod doctor;
mod hostile_configuration;
mod hostile_http;
mod http_cache;
mod keygen;
mod keys;
mod large_object;
mod licences;
mod mesh_cache;
mod misconfigurations;
mod name_resolution;
mod next_hops;
mod operator;
mod overhearing;
mod path;
mod presets;
mod relays;
mod reload;
mod roaming;
mod sandbox;
mod siege;
mod silence;
mod smuggling;
mod split;
mod streams;
mod threads;
mod tunnel;
mod web_cache;
