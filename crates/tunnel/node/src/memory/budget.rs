//! The budget that nodes share.

use super::division::{Account, divide, shares};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, TryLockError};

/// The part of a budget that stays free: what is beside stores grows between two looks at it.
const SPARE_SHARE: usize = 32;
/// An allocator takes this share more than it gives: it rounds up, and has holes between buffers.
const ALLOCATOR_SHARE: usize = 5;

/// The memory of all nodes of a process.
#[derive(Debug, Clone)]
pub struct Budget(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    bytes: AtomicUsize,
    books: Mutex<Vec<Book>>,
}

/// What one node holds.
#[derive(Debug, Default)]
struct Book {
    /// Bytes beside stores.
    others: usize,
    /// The node's accounts; each holds what it may from now on, or more.
    accounts: Vec<Account>,
}

/// What a store may hold, in bytes of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance {
    /// From now on.
    pub bytes: usize,
    /// If its peer kept as much.
    pub wish: usize,
}

impl Budget {
    /// A budget that so many nodes share.
    #[must_use]
    pub fn new(bytes: usize, nodes: usize) -> Self {
        let books = (0..nodes.max(1)).map(|_| Book::default()).collect();
        Budget(Arc::new(Shared { bytes: AtomicUsize::new(bytes), books: Mutex::new(books) }))
    }

    /// Bytes of all nodes together.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.0.bytes.load(Ordering::Relaxed)
    }

    /// Sets them. Nodes follow as they settle.
    pub fn set_bytes(&self, bytes: usize) {
        self.0.bytes.store(bytes, Ordering::Relaxed);
    }

    /// Node `node` holds `accounts`, and `others` bytes beside stores: what each account may hold from now
    /// on. `None`: another node settles just now; ask again soon.
    #[must_use]
    pub fn settle(&self, node: usize, others: usize, accounts: &[Account]) -> Option<Vec<Allowance>> {
        let mut books = match self.0.books.try_lock() {
            Ok(books) => books,
            Err(TryLockError::Poisoned(books)) => books.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        if let Some(book) = books.get_mut(node) {
            book.others = others;
            book.accounts.clear();
            book.accounts.extend_from_slice(accounts);
        }
        let bytes = self.bytes();
        let beside: usize = books.iter().map(|book| book.others).sum();
        let pool = (bytes - bytes / SPARE_SHARE).saturating_sub(beside + beside / ALLOCATOR_SHARE);
        let all: Vec<Account> = books.iter().flat_map(|book| book.accounts.iter().copied()).collect();
        let first: usize = books.iter().take(node).map(|book| book.accounts.len()).sum();
        let next = divide(pool, &all);
        let wishes = shares(pool, &all, |it| it.most_alone);
        let allowances: Vec<Allowance> = next
            .iter()
            .zip(&wishes)
            .skip(first)
            .take(accounts.len())
            .map(|(bytes, wish)| Allowance { bytes: *bytes, wish: (*wish).max(*bytes) })
            .collect();
        if let Some(book) = books.get_mut(node) {
            for (account, allowance) in book.accounts.iter_mut().zip(&allowances) {
                account.held = account.held.max(allowance.bytes);
            }
        }
        Some(allowances)
    }

    /// What all nodes hold as they settled last: stores by their bounds, and the rest. In bytes.
    #[must_use]
    pub fn held(&self) -> (usize, usize) {
        let books = self.0.books.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let stores = books.iter().flat_map(|book| &book.accounts).map(|account| account.held).sum();
        (stores, books.iter().map(|book| book.others).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_share_a_budget_and_one_grows_as_the_other_gives_back() {
        let budget = Budget::new(64 << 20, 2);
        let most = 1 << 30;
        let busy =
            |held| Account { held, weight: 1e6, most, most_alone: most, is_active: true, is_busy: true };
        let idle = |held| Account { weight: 0.0, is_active: false, ..busy(held) };
        let all = |node, account: Account| budget.settle(node, 1 << 20, &[account]).unwrap()[0].bytes;
        let first = all(0, busy(1 << 20));
        assert!(first > 55 << 20, "{first}");
        let second = all(1, busy(0));
        assert!(second < 4 << 20, "the other one holds nearly all: {second}");
        let given = all(0, idle(first));
        assert!(given < 2 << 20, "{given}");
        assert!(all(1, busy(second)) < 6 << 20, "it still holds it");
        all(0, idle(given));
        assert!(all(1, busy(second)) > 50 << 20);
        let (stores, others) = budget.held();
        assert!(stores + others <= 64 << 20 && others == 2 << 20, "{stores} {others}");
        budget.set_bytes(32 << 20);
        assert!(all(1, busy(55 << 20)) < 32 << 20);
    }
}
