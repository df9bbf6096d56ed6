//! Options of an analysis, and its passes: one for all methods and the default tunnel, and further ones for
//! tunnels with stores of other sizes.

use crate::method::{
    ByteCaching, Chunk, ChunkParameters, MaxMatch, MaxMatchParameters, Method, WholePacket, ZstdAlone,
};
use crate::pass::pass;
use crate::report::Report;
use crate::spool::Spool;
use crate::tunnel::{Pair, TunnelOptions, curve, default_store_mib};
use crate::{CaptureError, Progress, Source};
use re::{Parameters, Policy};
use std::io::Read;
use std::path::Path;

/// The name of the tunnel with the default configuration, among the methods' names.
pub const DEFAULT_TUNNEL: &str = "default";

/// Options of an analysis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Parameters of `chunk`.
    pub chunk: ChunkParameters,
    /// Parameters of `max-match`.
    pub max_match: MaxMatchParameters,
    /// Parameters of the byte-caching encoders, except policy and form.
    pub byte_caching: Parameters,
    /// The reference policies of the byte-caching encoders; each is a method with the policy's name.
    pub policies: Vec<Policy>,
    /// Number of later packets after which `acked` counts a packet as confirmed.
    pub packets_in_flight: u64,
    /// The level of stateless zstd.
    pub zstd_level: i32,
    /// The link of the tunnel, and the sizes of its stores.
    pub tunnel: TunnelOptions,
    /// The selected methods, by name; empty for all. [`DEFAULT_TUNNEL`] is one of the names.
    pub only: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            chunk: ChunkParameters::default(),
            max_match: MaxMatchParameters::default(),
            byte_caching: Parameters::default(),
            policies: vec![Policy::Acked],
            packets_in_flight: 32,
            zstd_level: crate::DEFAULT_ZSTD_LEVEL,
            tunnel: TunnelOptions::default(),
            only: Vec::new(),
        }
    }
}

impl Options {
    /// The names of all methods, in the order of the report.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let policies = self.policies.iter().map(Policy::to_string);
        let named = |names: [&'static str; 2]| names.into_iter().map(str::to_owned);
        named(["chunk", "max-match"]).chain(policies).chain(named(["zstd", "whole-packet"])).collect()
    }

    /// Checks the options.
    pub fn validate(&self) -> Result<(), CaptureError> {
        let refused = |why: String| Err(CaptureError::Parameters(why));
        let MaxMatchParameters { window_bytes, sample_bits, .. } = self.max_match;
        if !Parameters::WINDOW_BYTES.contains(&window_bytes) || sample_bits > Parameters::MAX_SAMPLE_BITS {
            return refused(
                "max-match takes windows of 8 to 128 bytes and at most 12 sample bits".to_owned(),
            );
        }
        if !zstd::compression_level_range().contains(&self.zstd_level) {
            return refused(format!("zstd has no level {}", self.zstd_level));
        }
        if !(1..=Parameters::STORE_BYTES.end() >> 20).contains(&self.tunnel.largest_store_mib) {
            return refused("the largest store has 1 to 1024 MiB".to_owned());
        }
        let mut names = self.names();
        names.push(DEFAULT_TUNNEL.to_owned());
        if let Some(unknown) = self.only.iter().find(|name| !names.contains(name)) {
            return refused(format!("no method is called {unknown:?}; there are {}", names.join(", ")));
        }
        let mut encoders =
            self.policies.iter().map(|policy| Parameters { policy: *policy, ..self.byte_caching });
        encoders.try_for_each(|encoder| encoder.validate()).or_else(|error| refused(error.to_string()))
    }

    /// The method with this name.
    fn method(&self, name: &str) -> Option<Box<dyn Method>> {
        let zstd_level = self.zstd_level;
        Some(match name {
            "chunk" => Box::new(Chunk::new(ChunkParameters { zstd_level, ..self.chunk })),
            "max-match" => Box::new(MaxMatch::new(MaxMatchParameters { zstd_level, ..self.max_match })),
            "zstd" => Box::new(ZstdAlone::new(zstd_level)),
            "whole-packet" => Box::new(WholePacket::new(zstd_level)),
            _ => {
                let policy = *self.policies.iter().find(|policy| policy.to_string() == name)?;
                let parameters = Parameters { policy, ..self.byte_caching };
                Box::new(ByteCaching::new(name, &parameters, self.packets_in_flight, zstd_level))
            }
        })
    }

    fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == name)
    }

    /// The methods, in the report's order.
    #[must_use]
    pub fn methods(&self) -> Vec<Box<dyn Method>> {
        self.names().iter().filter(|name| self.wants(name)).filter_map(|name| self.method(name)).collect()
    }

    /// Tunnels with these policies and stores.
    fn tunnels(&self, wanted: &[(Policy, usize)]) -> Result<Vec<Pair>, CaptureError> {
        let tunnel = |&(policy, store_mib): &(Policy, usize)| Pair::new(policy, store_mib, &self.tunnel);
        let tunnels: Result<_, _> = wanted.iter().map(tunnel).collect();
        tunnels.map_err(|why| CaptureError::Parameters(why.to_string()))
    }

    /// Analyses a capture file; `-` is standard input. `watch` receives the progress of each pass.
    ///
    /// The capture is read several times, and the report has the curve of savings over the size of the store.
    /// Standard input and pipes are copied for that, if the copy has room in the folder for temporary files.
    /// Otherwise a note of the report says why there is no curve.
    pub fn analyze_file(
        &self,
        path: &Path,
        watch: &mut dyn FnMut(&Progress),
    ) -> Result<Report, CaptureError> {
        let mut spool = None;
        let copied =
            |stream| -> Box<dyn Read + Send> { Box::new(spool.insert(Spool::new()).copy_of(stream)) };
        let source = Source::open_with(path, copied)?;
        let mut report = self.analyze(source, watch)?;
        let Some(default) = &report.default else { return Ok(report) };
        let again = || match &spool {
            Some(spool) => spool.source(),
            None => Source::open(path).map(Ok),
        };
        let mut no_curve = None;
        let curve = curve(default, &self.tunnel, |sizes_mib| {
            let wanted: Vec<_> = sizes_mib.iter().map(|&mib| (Policy::default(), mib)).collect();
            match again()? {
                Ok(source) => {
                    let results = pass(source, Vec::new(), self.tunnels(&wanted)?, watch)?;
                    Ok::<_, CaptureError>(results.tunnels)
                }
                Err(why) => {
                    no_curve = Some(why);
                    Ok(Vec::new())
                }
            }
        })?;
        match no_curve {
            Some(why) => report.notes.push(why),
            None => report.set_curve(curve),
        }
        Ok(report)
    }

    /// Analyses a capture in one pass, without the curve. `watch` receives the progress.
    pub fn analyze(&self, source: Source, watch: &mut dyn FnMut(&Progress)) -> Result<Report, CaptureError> {
        self.validate()?;
        let policies = [Policy::default(), Policy::Acked].map(|policy| (policy, default_store_mib()));
        let tunnels = if self.wants(DEFAULT_TUNNEL) { self.tunnels(&policies)? } else { Vec::new() };
        Ok(Report::new(pass(source, self.methods(), tunnels, watch)?))
    }
}
