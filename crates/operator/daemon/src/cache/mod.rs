//! A web cache as a process: [`config`] is its configuration, and [`run`](run()) its run from start to end.
//! `status_socket` answers for it at run time.

pub mod config;
mod run;
mod status_socket;

pub use run::run;
