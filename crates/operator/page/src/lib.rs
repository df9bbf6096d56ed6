//! The port on which a program answers its operator.
//!
//! On a loopback address everybody on this machine may ask; elsewhere a request needs the token. It is in
//! `Authorization: Bearer`, or is the password of any user, because browsers ask for that. A foreign page in
//! a local browser must not reach the port by a name that resolves to the loopback address. A request without
//! a token must therefore be for an address or for `localhost`. A page has only the program's own content,
//! and a policy (CSP) enforces that in browsers.
//!
//! Strangers that connect and send nothing, or send slowly, block nobody (`places`).
//!
//! The program supplies the answers: it receives a [`Question`] and makes an [`Answer`] by [`said`].
//! [`files`] has the pages' shared files, and [`ring`] the last hour.

#![forbid(unsafe_code)]
#![allow(clippy::disallowed_methods)] // it serves sockets, and waits

#[cfg(feature = "server")]
mod admission;
pub mod figures;
#[cfg(feature = "server")]
pub mod files;
#[cfg(feature = "server")]
mod places;
pub mod ring;
#[cfg(feature = "server")]
mod server;

#[cfg(feature = "server")]
pub use server::{Answer, Page, Question, StatusCode, json, said, steps};
