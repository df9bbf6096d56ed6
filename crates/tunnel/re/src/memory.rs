//! Memory of a direction's two ends.

use crate::store::receiver_bytes;

/// Memory beside stores: tables of the smallest size, and buffers of the longest packet.
pub const FIXED_BYTES: usize = 256 << 10;

/// The most bytes of memory of a sender with a full store of `store_bytes`, its index included.
#[must_use]
pub fn of_sender(store_bytes: usize) -> usize {
    FIXED_BYTES + store_bytes + store_bytes / 4
}

/// The most bytes of memory of the receiver for such a sender.
#[must_use]
pub fn of_receiver(store_bytes: usize) -> usize {
    let receiver_bytes = receiver_bytes(store_bytes);
    FIXED_BYTES + receiver_bytes + receiver_bytes / 10
}

/// The largest store whose memory on a sender has at most `memory_bytes`.
#[must_use]
pub fn senders_store(memory_bytes: usize) -> usize {
    memory_bytes.saturating_sub(FIXED_BYTES) / 5 * 4
}

/// The largest store whose memory on a receiver has at most `memory_bytes`.
#[must_use]
pub fn receivers_store(memory_bytes: usize) -> usize {
    let receiver_bytes = memory_bytes.saturating_sub(FIXED_BYTES) / 11 * 10;
    (receiver_bytes / 9 * 8).min(receiver_bytes.saturating_sub(receiver_bytes_surplus()))
}

/// The least surplus of a receiver over its sender.
fn receiver_bytes_surplus() -> usize {
    receiver_bytes(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_fits_the_memory_that_it_was_computed_from() {
        for memory_bytes in [0, 1 << 20, 3 << 20, 100 << 20, 1 << 30] {
            let (sent, received) = (senders_store(memory_bytes), receivers_store(memory_bytes));
            assert!(of_sender(sent) <= memory_bytes.max(FIXED_BYTES), "{memory_bytes}");
            assert!(of_receiver(received) <= memory_bytes.max(of_receiver(0)), "{memory_bytes}");
            if memory_bytes >= 3 << 20 {
                assert!(sent > memory_bytes / 2 && received > memory_bytes / 2, "{memory_bytes}");
            }
        }
    }
}
