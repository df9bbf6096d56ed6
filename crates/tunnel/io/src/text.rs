//! The program's code and constants in resident memory.
//!
//! A start runs much code once, and the kernel maps the pages around each page that is touched. Released
//! pages stay in the system's page cache, and a later access maps them again.

#![allow(unsafe_code)] // Advice on memory is in no safe interface.

use rustix::mm::{Advice, madvise};
use std::ops::Range;

/// Unmaps the pages of files that this process has only read: its program and its libraries. It returns the
/// bytes that were resident. Without `/proc`, or with locked memory before Linux 5.18, they stay.
pub fn release() -> usize {
    let mut released = 0;
    for Mapping { addresses, resident } in own() {
        let address = std::ptr::without_provenance_mut(addresses.start);
        let is_released = [Advice::LinuxDontneedLocked, Advice::LinuxDontNeed].into_iter().any(|advice| {
            // SAFETY: The mapping is private, of a file, and without a page of this process's own. The next
            // access reads the same bytes from the file.
            unsafe { madvise(address, addresses.len(), advice) }.is_ok()
        });
        if is_released {
            released += resident;
        }
    }
    released
}

/// This process's mappings that it only reads; none without `/proc`.
fn own() -> Vec<Mapping> {
    only_read(&std::fs::read_to_string("/proc/self/smaps").unwrap_or_default())
}

#[derive(Debug, PartialEq, Eq)]
struct Mapping {
    addresses: Range<usize>,
    /// Bytes.
    resident: usize,
}

/// The private mappings of files in `/proc/PID/smaps` (proc(5)) that may not be written to and have no page
/// but the file's. A debugger's breakpoint makes such a page.
fn only_read(list: &str) -> Vec<Mapping> {
    let mut mappings = Vec::new();
    let mut current = None;
    for line in list.lines() {
        let mut words = line.split_ascii_whitespace();
        let (Some(name), Some(value)) = (words.next(), words.next()) else { continue };
        match (name, &mut current) {
            ("Rss:", Some(Mapping { resident, .. })) => {
                *resident = value.parse().unwrap_or(0) << 10;
            }
            ("Anonymous:", _) => {
                mappings.extend(current.take().filter(|_| value == "0"));
            }
            _ if !name.ends_with(':') => {
                let is_only_read = matches!(value, "r-xp" | "r--p");
                let is_of_a_file = words.nth(2).is_some_and(|inode| inode != "0");
                current = addresses(name).filter(|_| is_only_read && is_of_a_file);
            }
            _ => {}
        }
    }
    mappings
}

/// `5000-7000`, in hexadecimal.
fn addresses(range: &str) -> Option<Mapping> {
    let (start, end) = range.split_once('-')?;
    let address = |text| usize::from_str_radix(text, 16).ok();
    Some(Mapping { addresses: address(start)?..address(end)?, resident: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_that_are_not_written_to_are_found() {
        let list = "\
1000-3000 r--p 00000000 fe:00 326269                     /usr/bin/with space: and colon
Size:                  8 kB
Rss:                   4 kB
Anonymous:             0 kB
VmFlags: rd mr mw me
3000-5000 r-xp 00002000 fe:00 326269                     /usr/bin/program
Rss:                   8 kB
Anonymous:             4 kB
5000-7000 rw-p 00004000 fe:00 326269                     /usr/bin/program
Rss:                   8 kB
Anonymous:             0 kB
7000-9000 r--s 00004000 fe:00 326270                     /var/shared
Rss:                   8 kB
Anonymous:             0 kB
9000-b000 r-xp 00000000 00:00 0                          [vdso]
Rss:                   8 kB
Anonymous:             0 kB
ffff0000-ffff3000 r-xp 00000000 fe:00 12                 /usr/lib/library.so
Rss:                  12 kB
Anonymous:             0 kB
";
        let found = |addresses, resident| Mapping { addresses, resident };
        assert_eq!(only_read(list), [found(0x1000..0x3000, 4096), found(0xffff_0000..0xffff_3000, 3 * 4096)]);
    }

    #[test]
    fn the_program_runs_on_with_less_in_memory() {
        let resident = || own().iter().map(|mapping| mapping.resident).sum::<usize>();
        let before = resident();
        let released = release();
        // other tests of this process touch some of it at once
        assert!(released > before / 2, "{released} of {before}");
        assert!(resident() < before, "{before}");
    }
}
