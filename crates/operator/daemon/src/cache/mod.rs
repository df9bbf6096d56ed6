//! A web cache as a process: [`run`] from start to end. While it runs, `status_socket` answers for it.

pub mod config;
mod run;
mod status_socket;

pub use run::run;
