//! The shims of a reduced packet: which regions were removed and where the receiver finds them.
