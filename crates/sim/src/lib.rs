//! Nodes and air in one process and in virtual time.
