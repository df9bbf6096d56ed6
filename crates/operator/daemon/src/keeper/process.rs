//! The keeper's own process.

use super::{Kept, LONGEST_BYTES, ORDER, Order, RATIO, receive};
use crate::{memory, sandbox::rights};
use anyhow::{Context, bail};
use boost::{Controller, Told, Wrapped};
use interception::Interception;
use rustix::net::{SendFlags, send};
use rustix::thread::CapabilitySet;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Executes orders from the socket on standard input until it is closed.
///
/// # Errors
///
/// If no node or cache started it.
pub fn run() -> anyhow::Result<()> {
    memory::protect();
    // It ends with its starter, which may need it up to its own end.
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))
            .context("cannot heed signals")?;
    }
    let stdin = std::io::stdin();
    let socket = stdin.as_fd();
    let mut kept = Keeping::default();
    let mut buffer = vec![0; LONGEST_BYTES];
    loop {
        let length = receive(socket, &mut buffer).context(
            "standard input is no socket: this command is started by `overheard up` and `overheard cache` alone",
        )?;
        match buffer[..length].split_first() {
            None => return Ok(()),
            Some((&ORDER, order)) => {
                let order = serde_json::from_slice(order).context("the order is not understood")?;
                let answer = serde_json::to_vec(&kept.take_up(&order))?;
                send(socket, &answer, SendFlags::NOSIGNAL).context("no receiver for the answer")?;
            }
            Some((&RATIO, told)) => {
                if let (Some((controller, _)), Some(told)) = (&kept.boost, Told::from_bytes(told)) {
                    controller.note(&told);
                }
            }
            Some(_) => bail!("the message is not understood"),
        }
    }
}

/// The current work; it is removed when dropped.
#[derive(Default)]
struct Keeping {
    rules: Option<Interception>,
    boost: Option<(Controller, String)>,
    /// Whether the rights to load programs are given up.
    has_begun: bool,
}

impl Keeping {
    /// Executes this order in place of the earlier one. Only the first order loads programs, because the
    /// rights are given up afterwards.
    fn take_up(&mut self, order: &Order) -> Kept {
        let mut answer = Kept::default();
        self.rules = None;
        if let Some(rules) = &order.rules {
            let installed =
                rules.plan().and_then(|plan| Interception::install(plan).map_err(|why| why.to_string()));
            match installed {
                Ok(installed) => self.rules = Some(installed),
                Err(why) => answer.no_rules = Some(why),
            }
        }
        match (&order.boost, &self.boost) {
            (None, _) => self.boost = None,
            (Some(wanted), Some((_, wrapped))) if wanted == wrapped => {}
            (Some(_), _) if self.has_begun => {
                answer.no_boost = Some("another congestion control takes a restart of the node".to_owned());
            }
            (Some(wanted), _) => {
                let loaded = wanted.parse::<Wrapped>().and_then(Controller::load);
                match loaded {
                    Ok(controller) => self.boost = Some((controller, wanted.clone())),
                    Err(why) => answer.no_boost = Some(why.to_string()),
                }
            }
        }
        if answer.no_boost.is_none() {
            answer.boost = self
                .boost
                .as_ref()
                .map(|(controller, wrapped)| (controller.name().to_owned(), wrapped.clone()));
        }
        if !std::mem::replace(&mut self.has_begun, true) {
            self.give_up_rights();
        }
        answer
    }

    /// Keeps CAP_NET_ADMIN for the removal of rules. Loaded programs need no rights, or CAP_BPF before Linux
    /// 5.19.
    fn give_up_rights(&self) {
        let admin = CapabilitySet::NET_ADMIN;
        let controller = self.boost.as_ref().map(|(controller, _)| controller);
        // Before Linux 6.4 a registration is removed explicitly, with the rights of its creation.
        let ends_by_itself = controller.is_none_or(Controller::ends_with_process);
        let mut wanted = if ends_by_itself { admin } else { admin | CapabilitySet::BPF };
        if controller.is_some_and(|controller| !rights::with(wanted, || controller.may_tell())) {
            wanted |= CapabilitySet::BPF;
        }
        if let Err(why) = rights::keep(wanted) {
            tracing::warn!("the process that keeps rules and programs keeps its rights: {why}");
        }
    }
}
