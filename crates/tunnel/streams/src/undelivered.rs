//! Messages of routers that a packet of ours did not reach its host.

use crate::streams::Streams;
use crate::tcp::Undelivered;
use std::time::Duration;
use wire::inner::{Flow, TCP};

impl Streams {
    /// Takes a message about a packet for a stream's host. The other host did not send it, and could make
    /// nothing of the message. `false`: it is about none.
    pub(crate) fn take_undelivered(&mut self, now: Duration, packet: &[u8]) -> bool {
        let Some(message) = Undelivered::parse(packet) else { return false };
        // streams are known by what the host sends
        let flow = Flow {
            source: message.host.ip(),
            destination: message.ours.ip(),
            protocol: TCP,
            source_port: message.host.port(),
            destination_port: message.ours.port(),
        };
        let Some(&name) = self.by_flow.get(&flow) else { return false };
        if let Some(connection) = self.streams.get_mut(&name).and_then(|stream| stream.connection.as_mut()) {
            connection.handle_undelivered(now, &message);
            self.step_soon(now, name);
        }
        true
    }
}
