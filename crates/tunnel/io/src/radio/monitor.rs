//! A monitor interface beside a radio's other interfaces, for a trial.

use super::{Radio, with_nl80211};
use crate::Error;
use crate::frames::Frames;
use crate::netlink::Netlink;
use futures_util::TryStreamExt;
use wl_nl80211::{
    Nl80211Attr, Nl80211Interface, Nl80211InterfaceHandle, Nl80211InterfaceType, Nl80211NewInterface,
};

/// The interface. It goes when this is dropped.
pub struct Monitor {
    name: String,
    index: u32,
}

impl Monitor {
    /// Adds an interface in monitor mode to the radio, and brings it up. The radio's other interfaces and
    /// its channel stay.
    ///
    /// # Errors
    ///
    /// If the driver has no monitor beside what the radio does now, or without the right to add one.
    pub fn beside(radio: &Radio) -> Result<Self, Error> {
        let name = format!("ohdoctor{}", radio.number);
        let attributes =
            Nl80211NewInterface::new(radio.number, Nl80211InterfaceType::Monitor, name.clone()).build();
        let refused = ask(async |mut handle| {
            let mut answers = handle.add(attributes).execute().await;
            while answers.try_next().await?.is_some() {}
            Ok(())
        })?;
        if let Err(source) = refused {
            let what = format!("add a monitor interface to {}", radio.name);
            return Err(Error::Netlink { what, source });
        }
        let netlink = Netlink::open()?;
        let index = netlink.interface(&name)?.ok_or_else(|| Error::NoInterface(name.clone()))?;
        let monitor = Monitor { name, index };
        netlink.bring_up(monitor.index)?;
        Ok(monitor)
    }

    /// Begins to read its frames.
    ///
    /// # Errors
    ///
    /// See [`Frames::open`].
    pub fn frames(&self) -> Result<Frames, Error> {
        Frames::open(&self.name)
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        let attributes: Vec<Nl80211Attr> = Nl80211Interface::new(self.index).build();
        let removed = ask(async |mut handle| {
            let mut answers = handle.delete(attributes).execute().await;
            while answers.try_next().await?.is_some() {}
            Ok(())
        });
        if let Err(error) =
            removed.and_then(|removed| removed.map_err(Error::call("remove a monitor interface")))
        {
            tracing::warn!("{} stays: {error}; remove it by `iw dev {} del`", self.name, self.name);
        }
    }
}

/// One request. The inner error is the kernel's refusal.
fn ask(
    request: impl AsyncFnOnce(Nl80211InterfaceHandle) -> Result<(), wl_nl80211::Nl80211Error>,
) -> Result<std::io::Result<()>, Error> {
    with_nl80211("ask nl80211 for an interface", async |handle| {
        request(handle.interface()).await.map_err(|error| std::io::Error::other(error.to_string()))
    })
}
