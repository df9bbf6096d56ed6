//! Requests and answers over TCP: transmission, reception, and comparison.
//!
//! A request is one octet, the number of the answer. Without requests the server speaks first. Both ends run
//! in one process, with sockets of their own namespaces.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::error::{Doing, LabError};
use crate::namespace::Namespace;
use crate::outcome::{Ending, ExchangeOutcome};
use crate::scenario::{Connections, Exchange};

/// Interval of the server's looks whether the client has ended.
const INTERVAL: Duration = Duration::from_millis(200);

/// An exchange about to be made.
pub(crate) struct Talk<'a> {
    pub(crate) exchange: &'a Exchange,
    pub(crate) client: &'a Namespace,
    pub(crate) server: &'a Namespace,
    /// Answers are consecutive slices of it.
    pub(crate) content: &'a [u8],
}

/// Answers that a connection brought.
#[derive(Default)]
struct Brought {
    answers: u32,
    bytes: u64,
    is_altered: bool,
}

impl Brought {
    fn plus(self, other: Self) -> Self {
        Self {
            answers: self.answers + other.answers,
            bytes: self.bytes + other.bytes,
            is_altered: self.is_altered || other.is_altered,
        }
    }
}

impl Talk<'_> {
    /// Makes all exchanges, from `start` on, at most until `deadline`.
    pub(crate) fn run(&self, start: Instant, deadline: Instant) -> Result<ExchangeOutcome, LabError> {
        let Exchange { address, answer_bytes, .. } = *self.exchange;
        if self.content.len() < answer_bytes {
            return Err(LabError::Scenario {
                name: self.exchange.content.clone(),
                detail: format!("has fewer than the {answer_bytes} octets of an answer"),
            });
        }
        let listener = self.server.enter(|| TcpListener::bind((address, 0)))?;
        let listener = listener.doing(|| format!("listen on TCP at {address}"))?;
        let server = listener.local_addr().doing(|| "learn a TCP port".to_owned())?;
        listener.set_nonblocking(true).doing(|| "listen without blocking".to_owned())?;
        std::thread::sleep(start.saturating_duration_since(Instant::now()));
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let (is_over, listener) = (&is_over, &listener);
            scope.spawn(move || {
                let mut number = 0;
                while !is_over.load(Ordering::Relaxed) {
                    match listener.accept() {
                        Ok((connection, _)) => {
                            scope.spawn(move || self.serve(connection, number, deadline));
                            number += 1;
                        }
                        Err(_) => wait_for(listener),
                    }
                }
            });
            let started = Instant::now();
            let brought = self.client.enter(|| self.ask(server, deadline));
            let seconds = started.elapsed().as_secs_f64();
            is_over.store(true, Ordering::Relaxed);
            let Brought { answers, bytes, is_altered } = brought?;
            let ending = match answers == self.exchange.answers {
                true => Ending::Complete,
                false if Instant::now() >= deadline => Ending::OutOfTime,
                false => Ending::Failed,
            };
            Ok(ExchangeOutcome { ending, answers, bytes, intact: !is_altered, seconds })
        })
    }

    /// Fetches every answer. Runs in the client's namespace.
    fn ask(&self, server: SocketAddr, deadline: Instant) -> Brought {
        let answers = self.exchange.answers;
        match self.exchange.connections {
            Connections::Kept => self.converse(server, 0..answers, deadline),
            Connections::New => {
                let each = |number| self.converse(server, number..number + 1, deadline);
                (0..answers).map(each).fold(Brought::default(), Brought::plus)
            }
            Connections::AtOnce => std::thread::scope(|scope| {
                let spawn = |number| scope.spawn(move || self.converse(server, number..number + 1, deadline));
                let threads: Vec<_> = (0..answers).map(spawn).collect();
                let join = |thread: std::thread::ScopedJoinHandle<'_, Brought>| {
                    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                };
                threads.into_iter().map(join).fold(Brought::default(), Brought::plus)
            }),
        }
    }

    /// Fetches some answers over one connection, until one does not come.
    fn converse(&self, server: SocketAddr, numbers: Range<u32>, deadline: Instant) -> Brought {
        let mut brought = Brought::default();
        let Some(mut connection) = connect(server, deadline) else { return brought };
        let mut answer = vec![0; self.exchange.answer_bytes];
        for number in numbers {
            if self.exchange.asks && connection.write_all(&[number as u8]).is_err() {
                break;
            }
            let (came, is_whole) = read_whole(&mut connection, &mut answer, deadline);
            brought.bytes += came as u64;
            brought.is_altered |= answer[..came] != self.answer(number)[..came];
            if !is_whole {
                break;
            }
            brought.answers += 1;
        }
        brought
    }

    /// Answers on one connection until its client ends it. The first answer is the connection's, unless the
    /// client asks.
    fn serve(&self, mut connection: TcpStream, number: u32, deadline: Instant) {
        let left = deadline.saturating_duration_since(Instant::now()).max(INTERVAL);
        let _ = connection.set_nonblocking(false);
        let _ = connection.set_nodelay(true);
        let _ = connection.set_write_timeout(Some(left));
        if !self.exchange.asks {
            let _ = connection.write_all(self.answer(number));
            let _ = connection.shutdown(Shutdown::Write);
        }
        let mut request = [0];
        while read_whole(&mut connection, &mut request, deadline).1 && self.exchange.asks {
            if connection.write_all(self.answer(request[0].into())).is_err() {
                break;
            }
        }
    }

    /// The answer of this number.
    fn answer(&self, number: u32) -> &[u8] {
        let bytes = self.exchange.answer_bytes;
        let start = number as usize % (self.content.len() / bytes) * bytes;
        &self.content[start..start + bytes]
    }
}

/// Connects before `deadline`. A request leaves at once.
fn connect(server: SocketAddr, deadline: Instant) -> Option<TcpStream> {
    let left = deadline.saturating_duration_since(Instant::now());
    let connection = TcpStream::connect_timeout(&server, left.max(Duration::from_millis(1))).ok()?;
    connection.set_nodelay(true).ok()?;
    Some(connection)
}

/// Waits until a connection may have come, not long.
fn wait_for(listener: &TcpListener) {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let timeout = Timespec::try_from(INTERVAL).ok();
    let _ = poll(&mut [PollFd::new(listener, PollFlags::IN)], timeout.as_ref());
}

/// Fills a buffer, at most until `deadline`: how many octets came, and whether that is all.
fn read_whole(connection: &mut TcpStream, buffer: &mut [u8], deadline: Instant) -> (usize, bool) {
    let mut came = 0;
    while came < buffer.len() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() || connection.set_read_timeout(Some(left)).is_err() {
            break;
        }
        match connection.read(&mut buffer[came..]) {
            Ok(0) | Err(_) => break,
            Ok(length) => came += length,
        }
    }
    (came, came == buffer.len())
}
