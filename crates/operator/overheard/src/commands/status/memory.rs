//! The budget of memory, and who has how much of it.

use console::{Table, bytes};
use std::io::Write;

/// Prints the stores of each peer, and the budget, on a node that has one.
pub fn print(out: &mut impl Write, node: &node::Status) -> std::io::Result<()> {
    let Some(memory) = &node.memory else { return Ok(()) };
    let rows: Vec<_> = node.peers.iter().filter_map(MemoryRow::of).collect();
    if !rows.is_empty() {
        Table::of(rows).write(out)?;
    }
    let count = |count: usize| bytes(count as u64);
    let (taken, beside) = (count(memory.store_bytes), count(memory.other_bytes));
    let (held, budget) = (count(memory.held_bytes), count(memory.budget_bytes));
    writeln!(
        out,
        "memory:          {taken} in stores, which may take {held}, and {beside} beside them, of {budget}\n"
    )
}

console::row! {
    /// One row for each peer with a session, on a node with `[memory]`. Each column has the bytes in memory,
    /// with all tables, and the bound of the store now. Both ends agree on the bounds.
    struct MemoryRow {
        /// The name of the peer.
        memory: String,
        /// The store of packets to the peer.
        to_the_peer: String,
        /// The store of packets from the peer.
        from_the_peer: String,
        /// The store of records of streams to the peer. `-` without streams.
        records_to_it: String,
        /// The store of records of streams from the peer. `-` without streams.
        records_from_it: String,
        /// Bytes to the peer that repeated what had left the stores. Larger stores would save most of them:
        /// see `[memory] mib`. It is an estimate.
        came_too_late: String,
    }
}

impl MemoryRow {
    fn of(peer: &node::PeerStatus) -> Option<Self> {
        let it = peer.stores?;
        let of = |memory: usize, bound: usize| match bound {
            0 if memory == 0 => "-".to_owned(),
            _ => format!("{} of {}", bytes(memory as u64), bytes(bound as u64)),
        };
        Some(MemoryRow {
            memory: peer.name.clone(),
            to_the_peer: of(it.sent_memory_bytes, it.sent_bound_bytes),
            from_the_peer: of(it.received_memory_bytes, it.received_bound_bytes),
            records_to_it: of(it.sent_records_memory_bytes, it.sent_records_bound_bytes),
            records_from_it: of(it.received_records_memory_bytes, it.received_records_bound_bytes),
            came_too_late: bytes(it.departed_bytes),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::*;

    #[test]
    fn each_peer_has_its_part_and_a_node_without_a_budget_has_none() {
        let peer = |name: &str, stores: serde_json::Value| fixture::peer(name, "stores", stores);
        let stores = node::StoresStatus {
            sent_bound_bytes: 8_000_000,
            sent_memory_bytes: 2_000_000,
            received_bound_bytes: 1_000_000,
            departed_bytes: 700_000,
            ..Default::default()
        };
        let stores = serde_json::to_value(stores).expect("an object");
        let mut node = fixture::node(vec![peer("roof", stores), peer("yard", serde_json::Value::Null)]);
        node.memory = Some(node::MemoryStatus {
            budget_bytes: 64_000_000,
            held_bytes: 12_000_000,
            store_bytes: 2_000_000,
            other_bytes: 500_000,
        });
        let printed = |node: &node::Status| fixture::printed(|out| print(out, node));
        assert_eq!(
            printed(&node),
            [
                "MEMORY TO THE PEER FROM THE PEER RECORDS TO IT RECORDS FROM IT CAME TOO LATE",
                "roof 2.0 MB of 8.0 MB 0 B of 1.0 MB - - 700.0 kB",
                "memory: 2.0 MB in stores, which may take 12.0 MB, and 500.0 kB beside them, of 64.0 MB",
                "",
            ]
        );
        node.memory = None;
        assert_eq!(printed(&node), [""; 0]);
    }
}
