//! A block of a buffer: one plain packet, one coded packet, or several rows over the same packets.

use crate::field;
use wire::coded::DIGEST_BYTES;

/// Packets and their sums: one row for XOR, or one row for each loss that is to be repaired.
#[derive(Debug, Default)]
pub(crate) struct Block {
    pub age: u64,
    pub group: Option<u64>,
    pub components: Vec<Component>,
    /// Headers of all components, one after another.
    pub headers: Vec<u8>,
    /// One sum ([`field`]) of the components' scaled payloads for each row. There are at most as many rows as
    /// packets in flight.
    pub rows: Vec<Vec<u8>>,
    /// The row of the next repair.
    pub turn: usize,
}

/// One packet in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Component {
    /// Start of its payload in the flow.
    pub start: u64,
    /// Its number in the flow.
    pub number: u64,
    /// Whether it has been delivered.
    pub delivered: bool,
    pub header_at: usize,
    pub header_bytes: usize,
    pub digest: [u8; DIGEST_BYTES],
}

impl Block {
    /// Bytes of rows, headers and records.
    pub fn bytes(&self) -> usize {
        self.names_bytes() + self.rows.iter().map(Vec::len).sum::<usize>()
    }

    /// Bytes of headers and records; a sum keeps one of each for every packet.
    pub fn names_bytes(&self) -> usize {
        self.headers.len() + self.components.len() * size_of::<Component>()
    }

    /// The numbers of its packets that are not known to have arrived.
    pub fn under_way(&self) -> impl Iterator<Item = u64> + Clone + '_ {
        self.components.iter().filter(|it| !it.delivered).map(|it| it.number)
    }

    /// Whether it is one plain packet.
    pub fn is_plain(&self) -> bool {
        self.components.len() == 1
    }

    /// Adds a packet to every row.
    pub fn add(&mut self, name: (u64, u64), header: &[u8], payload: &[u8], digest: [u8; DIGEST_BYTES]) {
        let (number, start) = name;
        for (row, sum) in self.rows.iter_mut().enumerate() {
            field::add_scaled(sum, payload, field::scale(row, number));
        }
        let header_at = self.headers.len();
        self.headers.extend_from_slice(header);
        let header_bytes = header.len();
        self.components.push(Component { start, number, delivered: false, header_at, header_bytes, digest });
    }

    /// Takes the names and headers of another block's packets. The caller combines the rows.
    pub fn take_components(&mut self, other: &Self) {
        let base = self.headers.len();
        self.headers.extend_from_slice(&other.headers);
        let moved = other.components.iter().map(|it| Component { header_at: it.header_at + base, ..*it });
        self.components.extend(moved);
        self.age = self.age.min(other.age);
    }

    /// Whether rows distinguish its packets from this one.
    pub fn spans(&self, number: u64) -> bool {
        self.components.iter().all(|it| it.number.abs_diff(number) < field::PLACES)
    }
}
