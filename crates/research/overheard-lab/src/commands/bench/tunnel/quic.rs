//! A stream of QUIC from station to gateway, by quinn as it is by default, timed where it arrives.

use super::super::gigabits_per_second;
use super::bulk::{PATIENCE, PIECE_BYTES, WARM_UP};
use super::ground::{Ground, Way};
use anyhow::Context;
use quinn::rustls::RootCertStore;
use quinn::rustls::pki_types::PrivatePkcs8KeyDer;
use quinn::{
    ClientConfig, Connection, Endpoint, EndpointConfig, RecvStream, ServerConfig, TokioRuntime, VarInt,
};
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// The server's name in its certificate.
const NAME: &str = "gateway";
/// The receiver has seen enough.
const ENOUGH: VarInt = VarInt::from_u32(0);

/// Gbit/s of `content` that a connection takes from station to gateway, over `time`.
pub fn rate(ground: &Ground, way: Way, content: &[u8], time: Duration) -> anyhow::Result<f64> {
    let (server, client) = configurations()?;
    let bind = |address: SocketAddr| UdpSocket::bind(address).context("bind a socket");
    let to = ground.gateway.enter(|| bind(SocketAddr::new(way.gateway(), 0)))??;
    let from = ground.station.enter(|| bind(SocketAddr::from(([0, 0, 0, 0], 0))))??;
    let address = to.local_addr()?;
    std::thread::scope(|scope| {
        let sender = scope.spawn(move || until_done(send(from, client, address, content)));
        let received = until_done(receive(to, server, time));
        let sent = sender.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        sent.and(received).with_context(|| format!("QUIC by {way} failed"))
    })
}

/// A server with a certificate of its own, and a client that trusts no other.
fn configurations() -> anyhow::Result<(ServerConfig, ClientConfig)> {
    let made = rcgen::generate_simple_self_signed([NAME.to_owned()])?;
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let certificate = made.cert.der().clone();
    let mut trusted = RootCertStore::empty();
    trusted.add(certificate.clone())?;
    let server = ServerConfig::with_single_cert(vec![certificate], key.into())?;
    Ok((server, ClientConfig::with_root_certificates(Arc::new(trusted))?))
}

fn until_done<T>(future: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(future)
}

fn endpoint(socket: UdpSocket, server: Option<ServerConfig>) -> anyhow::Result<Endpoint> {
    Ok(Endpoint::new(EndpointConfig::default(), server, socket, Arc::new(TokioRuntime))?)
}

/// Sends until the receiver closes the connection.
async fn send(socket: UdpSocket, client: ClientConfig, to: SocketAddr, content: &[u8]) -> anyhow::Result<()> {
    let endpoint = endpoint(socket, None)?;
    let connection = timeout(PATIENCE, endpoint.connect_with(client, to, NAME)?).await??;
    let mut stream = connection.open_uni().await?;
    for piece in content.chunks(PIECE_BYTES).cycle() {
        if timeout(PATIENCE, stream.write_all(piece)).await.context("nothing arrives")?.is_err() {
            break;
        }
    }
    let _ = timeout(PATIENCE, endpoint.wait_idle()).await;
    Ok(())
}

/// Gbit/s of what arrives after the warm-up.
async fn receive(socket: UdpSocket, server: ServerConfig, time: Duration) -> anyhow::Result<f64> {
    let endpoint = endpoint(socket, Some(server))?;
    let coming = timeout(PATIENCE, endpoint.accept()).await.context("nobody connects")?;
    let connection = coming.context("the socket is closed")?.await?;
    let rate = counted(&connection, time).await;
    connection.close(ENOUGH, b"");
    let _ = timeout(PATIENCE, endpoint.wait_idle()).await;
    rate
}

async fn counted(connection: &Connection, time: Duration) -> anyhow::Result<f64> {
    let mut stream = timeout(PATIENCE, connection.accept_uni()).await.context("no stream begins")??;
    let start = Instant::now();
    while start.elapsed() < WARM_UP {
        arrived_bytes(&mut stream).await?;
    }
    let (start, mut bytes) = (Instant::now(), 0);
    while start.elapsed() < time {
        bytes += arrived_bytes(&mut stream).await?;
    }
    Ok(gigabits_per_second(bytes, start.elapsed()))
}

/// Waits for more of the stream.
async fn arrived_bytes(stream: &mut RecvStream) -> anyhow::Result<usize> {
    let chunk = timeout(PATIENCE, stream.read_chunk(usize::MAX, true)).await.context("nothing arrives")??;
    Ok(chunk.context("the sender ended the stream")?.bytes.len())
}
