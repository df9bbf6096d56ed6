//! The boosted congestion control for senders on this host, as far as this process is concerned: a keeper
//! loads it.

use crate::config::{Boost, Config};
use crate::keeper::Kept;
use boost::Wrapped;

/// The congestion control to wrap by the configuration, or the reason against it.
pub fn wanted(config: &Config) -> Option<Result<Wrapped, boost::Error>> {
    Some(match config.boost? {
        Boost::Usual => Wrapped::usual(),
        Boost::Wrapping(wrapped) => Ok(wrapped),
    })
}

/// Sets the loaded congestion control for the tunnel's routes. Returns its text in `status`. A failure is
/// logged and costs only throughput: the tunnel works without.
pub fn take_up(
    config: &mut Config,
    wanted: Option<Result<Wrapped, boost::Error>>,
    kept: &Kept,
) -> Option<String> {
    let (why, mend) = match wanted? {
        Err(why @ boost::Error::NotWrapped(_)) => {
            (why.to_string(), "; [tunnel] boost_control = \"cubic\" would put that in its place")
        }
        Err(why) => (why.to_string(), ""),
        Ok(_) => match (&kept.boost, &kept.no_boost) {
            (Some((name, wrapped)), _) => {
                config.system.congestion_control = Some(name.clone());
                let interface = &config.system.interface;
                tracing::info!("TCP connections through {interface} use {name}, which wraps {wrapped}");
                return Some(format!("{wrapped}, as {name}"));
            }
            (None, why) => (why.clone().unwrap_or_default(), ""),
        },
    };
    config.node.boost = false;
    tracing::warn!("TCP senders are not boosted: {why}{mend}");
    Some(format!("none: {why}"))
}
