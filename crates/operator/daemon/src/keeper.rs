//! A small process that keeps privileged work, so that the process that reads from the network has no such
//! rights: the interception rules ([`interception`]), and the programs that boost TCP ([`boost`]).
//!
//! `overheard up` and `overheard cache` start it before they read a byte from the network, and only if the
//! configuration needs it. It is the same program (`overheard keep`). It reads only its starter's messages on
//! a socket between the two: an [`Order`] and the ratios of flows. It gives up the rights that it no longer
//! needs. At any end of its starter the kernel closes the socket; the keeper then removes everything and
//! ends.
//!
//! A node that restarts in the same process passes the socket on as its standard input, because it no longer
//! has the right to start another keeper.

mod order;
mod process;

pub use order::{Kept, Order, Rules};
pub use process::run;

use crate::service;
use anyhow::{Context, bail};
use boost::Told;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, Shutdown, SocketFlags, SocketType, recv, send, shutdown, socketpair,
};
use rustix::process::{Pid, WaitOptions, waitpid};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The subcommand of both programs.
const COMMAND: &str = "keep";
/// Environment variable of a program whose standard input is a keeper's socket: the keeper's process id.
const HANDED_ON: &str = "OVERHEARD_KEEPER";
/// Timeout of an order: the kernel's check of the programs on a slow router, and `nft`'s installation of
/// rules.
const PATIENCE: Duration = Duration::from_secs(30);
/// Timeout of the removal.
const FAREWELL: Duration = Duration::from_secs(5);
/// The longest order in bytes, far above any real list of split prefixes.
const LONGEST_BYTES: usize = 128 << 10;
/// The first byte of a message.
const ORDER: u8 = b'o';
const RATIO: u8 = b'r';

/// The starter's end.
#[derive(Debug)]
pub struct Keeper {
    socket: OwnedFd,
    process: Option<Pid>,
}

impl Keeper {
    /// Starts a keeper.
    ///
    /// # Errors
    ///
    /// If no further process can be started.
    pub fn start() -> anyhow::Result<Self> {
        let (socket, its) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
                .context("cannot make a pair of sockets")?;
        let child = Command::new(service::itself())
            .arg(COMMAND)
            .env_remove(HANDED_ON)
            .stdin(Stdio::from(its))
            .stdout(Stdio::null())
            // A terminal's signals to its starter must not reach it.
            .process_group(0)
            .spawn()
            .context("cannot start the process that keeps rules and programs")?;
        Ok(Keeper { socket, process: Some(Pid::from_child(&child)) })
    }

    /// The keeper that this process inherited before its restart.
    #[must_use]
    pub fn handed_on() -> Option<Self> {
        let number = std::env::var(HANDED_ON).ok()?.parse().ok().filter(|number| *number > 0);
        let process = number.and_then(Pid::from_raw);
        let socket = std::io::stdin().as_fd().try_clone_to_owned().ok()?;
        Some(Keeper { socket, process })
    }

    /// Passes the keeper on to the program of `command`.
    pub fn hand_on(&self, command: &mut Command) -> std::io::Result<()> {
        let process = self.process.map_or(0, |process| process.as_raw_nonzero().get());
        command.env(HANDED_ON, process.to_string()).stdin(Stdio::from(self.socket.try_clone()?));
        Ok(())
    }

    /// Ensures that no keeper is passed on.
    pub fn hand_on_none(command: &mut Command) {
        command.env_remove(HANDED_ON);
    }

    /// Orders new work in place of the old, and waits for it.
    ///
    /// # Errors
    ///
    /// If it does not answer. Its answer contains partial failures.
    pub fn order(&self, order: &Order) -> anyhow::Result<Kept> {
        let message = [&[ORDER][..], &serde_json::to_vec(order)?].concat();
        if message.len() > LONGEST_BYTES {
            bail!("what is to be led here is too long to be said; name fewer prefixes");
        }
        const NO_ANSWER: &str = "the process that keeps rules and programs does not answer";
        set_socket_timeout(&self.socket, Timeout::Recv, Some(PATIENCE)).context(NO_ANSWER)?;
        send(&self.socket, &message, SendFlags::NOSIGNAL).context(NO_ANSWER)?;
        let mut answer = vec![0; LONGEST_BYTES];
        let length = receive(&self.socket, &mut answer).context(NO_ANSWER)?;
        serde_json::from_slice(&answer[..length]).context(NO_ANSWER)
    }

    /// Sends the number of segments of a flow in a wire packet. Without a receiver, the message is lost.
    pub fn tell(&self, told: &Told) {
        let mut message = [0; 1 + Told::BYTES];
        message[0] = RATIO;
        message[1..].copy_from_slice(told.as_bytes());
        let _ = send(&self.socket, &message, SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
    }
}

impl Drop for Keeper {
    /// Returns when everything is removed.
    fn drop(&mut self) {
        let _ = shutdown(&self.socket, Shutdown::Write);
        let _ = set_socket_timeout(&self.socket, Timeout::Recv, Some(FAREWELL));
        let ended = receive(&self.socket, &mut [0; 16]);
        if let (Ok(_), Some(process)) = (ended, self.process) {
            let _ = waitpid(Some(process), WaitOptions::empty());
        }
    }
}

/// The next message; 0 bytes mean that the other end is closed.
fn receive(socket: impl AsFd, buffer: &mut [u8]) -> rustix::io::Result<usize> {
    loop {
        match recv(socket.as_fd(), &mut *buffer, RecvFlags::empty()) {
            Err(rustix::io::Errno::INTR) => {}
            received => return received.map(|(_, length)| length.min(buffer.len())),
        }
    }
}
