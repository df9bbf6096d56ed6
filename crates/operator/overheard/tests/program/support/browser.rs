//! A page in a browser.

use super::has;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// A page in a browser after a while of requests and drawing, and all of the browser's complaints. Its
/// screenshot is in `picture`. `None` without a browser.
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
