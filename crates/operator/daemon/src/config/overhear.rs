//! Groups: content shared with overhearing stations, and the interface for overhearing.

use super::Mistake;
use super::file::{File, Overhear};
use node::Group;
use std::net::SocketAddr;
use std::path::Path;

/// Bytes of a slot in a full cache of a gateway.
const SLOT_BYTES: usize = 288;
/// The fewest slots, as a power of two.
const LEAST_SLOT_BITS: u8 = 14;

/// The value of `[overhear]` in the file at `path`. Other nodes use the peers' ports as well.
pub fn overhear(path: &Path, file: &File, endpoints: &[SocketAddr]) -> Result<Option<io::Overhear>, Mistake> {
    let Some(overhear) = &file.overhear else { return Ok(None) };
    let mistake = |what: String| Mistake::at(path, "[overhear] interface", what);
    let Some(interface) = overhear.interface.clone() else { return Ok(None) };
    if interface == file.tunnel.interface {
        let what = format!("{interface} is the tunnel itself; name the interface on which others are heard");
        return Err(mistake(what));
    }
    if !io::tun::is_name(&interface) {
        return Err(mistake(io::Error::InterfaceName(interface).to_string()));
    }
    Ok(Some(io::Overhear { interface, ports: endpoints.iter().map(SocketAddr::port).collect() }))
}

/// Settings of the group: shared content, or the cache of overheard content.
pub fn group(path: &Path, overhear: &Overhear, memory: Option<node::Memory>) -> Result<Group, Mistake> {
    let mut default = Group::default();
    if let Some(memory) = memory {
        while SLOT_BYTES << default.slot_bits > memory.bytes / 2 && default.slot_bits > LEAST_SLOT_BITS {
            default.slot_bits -= 1;
        }
    }
    let rate_bits_per_second = match overhear.rate_mbps {
        None => default.rate_bits_per_second,
        Some(rate) if (0.001..=1e6).contains(&rate) => (rate * 1e6) as u64,
        Some(rate) => {
            let what = format!("{rate} is no rate of a radio in Mbit/s; write one from 0.001 to 1000000");
            return Err(Mistake::at(path, "[overhear] rate_mbps", what));
        }
    };
    let group = Group { slot_bits: overhear.slot_bits.unwrap_or(default.slot_bits), rate_bits_per_second };
    group.validate().map_err(|why| Mistake::at(path, "[overhear]", why))?;
    Ok(group)
}
