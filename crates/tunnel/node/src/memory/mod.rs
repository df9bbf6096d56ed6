//! Memory: one budget for all that a node keeps, and its division among the stores of its peers.
//!
//! Each store has an [`Account`]: the memory that it may take, and the weight of what it did lately. A
//! [`Budget`] adds up what all accounts hold and what else the node keeps. About each second, or more
//! often, a node [settles](Budget::settle): it says what is held, and learns what each of its stores may hold
//! from now on. A store grows only into memory that no other one holds, so the sum never exceeds the budget.
//! Nodes that share a budget, one for each thread, settle one after the other.

mod budget;
mod division;
mod queues;
mod share;
mod stores;
mod usage;

pub use budget::{Allowance, Budget};
pub use division::Account;
pub use queues::{queue_bytes, start_queue_bytes};
pub use share::Share;
pub use stores::{Kind, MOST_BOUND, start_bytes};
pub use usage::Usage;
