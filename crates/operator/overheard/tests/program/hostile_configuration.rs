//! Many damaged configurations: each one gives a sentence, and never a panic or a partly started node.

#![allow(clippy::unwrap_used)] // a test may fail by panicking

use crate::support::Site;
use fuzzing::mutation::mutate;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use std::os::unix::process::CommandExt;
use std::process::Command;

const DAMAGED: usize = 300;
/// User and group nobody, who cannot create a device, so that a valid configuration starts nothing either.
const NOBODY: u32 = 65_534;

#[test]
fn a_damaged_configuration_is_a_sentence() {
    let site = Site::new();
    let program = site.copy_of_program();
    let plain = format!("{}\n[reduce]\npolicy = \"acked\"\nform = \"compact\"\n", site.gateway());
    let root = rustix::process::geteuid().is_root();
    if root {
        for name in ["gateway", "gateway/private.key", "network.key", "."] {
            std::os::unix::fs::chown(site.path().join(name), Some(NOBODY), Some(NOBODY)).unwrap();
        }
    }
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let (mut in_toml, mut in_meaning) = (0, 0);
    for _ in 0..DAMAGED {
        let mut bytes = plain.clone().into_bytes();
        mutate(&mut bytes, plain.as_bytes(), &mut rng);
        std::fs::write(site.path().join("gateway.toml"), &bytes).unwrap();
        let mut command = Command::new(&program);
        command.args(["up", "gateway.toml"]).current_dir(site.path());
        if root {
            command.uid(NOBODY).gid(NOBODY);
        }
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.lines().last().unwrap_or_default();
        let sentence = last.starts_with("overheard: ") && !last.contains("panicked");
        let code = output.status.code();
        assert!(
            sentence && matches!(code, Some(1 | 2)),
            "{code:?}: {said}\n{}",
            String::from_utf8_lossy(&bytes)
        );
        *(if last.contains("gateway.toml:") && last.contains(": [") {
            &mut in_meaning
        } else {
            &mut in_toml
        }) += 1;
    }
    assert!(in_toml > 5 && in_meaning > 5, "damage to the form {in_toml}, to the meaning {in_meaning}");
}
