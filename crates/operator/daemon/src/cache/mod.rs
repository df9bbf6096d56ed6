//! A web cache as a process: [`config`] is the file that says how, [`run`](run()) the run from start to end.
//! While it runs, `status_socket` answers for it.

pub mod config;
mod run;
mod status_socket;

pub use run::run;
