//! Lines on standard output and standard error, either of which may be a closed pipe.
//!
//! `println!` and `eprintln!` panic on a closed pipe. Both programs therefore print only by
//! [`say!`](crate::say) and [`hint!`](crate::hint), and clippy enforces that.

use std::fmt::Arguments;
use std::io::{self, Write};

/// Prints a line on standard output.
///
/// # Errors
///
/// [`io::ErrorKind::BrokenPipe`] if the reader has closed the output, which [`conclude`](crate::conclude)
/// treats as success.
pub fn say(line: Arguments<'_>) -> io::Result<()> {
    writeln!(io::stdout().lock(), "{line}")
}

/// Prints a line on standard error, and ignores a closed pipe.
pub fn hint(line: Arguments<'_>) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// Prints a line on standard output, as `println!` does. Its value is that of
/// [`output::say`](crate::output::say).
#[macro_export]
macro_rules! say {
    ($($part:tt)*) => { $crate::output::say(::std::format_args!($($part)*)) };
}

/// Prints a line on standard error, as `eprintln!` does.
#[macro_export]
macro_rules! hint {
    ($($part:tt)*) => { $crate::output::hint(::std::format_args!($($part)*)) };
}
