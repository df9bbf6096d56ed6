//! The congestion control that turns what the tunnel removes into speed, for the senders on this host.

use crate::config::{Boost, Config};
use boost::{Controller, Wrapped};

/// Loads what the configuration asks for, and names it for the tunnel's routes. What cannot be had is said,
/// and costs the speed alone: the tunnel works without. With what `status` says of it.
pub fn begin(config: &mut Config) -> (Option<Controller>, Option<String>) {
    let Some(boost) = config.boost else { return (None, None) };
    let wrapped = match boost {
        Boost::Usual => Wrapped::usual(),
        Boost::Wrapping(wrapped) => Ok(wrapped),
    };
    match wrapped.and_then(Controller::load) {
        Ok(controller) => {
            config.system.congestion_control = Some(controller.name().to_owned());
            let (wrapped, name) = (controller.wrapped(), controller.name());
            tracing::info!(
                "TCP connections through {} use {name}, which wraps {wrapped}",
                config.system.interface
            );
            let said = format!("{wrapped}, as {name}");
            (Some(controller), Some(said))
        }
        Err(why) => {
            config.node.boost = false;
            let mend = match why {
                boost::Error::NotWrapped(_) => {
                    "; [tunnel] boost_control = \"cubic\" would put that in its place"
                }
                _ => "",
            };
            tracing::warn!("TCP senders are not boosted: {why}{mend}");
            (None, Some(format!("none: {why}")))
        }
    }
}
