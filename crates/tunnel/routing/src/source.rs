//! Queries a source for all its routes.

use crate::config::{Settings, Source};
use crate::{Route, babeld, fixed, olsrv2};
use ipnet::IpNet;
use route_netlink::Connection;
use route_netlink::packet::AddressFamily;
use route_netlink::packet::route::{RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteType};
use std::net::IpAddr;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// Timeout of a daemon's answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// The most octets of an answer.
const ANSWER_BYTES: u64 = 4 << 20;

/// Reads the source once, for [`Routes::new`](crate::Routes::new). The error is a sentence.
pub async fn read(settings: &Settings) -> Result<Vec<Route>, String> {
    let Settings { file, socket, .. } = settings;
    match settings.source {
        Source::Static => {
            let text = std::fs::read_to_string(file);
            let text =
                text.map_err(|why| format!("[routing] file: cannot read {}: {why}", file.display()))?;
            fixed::parse(&text).map_err(|why| format!("[routing] file: {}: {why}", file.display()))
        }
        // A long table takes a while.
        Source::Kernel => tokio::task::spawn_blocking(kernel).await.map_err(|why| why.to_string())?,
        Source::Babeld => babeld(socket).await,
        Source::Olsrv2 => olsrv2(socket).await,
    }
}

async fn babeld(socket: &str) -> Result<Vec<Route>, String> {
    let unanswered = |why: &dyn std::fmt::Display| {
        format!(
            "[routing] socket: babeld does not answer on {socket}: {why}; start it with -G and that path or port"
        )
    };
    let asked = async {
        match socket.parse::<u16>() {
            Err(_) => ask(tokio::net::UnixStream::connect(socket).await?).await,
            Ok(port) => {
                let localhost = IpAddr::from(std::net::Ipv6Addr::LOCALHOST);
                ask(tokio::net::TcpStream::connect((localhost, port)).await?).await
            }
        }
    };
    let dump = tokio::time::timeout(PATIENCE, asked).await.map_err(|late| unanswered(&late))?;
    let dump = dump.map_err(|why| unanswered(&why))?;
    let any = rustix::net::socket(rustix::net::AddressFamily::INET, rustix::net::SocketType::DGRAM, None);
    Ok(babeld::parse(&dump, |name| {
        any.as_ref().ok().and_then(|any| rustix::net::netdevice::name_to_index(any, name).ok()).unwrap_or(0)
    }))
}

/// Requests a dump. An `ok` follows the greeting, and another one follows the dump.
async fn ask(mut stream: impl AsyncRead + AsyncWrite + Unpin) -> std::io::Result<String> {
    stream.write_all(b"dump\n").await?;
    let mut lines = tokio::io::BufReader::new(stream).take(ANSWER_BYTES).lines();
    let (mut dump, mut oks) = (String::new(), 0);
    while let Some(line) = lines.next_line().await? {
        oks += usize::from(line == "ok");
        dump += &line;
        dump.push('\n');
        if oks == 2 {
            return Ok(dump);
        }
    }
    Err(std::io::Error::other("its answer was cut short"))
}

async fn olsrv2(port: &str) -> Result<Vec<Route>, String> {
    let unanswered = |why: &dyn std::fmt::Display| {
        format!(
            "[routing] socket: olsrd2 does not answer on port {port}: {why}; load its telnet and olsrv2info"
        )
    };
    let asked = async {
        let port: u16 = port.parse().map_err(std::io::Error::other)?;
        let mut stream = tokio::net::TcpStream::connect((std::net::Ipv4Addr::LOCALHOST, port)).await?;
        stream.write_all(olsrv2::QUESTION).await?;
        let mut answer = String::new();
        stream.take(ANSWER_BYTES).read_to_string(&mut answer).await?;
        Ok::<_, std::io::Error>(answer)
    };
    let answer = tokio::time::timeout(PATIENCE, asked).await.map_err(|late| unanswered(&late))?;
    let answer = answer.map_err(|why| unanswered(&why))?;
    olsrv2::parse(&answer).ok_or_else(|| unanswered(&"what it says are no routes"))
}

/// The kernel's main table. It has next hops but neither costs nor hops: a destination on a link costs 1, and
/// one behind a router costs its priority, or 2.
fn kernel() -> Result<Vec<Route>, String> {
    let connection = Connection::open().map_err(|why| format!("no netlink socket for the routes: {why}"))?;
    let mut routes = Vec::new();
    for family in [AddressFamily::Inet, AddressFamily::Inet6] {
        match connection.routes(family) {
            Ok(listed) => routes.extend(listed.iter().filter_map(route_of)),
            Err(why) if family == AddressFamily::Inet6 => tracing::debug!("no IPv6 routes: {why}"),
            Err(why) => return Err(format!("the kernel does not list its routes: {why}")),
        }
    }
    Ok(routes)
}

fn route_of(message: &RouteMessage) -> Option<Route> {
    let table = message.attributes.iter().find_map(|attribute| match attribute {
        RouteAttribute::Table(table) => Some(*table),
        _ => None,
    });
    let table = table.unwrap_or_else(|| u32::from(message.header.table));
    if table != u32::from(RouteHeader::RT_TABLE_MAIN) || message.header.kind != RouteType::Unicast {
        return None;
    }
    let address = |address: &RouteAddress| match address {
        RouteAddress::Inet(address) => Some(IpAddr::V4(*address)),
        RouteAddress::Inet6(address) => Some(IpAddr::V6(*address)),
        _ => None,
    };
    let any: IpAddr = match message.header.address_family {
        AddressFamily::Inet => std::net::Ipv4Addr::UNSPECIFIED.into(),
        _ => std::net::Ipv6Addr::UNSPECIFIED.into(),
    };
    let (mut to, mut next_hop, mut interface, mut priority) = (any, None, 0, 0);
    for attribute in &message.attributes {
        match attribute {
            RouteAttribute::Destination(destination) => to = address(destination)?,
            RouteAttribute::Gateway(gateway) => next_hop = address(gateway),
            RouteAttribute::Oif(index) => interface = *index,
            RouteAttribute::Priority(given) => priority = *given,
            _ => {}
        }
    }
    let to = IpNet::new(to, message.header.destination_prefix_length).ok()?;
    let metric = match next_hop {
        None => 1.0,
        Some(_) => f64::from(priority.max(2)),
    };
    Some(Route { to, next_hop, via: next_hop, interface, metric, hops: None })
}
