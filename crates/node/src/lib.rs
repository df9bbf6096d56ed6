//! The sans-IO node: sessions, keys, queues, receipts, and the stages between a packet and the air.
