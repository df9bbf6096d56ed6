//! Datagrams of other caches.

use std::net::SocketAddr;
use tokio::net::UdpSocket;

/// Receives a datagram. Returns its length, truncated to the buffer's, and its sender. An error belongs to an
/// earlier datagram that could not be delivered, and is ignored.
pub async fn receive(socket: &UdpSocket, buffer: &mut [u8]) -> (usize, SocketAddr) {
    loop {
        match socket.recv_from(buffer).await {
            Ok(received) => return received,
            Err(_) => tokio::task::yield_now().await,
        }
    }
}
