//! The rates of this machine's radios. nl80211 gives them by the stations' link-layer addresses, and the
//! kernel's neighbour table maps these to IP addresses.

use crate::Error;
use futures_util::TryStreamExt;
use route_netlink::Connection;
use route_netlink::packet::neighbour::{NeighbourAddress, NeighbourAttribute, NeighbourMessage};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;
use wl_nl80211::{Nl80211Attr, Nl80211RateInfo, Nl80211StationInfo};

/// Interval of the look-up. Rates change every few packets, but decisions change little.
const EVERY: Duration = Duration::from_secs(5);
/// Unit of nl80211's rates, in bits a second.
const UNIT: u64 = 100_000;

/// A station, and the rate of transmissions to it in bits a second.
pub type Rate = (IpAddr, u64);

/// A thread that looks rates up every few seconds until this is dropped.
pub(crate) struct Watch {
    stop: Option<Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Watch {
    /// Starts the thread. `take` receives found rates, and returns whether to continue. If the kernel has no
    /// wireless subsystem, the thread ends at once.
    pub fn begin(take: impl FnMut(Vec<Rate>) -> bool + Send + 'static) -> Result<Self, Error> {
        let (stop, stopped) = channel();
        let thread = std::thread::Builder::new()
            .name("rates".to_owned())
            .spawn(move || watch(&stopped, take))
            .map_err(Error::call("start a thread that looks at radios' rates"))?;
        Ok(Watch { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // The thread returns nothing.
            let _ = thread.join();
        }
    }
}

fn watch(stopped: &Receiver<()>, mut take: impl FnMut(Vec<Rate>) -> bool) {
    loop {
        match rates() {
            Ok(Some(rates)) => {
                if !rates.is_empty() && !take(rates) {
                    return;
                }
            }
            Ok(None) => return,
            Err(error) => {
                tracing::warn!("rates are not known: {error}");
                return;
            }
        }
        if stopped.recv_timeout(EVERY) != Err(RecvTimeoutError::Timeout) {
            return;
        }
    }
}

/// The current rates; `None` if the kernel has no wireless subsystem, or no radio. It needs no rights.
pub fn rates() -> Result<Option<Vec<Rate>>, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()
        .map_err(Error::call("start a runtime for netlink"))?;
    runtime.block_on(async {
        let stations = stations().await?;
        let Some(stations) = stations else { return Ok(None) };
        if stations.is_empty() {
            return Ok(Some(Vec::new()));
        }
        let neighbours = neighbours()?;
        let rate_of =
            |(address, link): (IpAddr, Vec<u8>)| stations.get(link.as_slice()).map(|rate| (address, *rate));
        Ok(Some(neighbours.into_iter().filter_map(rate_of).collect()))
    })
}

/// The stations of this machine's radios, by link-layer address; `None` if there is no radio.
async fn stations() -> Result<Option<HashMap<[u8; 6], u64>>, Error> {
    const WHAT: &str = "ask nl80211 for stations";
    let (connection, handle, _) = wl_nl80211::new_connection().map_err(Error::call(WHAT))?;
    tokio::spawn(connection);
    let mut interfaces = Vec::new();
    let mut messages = handle.interface().get(Vec::new()).execute().await;
    // a kernel without nl80211 does not know the family's name
    while let Ok(Some(message)) = messages.try_next().await {
        interfaces.extend(message.payload.attributes.iter().find_map(|attribute| match attribute {
            Nl80211Attr::IfIndex(index) => Some(*index),
            _ => None,
        }));
    }
    if interfaces.is_empty() {
        return Ok(None);
    }
    let mut stations = HashMap::new();
    for index in interfaces {
        let mut messages = handle.station().dump(index).execute().await;
        // An interface without stations, such as one in monitor mode, refuses.
        while let Ok(Some(message)) = messages.try_next().await {
            let (mut station, mut rate) = (None, None);
            for attribute in message.payload.attributes {
                match attribute {
                    Nl80211Attr::Mac(address) => station = Some(address),
                    Nl80211Attr::StationInfo(said) => rate = said.iter().find_map(bits_per_second),
                    _ => {}
                }
            }
            stations.extend(station.zip(rate));
        }
    }
    Ok(Some(stations))
}

/// The rate of transmissions to a station.
fn bits_per_second(said: &Nl80211StationInfo) -> Option<u64> {
    let Nl80211StationInfo::TxBitrate(rate) = said else { return None };
    // The older attribute ends at 6.5 Gbit/s and is missing beyond.
    let units = rate.iter().find_map(|said| match said {
        Nl80211RateInfo::Bitrate32(units) => Some(u64::from(*units)),
        _ => None,
    });
    let units = units.or_else(|| {
        rate.iter().find_map(|said| match said {
            Nl80211RateInfo::Bitrate(units) => Some(u64::from(*units)),
            _ => None,
        })
    });
    units.filter(|units| *units > 0).map(|units| units * UNIT)
}

/// The link-layer addresses of the neighbours.
fn neighbours() -> Result<Vec<(IpAddr, Vec<u8>)>, Error> {
    const WHAT: &str = "ask the kernel for neighbours";
    let connection = Connection::open().map_err(Error::call(WHAT))?;
    let listed = connection.neighbours();
    let listed = listed.map_err(|error| Error::Netlink { what: WHAT.to_owned(), source: error.into() })?;
    Ok(listed.iter().filter_map(neighbour).collect())
}

fn neighbour(message: &NeighbourMessage) -> Option<(IpAddr, Vec<u8>)> {
    let (mut address, mut link) = (None, None);
    for attribute in &message.attributes {
        match attribute {
            NeighbourAttribute::Destination(NeighbourAddress::Inet(it)) => address = Some((*it).into()),
            NeighbourAttribute::Destination(NeighbourAddress::Inet6(it)) => address = Some((*it).into()),
            NeighbourAttribute::LinkLayerAddress(it) => link = Some(it.clone()),
            _ => {}
        }
    }
    address.zip(link)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_the_one_that_is_not_cut_off() {
        let said = |rate| bits_per_second(&Nl80211StationInfo::TxBitrate(rate));
        assert_eq!(
            said(vec![Nl80211RateInfo::Bitrate(540), Nl80211RateInfo::Bitrate32(540)]),
            Some(54_000_000)
        );
        assert_eq!(said(vec![Nl80211RateInfo::Bitrate32(96_000)]), Some(9_600_000_000));
        assert_eq!(said(vec![Nl80211RateInfo::Bitrate(10)]), Some(1_000_000));
        assert_eq!(said(vec![Nl80211RateInfo::Bitrate(0)]), None);
        assert_eq!(bits_per_second(&Nl80211StationInfo::TxPackets(7)), None);
    }

    #[test]
    fn whoever_has_no_radio_is_told_so() {
        let watched = std::time::Instant::now();
        drop(Watch::begin(|_| true).unwrap());
        assert!(watched.elapsed() < EVERY, "dropping it waits for nothing");
    }
}
