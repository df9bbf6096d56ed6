//! Registration of a controller with the kernel, and its end.
//!
//! From Linux 6.4 on a registration is a BPF link, which ends with its process. Before that, a registration
//! is an entry of the controller's map, and stays until it is deleted. The process deletes it at its end, and
//! the next one does so after a kill. The kernel also shows whether the process lives: it holds a map of the
//! same name, the *witness*, which no program uses and which therefore ends with it. A process's number would
//! be ambiguous, because containers have their own numbers.

use crate::Error;
use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::Struct;
use libbpf_rs::query::{MapInfo, MapInfoIter};
use libbpf_rs::{MapCore, MapFlags, MapHandle, MapType, libbpf_sys};
use std::collections::HashSet;

/// Prefix of our controllers' names.
pub const PREFIX: &str = "oh_";
/// The only key of a controller's map.
const ONLY: [u8; 4] = [0; 4];

/// Whether registrations on this kernel end with the process.
pub fn are_links() -> bool {
    Btf::from_vmlinux().is_ok_and(|btf| btf.type_by_name::<Struct<'_>>("bpf_struct_ops_link").is_some())
}

/// Shows, while it is held, that the process with the controller of this name is alive.
///
/// # Errors
///
/// [`Error::Refused`] without the right.
pub fn witness(name: &str) -> Result<MapHandle, Error> {
    let options = libbpf_sys::bpf_map_create_opts {
        sz: size_of::<libbpf_sys::bpf_map_create_opts>() as libbpf_sys::size_t,
        ..Default::default()
    };
    MapHandle::create(MapType::Array, Some(name), 4, 4, 1, &options)
        .map_err(|error| Error::Refused(format!("{error:#}")))
}

/// Removes our controllers without a process. Their connections keep the programs until they close.
pub fn sweep() {
    // A process creates its witness before it registers its controller, so controllers are read first.
    let controllers: Vec<(MapHandle, String)> = maps(MapType::StructOps).filter_map(controller).collect();
    if controllers.is_empty() {
        return;
    }
    let alive: HashSet<String> =
        maps(MapType::Array).map(|map| map.name.to_string_lossy().into_owned()).collect();
    for (map, name) in controllers.into_iter().filter(|(_, name)| !alive.contains(name)) {
        match map.delete(&ONLY) {
            Ok(()) => tracing::info!("removed {name}, whose process is gone"),
            Err(error) => tracing::warn!("cannot remove {name}, whose process is gone: {error}"),
        }
    }
}

fn maps(kind: MapType) -> impl Iterator<Item = MapInfo> {
    MapInfoIter::default().filter(move |map| map.ty == kind)
}

/// A map that registered one of our controllers, and the controller's name, which is in its value.
fn controller(map: MapInfo) -> Option<(MapHandle, String)> {
    let map = MapHandle::from_map_id(map.id).ok()?;
    let value = map.lookup(&ONLY, MapFlags::ANY).ok()??;
    let name = name_in(&value)?;
    Some((map, name))
}

fn name_in(value: &[u8]) -> Option<String> {
    let at = value.windows(PREFIX.len()).position(|bytes| bytes == PREFIX.as_bytes())?;
    let bytes = value[at..].iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_');
    Some(bytes.map(|&byte| char::from(byte)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_controller_is_ours_by_its_name() {
        assert_eq!(name_in(b"\x01\0\0\0oh_reno77\0\0\xff"), Some("oh_reno77".to_owned()));
        assert_eq!(name_in(b"\x01\0\0\0oh_"), Some("oh_".to_owned()));
        assert_eq!(name_in(b"\x01\0\0\0other\0"), None);
        assert_eq!(name_in(b""), None);
    }
}
