//! Each fault in `scripts/faults` can still be put back in. `make faults` expects that tests find it.

use std::fs;
use std::process::Command;

use crate::workspace;

#[test]
fn patches_of_faults_apply_and_name_their_test() {
    let mut patches = 0;
    for entry in fs::read_dir(workspace().join("scripts/faults")).unwrap() {
        let patch = entry.unwrap().path();
        let text = fs::read_to_string(&patch).unwrap();
        assert!(text.starts_with("# test: "), "{}: its first line names no test", patch.display());
        let check = ["apply", "--check"];
        let applied = Command::new("git").args(check).arg(&patch).current_dir(workspace()).output().unwrap();
        let why = String::from_utf8_lossy(&applied.stderr);
        assert!(applied.status.success(), "{} does not apply: {why}", patch.display());
        patches += 1;
    }
    assert!(patches > 0, "there are no patches");
}
