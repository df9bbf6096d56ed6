//! Datagrams of other caches.

use std::net::SocketAddr;
use tokio::net::UdpSocket;

/// The next datagram: its length, cut to the buffer's, and where it came from. An error is one of an earlier
/// datagram that could not be delivered; the socket is as good as before.
pub async fn receive(socket: &UdpSocket, buffer: &mut [u8]) -> (usize, SocketAddr) {
    loop {
        match socket.recv_from(buffer).await {
            Ok(received) => return received,
            Err(_) => tokio::task::yield_now().await,
        }
    }
}
