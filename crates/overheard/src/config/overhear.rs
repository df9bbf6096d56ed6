//! Where a node listens to what is sent to others.

use super::Mistake;
use super::file::File;
use std::net::SocketAddr;
use std::path::Path;

/// What `[overhear]` means in the file at `path`: the peers' ports are those that others are reached from, too.
pub fn overhear(path: &Path, file: &File, endpoints: &[SocketAddr]) -> Result<Option<io::Overhear>, Mistake> {
    let Some(overhear) = &file.overhear else { return Ok(None) };
    let mistake = |what: String| Mistake::at(path, "[overhear] interface", what);
    let interface = overhear.interface.clone();
    if interface == file.tunnel.interface {
        let what = format!("{interface} is the tunnel itself; name the interface on which others are heard");
        return Err(mistake(what));
    }
    if !io::tun::is_name(&interface) {
        return Err(mistake(io::Error::InterfaceName(interface).to_string()));
    }
    Ok(Some(io::Overhear { interface, ports: endpoints.iter().map(SocketAddr::port).collect() }))
}
