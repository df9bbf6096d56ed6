//! The papers' experiments, one file a figure or table.
