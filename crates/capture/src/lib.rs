//! Captures: reading them, and what each method of redundancy elimination would save on them.
