//! ARQ on the hop: receipts, retransmission, requests, and order.

pub mod delay;
pub mod losses;
pub mod nack;
pub mod receipts;
pub mod reorder;
pub mod sender;
