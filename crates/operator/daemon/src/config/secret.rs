//! Reads secrets into memory that is wiped afterwards.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use zeroize::Zeroizing;

/// The longest key or token, in bytes.
const LONGEST: usize = 4096;

/// A file's bytes. The buffer never grows, because that would leave a copy behind.
///
/// # Errors
///
/// The system's error; [`io::ErrorKind::FileTooLarge`] above 4096 bytes.
pub fn read(file: &Path) -> io::Result<Zeroizing<Vec<u8>>> {
    let mut bytes = Zeroizing::new(vec![0; LONGEST + 1]);
    let (mut file, mut length) = (File::open(file)?, 0);
    loop {
        match file.read(&mut bytes[length..]) {
            Ok(0) if length > LONGEST => return Err(io::ErrorKind::FileTooLarge.into()),
            Ok(0) => break,
            Ok(read) => length += read,
            Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
            Err(why) => return Err(why),
        }
    }
    bytes.truncate(length);
    Ok(bytes)
}

/// A file's text, as [`read`] reads it.
///
/// # Errors
///
/// As [`read`]; [`io::ErrorKind::InvalidData`] if it is not UTF-8.
pub fn read_text(file: &Path) -> io::Result<Zeroizing<String>> {
    let bytes = read(file)?;
    let text = std::str::from_utf8(&bytes).map_err(|why| io::Error::new(io::ErrorKind::InvalidData, why))?;
    Ok(Zeroizing::new(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_whole_and_one_that_is_too_long_not_at_all() {
        let folder = tempfile::TempDir::new().unwrap();
        let file = folder.path().join("key");
        for length in [0, 1, LONGEST] {
            std::fs::write(&file, vec![b'a'; length]).unwrap();
            assert_eq!(read_text(&file).unwrap().len(), length);
        }
        std::fs::write(&file, vec![b'a'; LONGEST + 1]).unwrap();
        assert_eq!(read(&file).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    }
}
