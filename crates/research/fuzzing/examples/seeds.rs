//! Writes every target's seeds to `fuzz/seeds`: `make seeds`.

use fuzzing::TARGETS;
use std::path::Path;
use std::{fs, io};

fn main() -> io::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fuzz/seeds");
    if root.exists() {
        fs::remove_dir_all(&root)?;
    }
    for target in TARGETS {
        let folder = root.join(target.name);
        fs::create_dir_all(&folder)?;
        for seed in (target.seeds)() {
            fs::write(folder.join(seed.name), seed.bytes)?;
        }
    }
    println!("wrote the seeds of {} targets", TARGETS.len());
    Ok(())
}
