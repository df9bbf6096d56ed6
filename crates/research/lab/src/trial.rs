//! One run of a scenario with one seed, on this process's kernel.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

use crate::client::Browsing;
use crate::daemon::{Placeholders, Running, run_command};
use crate::download::Transfer;
use crate::error::{Doing, LabError};
use crate::exchange::Talk;
use crate::ground::Ground;
use crate::http_server::HttpServer;
use crate::outcome::{DownloadOutcome, ExchangeOutcome, FetchOutcome, LinkOutcome, Outcome, StreamOutcome};
use crate::programs::Programs;
use crate::run::Run;
use crate::scenario::{Action, Content, Daemon, HTTP_PORT, Scenario, Start};
use crate::stream::Flow;
use crate::traffic::Traffic;
use crate::wi_fi;

/// Runs a scenario once for each of its seeds, in order, and passes each outcome to `report`.
///
/// `programs` are the values of placeholders in the scenario.
///
/// # Errors
///
/// The first [`LabError`]; later seeds are not run.
pub fn run_here(
    scenario: &Scenario,
    programs: &Programs,
    report: &mut dyn FnMut(Outcome) -> Result<(), LabError>,
) -> Result<(), LabError> {
    run_watched(scenario, programs, None, report)
}

/// Progress of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// Seconds since everything was ready.
    pub seconds: f64,
    /// Counts of the links.
    pub links: Vec<LinkOutcome>,
    /// Octets of each download that have arrived.
    pub downloads: Vec<u64>,
}

/// Receives the progress of a run, in a thread of its own.
pub type Watcher<'a> = &'a (dyn Fn(&Progress) + Sync);

/// Interval of progress reports.
const GLIMPSES: Duration = Duration::from_millis(200);

/// As [`run_here`], with progress reports to `watcher`.
///
/// # Errors
///
/// As [`run_here`].
pub fn run_watched(
    scenario: &Scenario,
    programs: &Programs,
    watcher: Option<Watcher<'_>>,
    report: &mut dyn FnMut(Outcome) -> Result<(), LabError>,
) -> Result<(), LabError> {
    scenario.check()?;
    let run = Run::begin()?;
    let contents = run.folder().join("contents");
    fs::create_dir(&contents).doing(|| format!("make {}", contents.display()))?;
    scenario.contents.iter().try_for_each(|content| cut(content, &contents))?;
    for seed in &scenario.seeds {
        let place = run.folder().join(format!("seed-{seed}"));
        fs::create_dir_all(&place).doing(|| format!("make {}", place.display()))?;
        let trial = Trial {
            scenario,
            contents: &contents,
            placeholders: Placeholders { programs: programs.clone(), folder: place.clone() },
            ground: Ground::lay(&run, scenario, *seed)?,
            watcher,
        };
        let outcome = trial.run(*seed);
        let _ = fs::remove_dir_all(&place);
        report(outcome?)?;
    }
    Ok(())
}

/// Copies a content, or the slice it is, to where it is served from.
fn cut(content: &Content, contents: &Path) -> Result<(), LabError> {
    let doing = || format!("read {}", content.file.display());
    let mut file = File::open(&content.file).doing(doing)?;
    file.seek(SeekFrom::Start(content.skip_bytes)).doing(doing)?;
    let mut slice = file.take(content.length_bytes.unwrap_or(u64::MAX));
    let path = contents.join(&content.name);
    let mut copy = File::create(&path).doing(|| format!("make {}", path.display()))?;
    let copied = std::io::copy(&mut slice, &mut copy).doing(|| format!("fill {}", path.display()))?;
    match content.length_bytes {
        Some(length) if copied != length => Err(LabError::System {
            doing: format!(
                "take {length} bytes from byte {} of {}",
                content.skip_bytes,
                content.file.display()
            ),
            source: std::io::ErrorKind::UnexpectedEof.into(),
        }),
        _ => Ok(()),
    }
}

struct Trial<'a> {
    scenario: &'a Scenario,
    contents: &'a Path,
    placeholders: Placeholders,
    ground: Ground,
    watcher: Option<Watcher<'a>>,
}

/// Results of the traffic, and outputs of the events' commands.
struct Carried {
    downloads: Vec<DownloadOutcome>,
    fetches: Vec<Vec<FetchOutcome>>,
    streams: Vec<StreamOutcome>,
    exchanges: Vec<ExchangeOutcome>,
    said: Vec<String>,
}

/// The daemons that run, each with its part of the scenario.
type Daemons<'a> = Vec<(&'a Daemon, Running)>;

impl Trial<'_> {
    fn run(&self, seed: u64) -> Result<Outcome, LabError> {
        let joined = wi_fi::daemons(&self.scenario.topology.wi_fi);
        let joined = joined.iter().map(|daemon| self.start_daemon(daemon));
        let joined: Vec<Running> = joined.collect::<Result<_, _>>()?;
        let servers = self.start_servers()?;
        let mut daemons = Daemons::new();
        for daemon in self.scenario.daemons.iter().filter(|daemon| !daemon.later) {
            daemons.push((daemon, self.start_daemon(daemon)?));
        }
        let Scenario { streams, clients, exchanges, .. } = self.scenario;
        let others = streams.len() + clients.len() + exchanges.len();
        let traffic = Traffic::new(self.scenario.downloads.len(), others);
        let carried = self.carry_traffic(&traffic, &mut daemons)?;
        let (links, channels) = self.ground.counts();
        let mut statuses = BTreeMap::new();
        for (daemon, running) in &mut daemons {
            let place = self.ground.place(&daemon.place)?;
            if let Some(status) = running.status(daemon, place, &self.placeholders)? {
                statuses.insert(daemon.name.clone(), status);
            }
        }
        daemons.into_iter().rev().for_each(|(_, running)| running.stop());
        drop(servers);
        joined.into_iter().rev().for_each(Running::stop);
        let scenario = self.scenario.name.clone();
        let Carried { downloads, fetches, streams, exchanges, said } = carried;
        Ok(Outcome {
            scenario,
            seed,
            links,
            channels,
            fetches,
            downloads,
            streams,
            exchanges,
            statuses,
            said,
        })
    }

    fn start_servers(&self) -> Result<Vec<HttpServer>, LabError> {
        let start = |place: &String| {
            let folder = self.placeholders.folder.join(format!("http-{place}"));
            fs::create_dir_all(&folder).doing(|| format!("make {}", folder.display()))?;
            let fresh_seconds = self.scenario.fresh_seconds;
            HttpServer::start(self.ground.place(place)?, self.contents, &folder, HTTP_PORT, fresh_seconds)
        };
        self.scenario.servers.iter().map(start).collect()
    }

    fn start_daemon(&self, daemon: &Daemon) -> Result<Running, LabError> {
        Running::start(daemon, self.ground.place(&daemon.place)?, &self.placeholders)
    }

    /// Runs all downloads and streams to their ends, and the events in parallel.
    fn carry_traffic<'a>(
        &'a self,
        traffic: &Traffic,
        daemons: &mut Daemons<'a>,
    ) -> Result<Carried, LabError> {
        let ready = Instant::now();
        let at = |seconds: f64| ready + Duration::from_secs_f64(seconds);
        let deadline = at(self.scenario.bound_seconds);
        std::thread::scope(|scope| {
            let downloads: Vec<_> = (0..self.scenario.downloads.len())
                .map(|index| scope.spawn(move || self.download(index, ready, deadline, traffic)))
                .collect();
            let streams: Vec<_> = (self.scenario.streams.iter())
                .map(|stream| {
                    scope.spawn(move || {
                        let _carried = traffic.guard(None);
                        let content = stream.content.as_ref().map(|name| self.content(name)).transpose()?;
                        let content = content.unwrap_or_default();
                        let (from, to) = (self.ground.place(&stream.from)?, self.ground.place(&stream.to)?);
                        Flow { stream, from, to, content: &content }.run(at(stream.start_seconds), deadline)
                    })
                })
                .collect();
            let exchanges: Vec<_> = (self.scenario.exchanges.iter())
                .map(|exchange| {
                    scope.spawn(move || {
                        let _carried = traffic.guard(None);
                        let content = self.content(&exchange.content)?;
                        let client = self.ground.place(&exchange.client)?;
                        let server = self.ground.place(&exchange.server)?;
                        Talk { exchange, client, server, content: &content }
                            .run(at(exchange.start_seconds), deadline)
                    })
                })
                .collect();
            let clients = self.scenario.clients.iter().enumerate();
            let clients: Vec<_> = clients
                .map(|(number, client)| {
                    let browsing = Browsing {
                        client,
                        contents: self.contents,
                        folder: self.placeholders.folder.join(format!("client-{number}")),
                    };
                    scope.spawn(move || {
                        let _carried = traffic.guard(None);
                        browsing.run(self.ground.place(&client.place)?, ready, deadline)
                    })
                })
                .collect();
            if let Some(watcher) = self.watcher {
                scope.spawn(move || self.glimpse(ready, traffic, watcher));
            }
            let said = self.happen(&at, traffic, daemons);
            let downloads: Result<_, _> = downloads.into_iter().map(join).collect();
            let streams: Result<_, _> = streams.into_iter().map(join).collect();
            let fetches: Result<_, _> = clients.into_iter().map(join).collect();
            let exchanges: Result<_, _> = exchanges.into_iter().map(join).collect();
            Ok(Carried {
                downloads: downloads?,
                fetches: fetches?,
                streams: streams?,
                exchanges: exchanges?,
                said: said?,
            })
        })
    }

    fn download(
        &self,
        index: usize,
        ready: Instant,
        deadline: Instant,
        traffic: &Traffic,
    ) -> Result<DownloadOutcome, LabError> {
        let _carried = traffic.guard(Some(index));
        let download = &self.scenario.downloads[index];
        match download.start {
            Start::AtSeconds(seconds) => {
                let start = ready + Duration::from_secs_f64(seconds);
                std::thread::sleep(start.saturating_duration_since(Instant::now()));
            }
            Start::After(other) => traffic.wait_for_download(other),
        }
        let copy = self.copy(index);
        let transfer = Transfer {
            download,
            place: self.ground.place(&download.place)?,
            original: self.contents.join(&download.content),
            copy,
        };
        transfer.run(ready, deadline)
    }

    /// The octets of a content.
    fn content(&self, name: &str) -> Result<Vec<u8>, LabError> {
        fs::read(self.contents.join(name)).doing(|| format!("read {name}"))
    }

    /// Where the download of this index is kept.
    fn copy(&self, index: usize) -> PathBuf {
        self.placeholders.folder.join(format!("download-{index}"))
    }

    /// Reports progress until the traffic has ended.
    fn glimpse(&self, ready: Instant, traffic: &Traffic, watcher: Watcher<'_>) {
        let arrived = |index| fs::metadata(self.copy(index)).map_or(0, |file| file.len());
        while !traffic.ends_before(Instant::now() + GLIMPSES) {
            watcher(&Progress {
                seconds: ready.elapsed().as_secs_f64(),
                links: self.ground.counts().0,
                downloads: (0..self.scenario.downloads.len()).map(arrived).collect(),
            });
        }
    }

    /// Runs the events at their times while there is traffic.
    fn happen<'a>(
        &'a self,
        at: &dyn Fn(f64) -> Instant,
        traffic: &Traffic,
        daemons: &mut Daemons<'a>,
    ) -> Result<Vec<String>, LabError> {
        let mut events: Vec<_> = self.scenario.events.iter().collect();
        events.sort_by(|one, other| one.at_seconds.total_cmp(&other.at_seconds));
        let mut said = Vec::new();
        for event in events {
            if traffic.ends_before(at(event.at_seconds)) {
                break;
            }
            match &event.action {
                Action::Configure { link, direction, config } => {
                    self.ground.configure(link, *direction, config)?;
                }
                Action::Run { place, command } => {
                    let place = self.ground.place(place)?;
                    said.push(run_command(command, None, place, &self.placeholders)?);
                }
                Action::Start(name) => {
                    for daemon in self.scenario.daemons.iter().filter(|daemon| &daemon.name == name) {
                        daemons.push((daemon, self.start_daemon(daemon)?));
                    }
                }
                Action::Stop(name) => {
                    let stopped = daemons.extract_if(.., |(daemon, _)| &daemon.name == name);
                    stopped.for_each(|(_, running)| running.stop());
                }
            }
        }
        Ok(said)
    }
}

/// A thread's result; its panic is passed on.
fn join<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
