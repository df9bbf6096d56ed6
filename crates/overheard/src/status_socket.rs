//! The Unix socket through which a running node is asked: one connection a question, a line to ask, JSON to answer.

use crate::config::{Mistake, Role};
use anyhow::{Context, bail};
use io::{Control, Snapshot};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long either end waits for the other.
const PATIENCE: Duration = Duration::from_secs(2);
/// The longest question.
const QUESTION_BYTES: u64 = 64;
/// The longest answer that is read.
const ANSWER_BYTES: u64 = 64 << 20;
const STATUS: &str = "status";

/// What does not change while a node runs.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct About {
    /// The program's version.
    pub version: String,
    /// The configuration file.
    pub config: PathBuf,
    /// `gateway` or `station`.
    pub role: String,
    /// The TUN device's name.
    pub interface: String,
    /// Its MTU in bytes.
    pub mtu: u16,
    /// Where it listens.
    pub listen: String,
    /// What TCP senders here are boosted by, or why they are not; none where nobody asked for it.
    #[serde(default)]
    pub boost: Option<String>,
}

impl About {
    /// Of a node that has been set up.
    pub fn new(config: &Path, role: Role, settings: &io::Settings, listen: std::net::SocketAddr) -> Self {
        About {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            config: config.to_owned(),
            role: role.to_string(),
            interface: settings.interface.clone(),
            mtu: settings.mtu,
            listen: listen.to_string(),
            boost: None,
        }
    }
}

/// The answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Report {
    /// What does not change.
    #[serde(flatten)]
    pub about: About,
    /// What does.
    #[serde(flatten)]
    pub snapshot: Snapshot,
    /// Of TCP connections that are split; none where none are.
    #[serde(default)]
    pub split: Option<split::Counts>,
}

/// A bound socket, removed when dropped.
pub struct StatusSocket {
    listener: UnixListener,
    path: PathBuf,
}

impl StatusSocket {
    /// Binds to `path`, whose directory is made if need be. A socket that nobody answers on any more is replaced.
    pub fn bind(path: &Path, config: &Path) -> Result<Self, Mistake> {
        let mistake = |what: String| Mistake::at(config, "[node] status_socket", what);
        if let Some(directory) = path.parent() {
            fs::DirBuilder::new().recursive(true).mode(0o755).create(directory).map_err(|why| {
                mistake(format!(
                    "cannot make the directory {}: {why}; choose another path",
                    directory.display()
                ))
            })?;
        }
        if UnixStream::connect(path).is_ok() {
            let what =
                format!("a node answers on {} already; stop it or choose another path", path.display());
            return Err(mistake(what));
        }
        let bound = UnixListener::bind(path).or_else(|why| match why.kind() {
            ErrorKind::AddrInUse => fs::remove_file(path).and_then(|()| UnixListener::bind(path)),
            _ => Err(why),
        });
        let listener = bound.map_err(|why| {
            mistake(format!("cannot listen on {}: {why}; choose another path", path.display()))
        })?;
        let socket = StatusSocket { listener, path: path.to_owned() };
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))
            .map_err(|why| mistake(format!("cannot protect {}: {why}", path.display())))?;
        Ok(socket)
    }

    /// Answers questions on a thread of its own until the process ends.
    pub fn serve(&self, about: About, control: Control, split: Option<split::Watch>) -> anyhow::Result<()> {
        let listener = self.listener.try_clone().context("cannot share the status socket")?;
        std::thread::Builder::new()
            .name("status".to_owned())
            .spawn(move || {
                for stream in listener.incoming() {
                    let Ok(stream) = stream else { continue };
                    if let Err(error) = answer(&stream, &about, &control, split.as_ref()) {
                        tracing::debug!("status: {error:#}");
                    }
                }
            })
            .context("cannot start the thread that answers status questions")?;
        Ok(())
    }
}

impl Drop for StatusSocket {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

fn answer(
    mut stream: &UnixStream,
    about: &About,
    control: &Control,
    split: Option<&split::Watch>,
) -> anyhow::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut question = String::new();
    BufReader::new(stream.take(QUESTION_BYTES)).read_line(&mut question)?;
    if question.trim() != STATUS {
        bail!("asked for {question:?}");
    }
    let (snapshot, split) = (control.status(PATIENCE)?, split.map(split::Watch::counts));
    let report = Report { about: about.clone(), snapshot, split };
    stream.write_all(&serde_json::to_vec(&report)?)?;
    Ok(())
}

/// Asks the node that answers on `path`.
pub fn ask(path: &Path) -> anyhow::Result<Report> {
    let mut stream = UnixStream::connect(path).map_err(|why| match why.kind() {
        ErrorKind::NotFound | ErrorKind::ConnectionRefused => {
            anyhow::anyhow!(
                "no node runs here: nobody answers on {}; start one with `overheard up`",
                path.display()
            )
        }
        ErrorKind::PermissionDenied => {
            anyhow::anyhow!("no right to ask on {}; run as root", path.display())
        }
        _ => anyhow::anyhow!("cannot ask on {}: {why}", path.display()),
    })?;
    stream.set_read_timeout(Some(2 * PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let no_answer = || format!("the node on {} does not answer", path.display());
    writeln!(stream, "{STATUS}").with_context(no_answer)?;
    let mut text = String::new();
    stream.take(ANSWER_BYTES).read_to_string(&mut text).with_context(no_answer)?;
    serde_json::from_str(&text)
        .with_context(|| format!("the node on {} answers in a form that is not known here", path.display()))
}
