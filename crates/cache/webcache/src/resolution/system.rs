//! Resolves names as the system does: by /etc/hosts, /etc/resolv.conf and its search domains, read again
//! after a change.

use hickory_resolver::TokioResolver;
use hickory_resolver::config::{LookupIpStrategy, NameServerConfig, ResolverConfig};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};
use tokio::time::Instant;

/// The files that control look-ups.
const FILES: [&str; 2] = ["/etc/resolv.conf", "/etc/hosts"];
/// Interval of checks for changes.
const LOOK: Duration = Duration::from_secs(1);
/// Timeout of one server, whatever resolv.conf has, so that a lost query is repeated in time.
const EACH_SERVER: Duration = Duration::from_millis(1500);
/// The most cached answers, each for its lifetime.
const ANSWERS: u64 = 1024;

/// A resolver that follows the system's configuration.
#[derive(Debug, Default)]
pub(super) struct System(Mutex<Option<Built>>);

#[derive(Debug)]
struct Built {
    resolver: TokioResolver,
    of: [Option<(SystemTime, u64)>; FILES.len()],
    looked: Instant,
}

impl System {
    /// The addresses of a host; empty if it has none. `None` if no server answers.
    pub async fn addresses_of(&self, host: &str) -> Option<Vec<IpAddr>> {
        match self.resolver()?.lookup_ip(host).await {
            Ok(found) => Some(found.iter().collect()),
            Err(error) if error.is_no_records_found() => Some(Vec::new()),
            Err(error) => {
                tracing::debug!("{host}: {error}");
                None
            }
        }
    }

    fn resolver(&self) -> Option<TokioResolver> {
        let mut built = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if let Some(built) = built.as_ref().filter(|built| now < built.looked + LOOK) {
            return Some(built.resolver.clone());
        }
        let of = FILES.map(stamp);
        match built.as_mut().filter(|built| built.of == of) {
            Some(same) => same.looked = now,
            None => *built = Some(Built { resolver: build()?, of, looked: now }),
        }
        built.as_ref().map(|built| built.resolver.clone())
    }
}

/// Time of a file's last change, and its length.
fn stamp(file: &str) -> Option<(SystemTime, u64)> {
    let about = std::fs::metadata(PathBuf::from(file)).ok()?;
    Some((about.modified().ok()?, about.len()))
}

/// A resolver by the system's configuration. Without one, the server is on this machine (resolv.conf(5)).
fn build() -> Option<TokioResolver> {
    let mut builder = TokioResolver::builder_tokio().unwrap_or_else(|error| {
        tracing::warn!("/etc/resolv.conf cannot be used: {error}; names are asked for on 127.0.0.1");
        let here = NameServerConfig::udp_and_tcp(Ipv4Addr::LOCALHOST.into());
        let config = ResolverConfig::from_parts(None, Vec::new(), vec![here]);
        TokioResolver::builder_with_config(config, TokioRuntimeProvider::default())
    });
    let options = builder.options_mut();
    options.ip_strategy = LookupIpStrategy::Ipv4AndIpv6;
    options.timeout = options.timeout.min(EACH_SERVER);
    options.cache_size = ANSWERS;
    // More than ever occur; another bound limits one client's.
    options.max_active_requests = 4 * super::MOST_LOOKUPS;
    builder.build().inspect_err(|error| tracing::warn!("names cannot be asked for: {error}")).ok()
}
