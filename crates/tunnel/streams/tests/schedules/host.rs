//! A host's end of a connection, and the model of the bytes that it reads.

use crate::dice::Dice;
use crate::plan::{Begins, Program};
use std::time::Duration;
use streams::tcp::{Connection, State};

/// The most bytes of one call.
const AT_ONCE: usize = 8192;

/// Bytes of a block.
const BLOCK_BITS: u32 = 10;
/// Blocks that many directions have.
const KNOWN_BLOCKS: u64 = 64;

/// A direction of a connection as a byte string: the byte at each offset. Every other direction consists of
/// blocks that others have, too.
fn fill(key: u64, from: u64, out: &mut [u8]) {
    let mix = |number: u64| Dice::new(number).number();
    let (mut block, mut seed) = (u64::MAX, 0);
    for (offset, byte) in (from..).zip(out) {
        if block != offset >> BLOCK_BITS {
            block = offset >> BLOCK_BITS;
            seed = mix(key ^ block << 1);
            seed = if key & 1 == 0 { mix(seed % KNOWN_BLOCKS) } else { seed };
        }
        let at = seed.wrapping_add(offset & ((1 << BLOCK_BITS) - 1));
        *byte = (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8;
    }
}

pub struct Host {
    pub program: Program,
    pub connection: Option<Connection>,
    /// The byte string that it writes, and the one that it reads.
    keys: [u64; 2],
    pub written: u64,
    pub read: u64,
    pub is_finished: bool,
    pub has_reset: bool,
    burst_left: u64,
    writes_at: Duration,
    reads_at: Duration,
    /// When it has something to do, as far as it was told.
    pub wakes_at: Option<Duration>,
}

impl Host {
    pub fn new(program: Program, keys: [u64; 2]) -> Self {
        let burst_left = program.burst;
        Host {
            program,
            connection: None,
            keys,
            written: 0,
            read: 0,
            is_finished: false,
            has_reset: false,
            burst_left,
            writes_at: Duration::ZERO,
            reads_at: Duration::ZERO,
            wakes_at: None,
        }
    }

    pub fn state(&self) -> Option<State> {
        self.connection.as_ref().map(Connection::state)
    }

    /// Whether its connection ended, and all that came was read.
    pub fn is_over(&self) -> bool {
        match self.state() {
            None | Some(State::Reset | State::Refused) => true,
            Some(State::Closed) => self.has_ended(),
            Some(State::Opening | State::Open) => false,
        }
    }

    /// Whether it saw the end of what the other host writes.
    pub fn has_ended(&self) -> bool {
        self.connection.as_ref().is_some_and(Connection::has_ended)
    }

    /// Does what the program says. An error: a byte is wrong.
    pub fn go_on(&mut self, now: Duration, emit: &mut dyn FnMut(&[u8])) -> Result<(), String> {
        if self.connection.is_none() {
            return Ok(());
        }
        self.read_on(now)?;
        self.write_on(now);
        let Some(connection) = &mut self.connection else { return Ok(()) };
        let Program { resets_after, resets_at, .. } = self.program;
        let resets = resets_after.is_some_and(|bytes| self.read + self.written >= bytes)
            || resets_at.is_some_and(|at| at <= now);
        let is_alive = matches!(connection.state(), State::Opening | State::Open);
        if resets && is_alive {
            self.has_reset = true;
            connection.abort();
        }
        connection.poll(now, emit);
        Ok(())
    }

    fn read_on(&mut self, now: Duration) -> Result<(), String> {
        let Some(connection) = &mut self.connection else { return Ok(()) };
        let (mut right, mut is_wrong) = ([0; AT_ONCE], false);
        while now >= self.reads_at && connection.readable() > 0 {
            let stop = self.program.stops_reading.filter(|(at, _)| *at >= self.read);
            let most = stop.map_or(AT_ONCE as u64, |(at, _)| at - self.read).min(AT_ONCE as u64) as usize;
            let (from, key) = (self.read, self.keys[1]);
            self.read += connection.read(|bytes| {
                let taken = bytes.len().min(most);
                fill(key, from, &mut right[..taken]);
                is_wrong = bytes[..taken] != right[..taken];
                taken
            }) as u64;
            if is_wrong {
                return Err(format!("a wrong byte between {from} and {}", self.read));
            }
            if let Some((_, time)) = stop.filter(|(at, _)| *at == self.read) {
                self.reads_at = now + time;
                self.program.stops_reading = None;
            }
        }
        Ok(())
    }

    fn write_on(&mut self, now: Duration) {
        let has_ended = self.has_ended();
        let begins = match self.program.begins {
            Begins::AtOnce => true,
            Begins::AfterFirstByte => self.read > 0 || has_ended,
            Begins::AfterEnd => has_ended,
        };
        let Some(connection) = self.connection.as_mut().filter(|_| begins) else { return };
        let mut bytes = [0; AT_ONCE];
        while now >= self.writes_at && self.written < self.program.bytes {
            let left = (self.program.bytes - self.written).min(self.burst_left);
            let count = left.min(connection.room() as u64).min(AT_ONCE as u64) as usize;
            if count == 0 {
                break;
            }
            fill(self.keys[0], self.written, &mut bytes[..count]);
            let count = connection.write(&bytes[..count]) as u64;
            self.written += count;
            self.burst_left -= count;
            if self.burst_left == 0 {
                self.burst_left = self.program.burst;
                self.writes_at = now + self.program.pause;
            }
        }
        let is_done = self.written == self.program.bytes && now >= self.program.idle_until;
        if is_done && !self.is_finished && connection.state() == State::Open {
            connection.finish();
            self.is_finished = true;
        }
    }

    /// When it has something to do.
    pub fn timeout(&mut self, now: Duration) -> Option<Duration> {
        let connection = self.connection.as_mut()?;
        let later = [
            self.reads_at,
            self.writes_at,
            self.program.idle_until,
            self.program.resets_at.unwrap_or_default(),
        ];
        let later = later.into_iter().filter(|at| *at > now);
        later.chain(connection.timeout(now)).min()
    }
}
