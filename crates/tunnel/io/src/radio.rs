//! The radios of this machine, from nl80211.

use crate::Error;
use futures_util::TryStreamExt;
use std::collections::BTreeMap;
use wl_nl80211::{Nl80211Attr, Nl80211IfMode};

/// A radio.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Radio {
    /// Its name, such as `phy0`.
    pub name: String,
    /// Whether it supports monitor mode.
    pub can_monitor: bool,
}

/// All radios; none if the kernel has no wireless subsystem. It needs no rights.
pub fn radios() -> Result<Vec<Radio>, Error> {
    const WHAT: &str = "ask nl80211 for the radios";
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()
        .map_err(Error::call("start a runtime for netlink"))?;
    runtime.block_on(async {
        let (connection, handle, _) = wl_nl80211::new_connection().map_err(Error::call(WHAT))?;
        tokio::spawn(connection);
        // One radio's description spans many messages.
        let mut radios = BTreeMap::<u32, Radio>::new();
        let mut messages = handle.wireless_physic().get().execute().await;
        loop {
            let message = match messages.try_next().await {
                Ok(Some(message)) => message,
                // A kernel without nl80211 does not know the family's name.
                Ok(None) | Err(_) => return Ok(radios.into_values().collect()),
            };
            let attributes = message.payload.attributes;
            let Some(number) = attributes.iter().find_map(|attribute| match attribute {
                Nl80211Attr::Wiphy(number) => Some(*number),
                _ => None,
            }) else {
                continue;
            };
            let radio = radios
                .entry(number)
                .or_insert_with(|| Radio { name: format!("phy{number}"), can_monitor: false });
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
