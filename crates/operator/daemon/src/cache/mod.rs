//! A web cache as a process: [`config`] is its configuration, and [`run`](run()) its run from start to end.
//! `status_socket` answers for it at run time, and `reload` changes it.

pub mod config;
mod reload;
mod run;
mod status_socket;

pub use run::run;
