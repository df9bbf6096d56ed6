//! A small process that keeps what takes rights, so that the one that reads from the network need not have
//! them: the rules that lead connections here ([`interception`]), and the programs that boost TCP
//! ([`boost`]).
//!
//! `overheard up` and `overheard cache` start it before they read a byte from the network, and only where the
//! configuration asks for either. It is the same program (`overheard keep`), reads nothing but what its
//! starter says on a socket between the two, which are an [`Order`] and the ratios of flows, and gives up
//! whatever it no longer needs. When its starter ends, however that happens, the kernel closes the socket; it
//! takes everything out then, and ends.
//!
//! A node that begins anew in the same process hands the socket on, as its standard input: by then it has no
//! right to start another keeper.

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
/// In the environment of a program whose standard input is a keeper's socket: the number of its process.
const HANDED_ON: &str = "OVERHEARD_KEEPER";
/// How long the kernel may take to check the programs, on a slow router, and `nft` to put rules in.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long it may take to take everything out.
const FAREWELL: Duration = Duration::from_secs(5);
/// The longest order in bytes: that many prefixes that are split nobody has.
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
    /// Starts one.
    ///
    /// # Errors
    ///
    /// When there can be no further process.
    pub fn start() -> anyhow::Result<Self> {
        let (socket, its) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
                .context("cannot make a pair of sockets")?;
        let child = Command::new(service::itself())
            .arg(COMMAND)
            .env_remove(HANDED_ON)
            .stdin(Stdio::from(its))
            .stdout(Stdio::null())
            // what a terminal says to its starter is not for it
            .process_group(0)
            .spawn()
            .context("cannot start the process that keeps rules and programs")?;
        Ok(Keeper { socket, process: Some(Pid::from_child(&child)) })
    }

    /// The one that this process got from itself, before it began anew.
    #[must_use]
    pub fn handed_on() -> Option<Self> {
        let number = std::env::var(HANDED_ON).ok()?.parse().ok().filter(|number| *number > 0);
        let process = number.and_then(Pid::from_raw);
        let socket = std::io::stdin().as_fd().try_clone_to_owned().ok()?;
        Some(Keeper { socket, process })
    }

    /// Hands it on to what `command` becomes.
    pub fn hand_on(&self, command: &mut Command) -> std::io::Result<()> {
        let process = self.process.map_or(0, |process| process.as_raw_nonzero().get());
        command.env(HANDED_ON, process.to_string()).stdin(Stdio::from(self.socket.try_clone()?));
        Ok(())
    }

    /// Sees that nothing is handed on.
    pub fn hand_on_none(command: &mut Command) {
        command.env_remove(HANDED_ON);
    }

    /// Orders what is to be kept instead of what is, and waits for it.
    ///
    /// # Errors
    ///
    /// When it does not answer. What it could not have is in its answer.
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

    /// Says how many segments a wire packet carries of a flow. Where nobody takes it, it is lost.
    pub fn tell(&self, told: &Told) {
        let mut message = [0; 1 + Told::BYTES];
        message[0] = RATIO;
        message[1..].copy_from_slice(told.as_bytes());
        let _ = send(&self.socket, &message, SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
    }
}

impl Drop for Keeper {
    /// Returns when everything is taken out.
    fn drop(&mut self) {
        let _ = shutdown(&self.socket, Shutdown::Write);
        let _ = set_socket_timeout(&self.socket, Timeout::Recv, Some(FAREWELL));
        let ended = receive(&self.socket, &mut [0; 16]);
        if let (Ok(_), Some(process)) = (ended, self.process) {
            let _ = waitpid(Some(process), WaitOptions::empty());
        }
    }
}

/// The next message; 0 bytes: the other end is closed.
fn receive(socket: impl AsFd, buffer: &mut [u8]) -> rustix::io::Result<usize> {
    loop {
        match recv(socket.as_fd(), &mut *buffer, RecvFlags::empty()) {
            Err(rustix::io::Errno::INTR) => {}
            received => return received.map(|(_, length)| length.min(buffer.len())),
        }
    }
}
