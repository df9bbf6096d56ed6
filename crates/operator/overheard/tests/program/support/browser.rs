//! What a browser makes of a page.

use super::has;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// A page as a browser has it once it has asked and drawn for a while, and everything that the browser
/// complained of; what it looks like is in `picture`, too. `None`: there is no browser.
pub fn browsed(url: &str, picture: &Path) -> Option<(String, Vec<String>)> {
    if !has("chromium", "chromium") {
        return None;
    }
    let profile = TempDir::new().unwrap();
    let browsed = Command::new("timeout")
        .args(["60", "chromium", "--headless", "--no-sandbox"])
        .args(["--disable-gpu", "--enable-logging=stderr", "--virtual-time-budget=6000", "--dump-dom"])
        .args(["--window-size=1320,1420", "--hide-scrollbars"])
        .arg(format!("--screenshot={}", picture.display()))
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(url)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&browsed.stderr);
    assert!(browsed.status.success(), "{said}");
    let complaints = said.lines().filter(|line| line.contains(":CONSOLE")).map(str::to_owned).collect();
    Some((String::from_utf8(browsed.stdout).unwrap(), complaints))
}
