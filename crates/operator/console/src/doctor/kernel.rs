//! The kernel's features beyond TUN: packet sockets, firewall, namespaces, BPF.

use super::{Finding, State};
use boost::{Controller, Wrapped};
use socket2::{Domain, Socket, Type};
use std::io::Write;
use std::process::{Command, Stdio};

pub fn examine() -> Vec<Finding> {
    vec![packet_socket(), namespaces(), nftables(), tproxy(), boost()]
}

fn packet_socket() -> Finding {
    let made = Socket::new(Domain::PACKET, Type::RAW, None);
    let (state, detail) = match &made {
        Ok(_) => (State::Present, "opened a packet socket".to_owned()),
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            (State::Absent, "no right to open a packet socket".to_owned())
        }
        Err(error) => (State::Absent, format!("no packet socket: {error}")),
    };
    Finding::new("AF_PACKET", state, detail).without(
        "other stations' frames cannot be overheard",
        "run as root, or setcap cap_net_raw+ep the program",
    )
}

/// The prefix that runs a program in new namespaces: as the current user, or as root of a new user namespace.
fn unshare() -> Option<&'static [&'static str]> {
    const AS_ROOT: &[&str] = &["-n"];
    const ROOTLESS: &[&str] = &["-Urn"];
    [AS_ROOT, ROOTLESS].into_iter().find(|flags| {
        let mut command = Command::new("unshare");
        command.args(*flags).arg("true").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    })
}

fn namespaces() -> Finding {
    let (present, detail) = match unshare() {
        Some(["-n"]) => (true, "made one"),
        Some(_) => (true, "made one in a user namespace"),
        None => (false, "unshare cannot make one"),
    };
    Finding::new("network namespaces", present, detail).without(
        "nftables and TPROXY cannot be tried, and the laboratory cannot run on this kernel",
        "run as root; apt install util-linux",
    )
}

/// Whether the kernel accepts these rules, in a namespace of their own without side effects.
fn takes_rules(rules: &str) -> Result<(), String> {
    let flags = unshare().ok_or("no namespace to try it in")?;
    let mut child = Command::new("unshare")
        .args(flags)
        .args(["nft", "-f", "-"])
        .env("PATH", super::search_path())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    if let Some(mut stdin) = child.stdin.take() {
        // A failed nft does not read its input.
        let _ = stdin.write_all(rules.as_bytes());
    }
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(said.lines().next().unwrap_or("nft failed").to_owned())
}

fn tried(name: &'static str, rules: &str) -> Finding {
    match takes_rules(rules) {
        Ok(()) => Finding::new(name, true, "the kernel takes the rules"),
        Err(why) => Finding::new(name, false, why),
    }
}

fn nftables() -> Finding {
    tried(
        "nftables",
        "table inet doctor { chain c { type filter hook forward priority 0; tcp flags syn drop; }; }",
    )
    .without(
        "the transparent web cache cannot take over connections; the tunnel needs none",
        "apt install nftables; a kernel with CONFIG_NF_TABLES",
    )
}

fn tproxy() -> Finding {
    tried(
        "TPROXY",
        "table ip doctor { chain c { type filter hook prerouting priority -150; \
        meta l4proto tcp socket transparent 1 accept; meta l4proto tcp tproxy to :1 accept; }; }",
    )
    .without(
        "the transparent web cache cannot take over connections",
        "apt install nftables; a kernel with CONFIG_NFT_TPROXY and CONFIG_NFT_SOCKET",
    )
}

/// Loads the programs and drops them.
#[must_use]
pub fn boost() -> Finding {
    let (present, detail) = match (Controller::load(Wrapped::Cubic), Wrapped::usual()) {
        (Err(why), _) => (false, why.to_string()),
        (Ok(controller), usual) => {
            let end = if controller.ends_with_process() {
                ""
            } else {
                ", before 6.4: what a killed process leaves is removed at the next start"
            };
            let said = match usual {
                Ok(wrapped) => format!("the kernel takes the programs{end}; connections here use {wrapped}"),
                Err(why) => {
                    format!(
                        "the kernel takes the programs{end}; for `boost = true`, also set [tunnel] boost_control: {why}"
                    )
                }
            };
            (true, said)
        }
    };
    Finding::new("BPF struct_ops for TCP", present, detail).without(
        "saved bytes do not speed up TCP's congestion control on this host",
        "run as root on Linux 5.15 or newer with CONFIG_DEBUG_INFO_BTF and CONFIG_BPF_JIT (Debian's has both)",
    )
}
