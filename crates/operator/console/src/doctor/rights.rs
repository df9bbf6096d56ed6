//! Whether this process may create devices and change routes.

use super::{Finding, State};
use rustix::thread::CapabilitySet;
use std::path::Path;

pub fn examine() -> Vec<Finding> {
    vec![tun_node(), tun_right(), net_admin()]
}

fn tun_node() -> Finding {
    let present = Path::new("/dev/net/tun").exists();
    let detail = if present { "/dev/net/tun" } else { "there is no /dev/net/tun" };
    Finding::new("TUN device node", present, detail)
        .without(
            "`overheard up` and the lab have no device to carry packets through",
            "modprobe tun; in a container, give it --device /dev/net/tun",
        )
        .for_up()
}

fn tun_right() -> Finding {
    let (state, detail) = match io::tun::may_create() {
        Ok(()) => (State::Present, "made one and removed it".to_owned()),
        Err(error @ (io::Error::NoTunRight | io::Error::NoTunDevice)) => (State::Absent, error.to_string()),
        Err(error) => (State::Unknown, error.to_string()),
    };
    Finding::new("right to make a TUN", state, detail)
        .without(
            "`overheard up` and the lab cannot start",
            "run as root, or setcap cap_net_admin+ep the program",
        )
        .for_up()
}

fn net_admin() -> Finding {
    let (state, detail) = match effective() {
        Some(set) if set.contains(CapabilitySet::NET_ADMIN) => (State::Present, "CAP_NET_ADMIN is effective"),
        Some(_) => (State::Absent, "CAP_NET_ADMIN is not effective"),
        None => (State::Unknown, "the capabilities cannot be read"),
    };
    Finding::new("right to set routes", state, detail)
        .without(
            "`overheard up` cannot set addresses, routes and rules",
            "run as root, or setcap cap_net_admin+ep the program",
        )
        .for_up()
}

/// The capabilities in force for this process.
pub fn effective() -> Option<CapabilitySet> {
    rustix::thread::capabilities(None).ok().map(|sets| sets.effective)
}
