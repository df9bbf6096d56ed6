//! The largest packet of the tunnel.

use super::Mistake;
use super::file::Tunnel;
use node::AROUND_PACKET;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

/// The MTU of an unknown path, in bytes of outer IP packet.
const USUAL_PATH_MTU: u32 = 1500;
/// The largest probed path MTU, in bytes of outer IP packet: that of a usual jumbo frame.
const LARGEST_PATH_MTU: u32 = 9000;
/// The smallest MTU, because a smaller datagram could not carry a handshake.
const SMALLEST_MTU: i64 = 576;
const LARGEST_MTU: i64 = 64_000;
/// The smallest MTU of IPv6: RFC 8200, section 5.
const SMALLEST_IPV6_MTU: i64 = 1280;
/// Documentation addresses (RFC 5737, RFC 3849), whose route is the default route.
const NOBODY: [IpAddr; 2] = [
    IpAddr::V4(Ipv4Addr::new(203, 0, 113, 254)),
    IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0xffff, 0, 0, 0, 0, 0xfffe)),
];

/// The largest inner packet with this many extra bytes around it: the configured one, or the one that fits
/// the paths to all known peers.
pub fn mtu(
    path: &Path,
    tunnel: &Tunnel,
    endpoints: &[SocketAddr],
    listen: SocketAddr,
    inner_ipv6: bool,
    around_bytes: usize,
) -> Result<u16, Mistake> {
    let smallest = if inner_ipv6 { SMALLEST_IPV6_MTU } else { SMALLEST_MTU };
    let fits = endpoints
        .iter()
        .map(|to| fitting(io::path::mtu_towards(*to).unwrap_or(USUAL_PATH_MTU), to.ip()))
        .min()
        .unwrap_or_else(|| fitting_anyone(listen))
        - around_bytes as i64;
    let mtu = tunnel.mtu.unwrap_or(fits.min(LARGEST_MTU));
    let why = if inner_ipv6 { ", because there is IPv6 in the tunnel" } else { "" };
    if !(smallest..=LARGEST_MTU).contains(&mtu) {
        let what = match tunnel.mtu {
            Some(mtu) => format!("{mtu} is not between {smallest} and {LARGEST_MTU}{why}"),
            None => format!("only {mtu} bytes fit the way to the peers, and {smallest} are needed{why}"),
        };
        return Err(Mistake::at(path, "[tunnel] mtu", what));
    }
    if mtu > fits {
        tracing::warn!("[tunnel] mtu = {mtu}: only {fits} bytes fit the way to the peers as it is now");
    }
    Ok(u16::try_from(mtu).unwrap_or(u16::MAX))
}

/// The largest datagram for any path to a peer, in bytes: bounded by the narrowest of our interfaces on these
/// paths, and by the usual size on wired networks.
pub fn largest_datagram_bytes(endpoints: &[SocketAddr], listen: SocketAddr) -> usize {
    let bytes = |to: SocketAddr| {
        let path_mtu = io::path::mtu_towards(to).unwrap_or(USUAL_PATH_MTU).min(LARGEST_PATH_MTU);
        (path_mtu as usize).saturating_sub(io::path::header_bytes(to.ip()).into())
    };
    let anyone = NOBODY.iter().filter(|to| listen.is_ipv6() || to.is_ipv4()).map(|to| (*to, 9).into());
    let known = endpoints.iter().copied().map(bytes).min();
    known.or_else(|| anyone.map(bytes).min()).unwrap_or(0)
}

/// The inner packet that fits the path to peers that connect to us, for every family that we listen on. It is
/// bounded by the default routes and by the usual size, because the path beyond our link is unknown.
fn fitting_anyone(listen: SocketAddr) -> i64 {
    let families = NOBODY.iter().filter(|to| listen.is_ipv6() || to.is_ipv4());
    let fitting = families.map(|to| {
        let path_mtu = io::path::mtu_towards((*to, 9).into()).unwrap_or(USUAL_PATH_MTU);
        fitting(path_mtu.min(USUAL_PATH_MTU), *to)
    });
    fitting.min().unwrap_or(SMALLEST_MTU)
}

/// The inner packet that fits an outer one of `path_mtu` bytes to `to`.
fn fitting(path_mtu: u32, to: IpAddr) -> i64 {
    i64::from(path_mtu) - i64::from(io::path::header_bytes(to)) - AROUND_PACKET as i64
}
