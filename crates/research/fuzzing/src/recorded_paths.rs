//! Tables of recorded receptions.

use crate::Seed;
use air::receptions::read_paths;

/// Every path has receptions and no name holds a comma; written down they read the same.
pub fn check(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let Ok(paths) = read_paths(text) else { return false };
    let mut table = String::from("transmitter,receiver,receptions\n");
    for path in &paths {
        assert!(path.receptions.len() > 0 && (0.0..=1.0).contains(&path.receptions.delivery()));
        assert_eq!(path.receptions.received(path.receptions.len() as u64), path.receptions.received(0));
        assert!(!path.transmitter.contains(',') && !path.receiver.contains(','));
        table += &format!("{},{},{}\n", path.transmitter, path.receiver, path.receptions);
    }
    assert_eq!(read_paths(&table), Ok(paths));
    true
}

/// With and without a heading, and with columns between.
pub fn seeds() -> Vec<Seed> {
    [
        ("heading", "tx,rx,bits\nnode1,node2,110111\nnode2,node1,1\n"),
        ("no-heading", "a,b,0101\r\nb,a,1111\r\n"),
        ("columns-between", "a,b,0.75,-61,1101\n\nb,c,0.25,-80,0001"),
    ]
    .into_iter()
    .map(|(name, text)| Seed::of(name, |out| out.extend_from_slice(text.as_bytes())))
    .collect()
}
