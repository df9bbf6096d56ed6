//! Loads the programs and registers them as a congestion control.

use crate::registration;
use crate::{Error, Told, Wrapped};
use libbpf_rs::{Link, MapCore, MapFlags, MapHandle, Object, ObjectBuilder, OpenObject, PrintLevel};
use std::path::Path;
use wire::inner::Flow;

/// The programs, as compiled by `build.rs`.
static PROGRAMS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/boost.bpf.o"));
/// The placeholder name of each controller in the programs' source.
const PLACEHOLDER: &[u8] = b"overheard\0";
/// Bytes of a congestion control's name (TCP_CA_NAME_MAX), with the final zero.
const NAME_BYTES: usize = 16;
const BTF: &str = "/sys/kernel/btf/vmlinux";

/// A congestion control of this machine, during its lifetime.
pub struct Controller {
    // Fields are dropped in this order, so that new connections first lose the choice.
    _registration: Link,
    witness: Option<MapHandle>,
    ratios: MapHandle,
    _object: Object,
    wrapped: Wrapped,
    name: String,
}

impl Controller {
    /// Loads the programs that wrap `wrapped`, under a name that no other process has. The kernel allows
    /// letters, digits, dots and underscores.
    ///
    /// # Errors
    ///
    /// [`Error::NoBtf`] and [`Error::Refused`] if this machine cannot load them.
    pub fn load(wrapped: Wrapped) -> Result<Self, Error> {
        // A process's number has up to seven digits.
        let short = &wrapped.name()[..wrapped.name().len().min(5)];
        Self::load_as(wrapped, format!("{}{short}{}", registration::PREFIX, std::process::id()))
    }

    fn load_as(wrapped: Wrapped, name: String) -> Result<Self, Error> {
        if !Path::new(BTF).exists() {
            return Err(Error::NoBtf);
        }
        libbpf_rs::set_print(Some((PrintLevel::Debug, |_, line| tracing::debug!("{}", line.trim_end()))));
        let refused = |error: libbpf_rs::Error| Error::Refused(format!("{error:#}"));
        let mut open = ObjectBuilder::default().open_memory(PROGRAMS).map_err(refused)?;
        let links = registration::are_links();
        christen(&mut open, wrapped, &name, links)?;
        let witness = if links {
            None
        } else {
            registration::sweep();
            Some(registration::witness(&name)?)
        };
        let mut object = open.load().map_err(refused)?;
        let mut registration = None;
        let mut ratios = None;
        for mut map in object.maps_mut() {
            match map.name().to_str() {
                Some("ratios") => ratios = Some(MapHandle::try_from(&*map).map_err(refused)?),
                Some(other) if other == wrapped.name() => {
                    registration = Some(map.attach_struct_ops().map_err(refused)?);
                }
                _ => {}
            }
        }
        let missing = || Error::Refused("they are not those that this program was written for".to_owned());
        let (registration, ratios) = registration.zip(ratios).ok_or_else(missing)?;
        Ok(Controller { _registration: registration, witness, ratios, _object: object, wrapped, name })
    }

    /// The wrapped congestion control.
    #[must_use]
    pub fn wrapped(&self) -> Wrapped {
        self.wrapped
    }

    /// Its name for sockets and routes.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the kernel removes it when this process is killed, as from Linux 6.4 on. Otherwise the next
    /// process removes it.
    #[must_use]
    pub fn ends_with_process(&self) -> bool {
        self.witness.is_none()
    }

    /// Sets the number of segments in a wire packet for the flow that leaves this host as `flow`.
    pub fn tell(&self, flow: &Flow, ratio: f64) {
        self.note(&Told::now(flow, ratio));
    }

    /// Writes a node's ratio.
    pub fn note(&self, told: &Told) {
        let (key, value) = told.entry();
        // The map makes room itself. A flow without a ratio behaves as without this controller.
        if let Err(error) = self.ratios.update(key, value, MapFlags::ANY) {
            tracing::debug!("cannot tell a flow's ratio: {error}");
        }
    }

    /// Whether this process has the right to write ratios now. Before Linux 5.19 that needs CAP_BPF where
    /// unprivileged BPF is disabled.
    #[must_use]
    pub fn may_tell(&self) -> bool {
        // The key belongs to no flow: the result is "absent", or an error without the right.
        self.ratios.lookup(Told::NOBODYS.entry().0, MapFlags::ANY).is_ok()
    }
}

/// Renames the wanted controller and disables the others.
fn christen(open: &mut OpenObject, wrapped: Wrapped, name: &str, links: bool) -> Result<(), Error> {
    let missing = || Error::Refused("the programs have no controller of that kind".to_owned());
    let mut named = false;
    for mut map in open.maps_mut() {
        if map.map_type() != libbpf_rs::MapType::StructOps {
            continue;
        }
        if map.name() != wrapped.name() {
            map.set_autocreate(false).map_err(|error| Error::Refused(error.to_string()))?;
            continue;
        }
        if !links {
            map.set_map_flags(0).map_err(|error| Error::Refused(error.to_string()))?;
        }
        let value = map.initial_value_mut().ok_or_else(missing)?;
        let at = value.windows(PLACEHOLDER.len()).position(|window| window == PLACEHOLDER);
        let room = at.and_then(|at| value.get_mut(at..at + NAME_BYTES)).ok_or_else(missing)?;
        room.fill(0);
        let bytes = &name.as_bytes()[..name.len().min(NAME_BYTES - 1)];
        room[..bytes.len()].copy_from_slice(bytes);
        named = true;
    }
    // Programs of a disabled controller are not loaded.
    let prefix = wrapped.name();
    for mut program in open.progs_mut() {
        let wanted = program
            .name()
            .to_str()
            .is_some_and(|name| name.starts_with(prefix) || name.starts_with("either"));
        program.set_autoload(wanted);
    }
    if named { Ok(()) } else { Err(missing()) }
}
