//! Forbidden and permitted actions of each profile, in a process of its own.

use super::*;
use crate::revocations::Revocations;
use crate::sandbox::rights;
use rustix::net::{AddressFamily, SocketType, socket};
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Environment variable with the child's folder.
const FOLDER: &str = "OVERHEARD_TEST_FOLDER";

/// Runs one of the tests below, which are otherwise ignored, in a process of its own.
fn in_a_child(test: &str) {
    let folder = tempfile::TempDir::new().unwrap();
    for name in ["ours", "others", "written"] {
        fs::create_dir(folder.path().join(name)).unwrap();
        fs::write(folder.path().join(name).join("key"), "secret").unwrap();
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    let test = format!("sandbox::tests::{test}");
    let output = command
        .args([test.as_str(), "--exact", "--ignored", "--nocapture", "--test-threads=1"])
        .env(FOLDER, folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

/// The folder, under a profile's restrictions; `None` if the kernel has none.
fn held(profile: Profile) -> Option<PathBuf> {
    let folder = PathBuf::from(std::env::var_os(FOLDER)?);
    let mut files = Files::default();
    files.read_beside(&folder.join("ours/key"));
    files.write_beside(&folder.join("written/socket"));
    enter(profile, &files);
    if is_entered() {
        return Some(folder);
    }
    eprintln!("skipped: this kernel has no Landlock");
    None
}

/// Actions that both profiles permit.
fn passes(folder: &Path) {
    assert_eq!(fs::read_to_string(folder.join("ours/key")).unwrap(), "secret");
    assert!(fs::read_to_string("/proc/self/status").is_ok());
    // Traffic over both kinds of sockets and between threads.
    let (here, there) = (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
    here.send_to(b"datagram", there.local_addr().unwrap()).unwrap();
    assert_eq!(there.recv(&mut [0; 16]).unwrap(), 8);
    let door = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = door.local_addr().unwrap();
    let server = std::thread::spawn(move || door.accept().unwrap().0.write_all(b"stream").unwrap());
    let mut text = String::new();
    TcpStream::connect(address).unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text, "stream");
    server.join().unwrap();
    // A status socket, removed at the end.
    let socket = folder.join("written/socket");
    drop(UnixListener::bind(&socket).unwrap());
    fs::remove_file(&socket).unwrap();
}

/// Actions that both profiles forbid.
fn is_held(folder: &Path) {
    for file in [folder.join("others/key"), "/root".into(), "/home".into(), "/usr/bin/env".into()] {
        assert!(fs::File::open(&file).is_err(), "{}", file.display());
    }
    assert!(fs::write(folder.join("ours/key"), "").is_err());
    assert!(fs::write("/etc/overheard-was-here", "").is_err());
    assert!(Command::new("/bin/sh").arg("-c").arg("true").status().is_err(), "no shell");
    assert!(socket(AddressFamily::VSOCK, SocketType::STREAM, None).is_err());
    assert!(rights::keep(rights::OF_A_CACHE).is_ok(), "rights can be given up all the same");
}

#[test]
#[ignore = "a_node_is_held runs it in a process of its own"]
fn as_a_node() {
    let Some(folder) = held(Profile::Tunnel) else { return };
    passes(&folder);
    is_held(&folder);
    // It may execute itself again, and stays restricted.
    let itself = Command::new("/proc/self/exe").arg("--list").output();
    assert!(itself.unwrap().status.success());
    enter(Profile::Tunnel, &Files::default());
    passes(&folder);
    // It stores revoked keys.
    let revocations = Revocations::at(folder.join("written/oh0.revoked"));
    revocations.add(&node::PublicKey::from_bytes([1; 32]), "roof").unwrap();
    fs::remove_file(revocations.file()).unwrap();
}

#[test]
#[ignore = "a_cache_is_held runs it in a process of its own"]
fn as_a_cache() {
    let Some(folder) = held(Profile::Cache) else { return };
    passes(&folder);
    is_held(&folder);
    assert!(Command::new("/proc/self/exe").arg("--list").status().is_err(), "nor itself");
    assert!(socket(AddressFamily::PACKET, SocketType::RAW, None).is_err());
    // Its store.
    let (one, other) = (folder.join("written/one"), folder.join("written/other"));
    fs::write(&one, "chunk").unwrap();
    fs::rename(&one, &other).unwrap();
    fs::File::open(&other).unwrap().sync_all().unwrap();
    fs::remove_file(&other).unwrap();
}

#[test]
fn a_node_is_held() {
    in_a_child("as_a_node");
}

#[test]
fn a_cache_is_held() {
    in_a_child("as_a_cache");
}
