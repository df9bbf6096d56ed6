//! The radios of this machine, from nl80211.

mod monitor;

use crate::Error;
use futures_util::TryStreamExt;
pub use monitor::Monitor;
use std::collections::BTreeMap;
use wl_nl80211::{Nl80211Attr, Nl80211Handle, Nl80211IfMode};

/// A radio.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Radio {
    /// The kernel's number of it.
    pub number: u32,
    /// Its name, such as `phy0`.
    pub name: String,
    /// Whether it supports monitor mode.
    pub can_monitor: bool,
}

/// Runs `request` with a connection to nl80211. An error says `what` could not be done.
fn with_nl80211<T>(what: &'static str, request: impl AsyncFnOnce(Nl80211Handle) -> T) -> Result<T, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()
        .map_err(Error::call("start a runtime for netlink"))?;
    runtime.block_on(async {
        let (connection, handle, _) = wl_nl80211::new_connection().map_err(Error::call(what))?;
        tokio::spawn(connection);
        Ok(request(handle).await)
    })
}

/// All radios; none if the kernel has no wireless subsystem. It needs no rights.
pub fn radios() -> Result<Vec<Radio>, Error> {
    with_nl80211("ask nl80211 for the radios", async |handle| {
        // One radio's description spans many messages.
        let mut radios = BTreeMap::<u32, Radio>::new();
        let mut messages = handle.wireless_physic().get().execute().await;
        loop {
            let message = match messages.try_next().await {
                Ok(Some(message)) => message,
                // A kernel without nl80211 does not know the family's name.
                Ok(None) | Err(_) => return radios.into_values().collect(),
            };
            let attributes = message.payload.attributes;
            let Some(number) = attributes.iter().find_map(|attribute| match attribute {
                Nl80211Attr::Wiphy(number) => Some(*number),
                _ => None,
            }) else {
                continue;
            };
            let radio = radios.entry(number).or_insert_with(|| Radio {
                number,
                name: format!("phy{number}"),
                can_monitor: false,
            });
            for attribute in attributes {
                match attribute {
                    Nl80211Attr::WiphyName(name) => radio.name = name,
                    Nl80211Attr::SupportedIftypes(modes) => {
                        radio.can_monitor |= modes.contains(&Nl80211IfMode::Monitor);
                    }
                    _ => {}
                }
            }
        }
    })
}
