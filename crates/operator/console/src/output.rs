//! Lines on standard output and standard error, either of which may be a pipe that nobody reads any more.
//!
//! `println!` and `eprintln!` panic there. Both programs print by [`say!`](crate::say) and
//! [`hint!`](crate::hint) alone, and clippy holds them to it.

use std::fmt::Arguments;
use std::io::{self, Write};

/// Prints a line on standard output.
///
/// # Errors
///
/// [`io::ErrorKind::BrokenPipe`] where the reader has had enough, which [`conclude`](crate::conclude) takes
/// for a good end.
pub fn say(line: Arguments<'_>) -> io::Result<()> {
    writeln!(io::stdout().lock(), "{line}")
}

/// Prints a line on standard error, as far as somebody reads it.
pub fn hint(line: Arguments<'_>) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// Prints a line on standard output, as `println!` does; its value is [`output::say`](crate::output::say)'s.
#[macro_export]
macro_rules! say {
    ($($part:tt)*) => { $crate::output::say(::std::format_args!($($part)*)) };
}

/// Prints a line on standard error, as `eprintln!` does.
#[macro_export]
macro_rules! hint {
    ($($part:tt)*) => { $crate::output::hint(::std::format_args!($($part)*)) };
}
