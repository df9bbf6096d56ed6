//! Round trip of an echo request without other traffic.

use anyhow::{Context, bail};
use lab::Namespace;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::io::Read;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

/// Between two requests, so that each finds everything asleep.
const PAUSE: Duration = Duration::from_millis(4);
/// A request that is not answered in this is lost.
const PATIENCE: Duration = Duration::from_millis(500);
/// The largest number of losses.
const LOSSES: usize = 10;
const ECHO_REQUEST: u8 = 8;

/// For each of `addresses` the median of `count` round trips from `from`, in microseconds; the addresses take
/// turns.
pub fn medians(from: &Namespace, addresses: &[IpAddr], count: usize) -> anyhow::Result<Vec<f64>> {
    let mut samples = vec![Vec::with_capacity(count); addresses.len()];
    from.enter(|| -> anyhow::Result<()> {
        let socket =
            Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::ICMPV4)).context("ask for echoes")?;
        socket.set_read_timeout(Some(PATIENCE))?;
        let mut lost = 0;
        for sequence in 0..count {
            for (address, sample) in addresses.iter().zip(&mut samples) {
                std::thread::sleep(PAUSE);
                match round_trip(&socket, *address, sequence as u16)? {
                    Some(time) => sample.push(time.as_secs_f64() * 1e6),
                    None if lost < LOSSES => lost += 1,
                    None => bail!("{address} does not answer"),
                }
            }
        }
        Ok(())
    })??;
    Ok(samples
        .into_iter()
        .map(|mut sample| {
            sample.sort_by(f64::total_cmp);
            sample.get(sample.len() / 2).copied().unwrap_or(f64::NAN)
        })
        .collect())
}

/// Whether `address` answers within `patience`.
pub fn answers(from: &Namespace, address: IpAddr, patience: Duration) -> anyhow::Result<bool> {
    from.enter(|| {
        let socket =
            Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::ICMPV4)).context("ask for echoes")?;
        socket.set_read_timeout(Some(Duration::from_millis(50)))?;
        let end = Instant::now() + patience;
        while Instant::now() < end {
            if round_trip(&socket, address, 0)?.is_some() {
                return Ok(true);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(false)
    })?
}

fn round_trip(mut socket: &Socket, address: IpAddr, sequence: u16) -> anyhow::Result<Option<Duration>> {
    // identifier and checksum are the kernel's
    let mut request = [0; 64];
    request[0] = ECHO_REQUEST;
    request[6..8].copy_from_slice(&sequence.to_be_bytes());
    let start = Instant::now();
    if socket.send_to(&request, &SockAddr::from(SocketAddr::new(address, 0))).is_err() {
        return Ok(None); // no route yet
    }
    let mut answer = [0; 128];
    while start.elapsed() < PATIENCE {
        match socket.read(&mut answer) {
            Ok(count) if answer.get(6..8) == request.get(6..8) && count == request.len() => {
                return Ok(Some(start.elapsed()));
            }
            Ok(_) => {}
            Err(_) => break,
        }
    }
    Ok(None)
}
