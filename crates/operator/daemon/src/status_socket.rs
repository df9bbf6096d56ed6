//! The Unix socket of a running node: one request a connection, one line a request, JSON answers.
//!
//! `status` returns the node's current [`Report`]. `history STEP SINCE` returns a [`Series`] of steps of 1 or
//! 10 seconds that ended after that second of its uptime. `capture` streams all traffic from then on
//! ([`capture_stream`]). `revoke KEY` revokes a peer's key, and returns [`Revoked`] or the reason of a
//! failure. `change CHANGE` changes the peers by a [`Change`] in JSON, and returns nothing or a [`Refusal`].

#[cfg(feature = "capture")]
use crate::capture_stream;
use crate::config::{Change, Mistake};
use crate::reload::{CHANGE_BYTES, Refusal, Running};
use crate::revocations::Revocations;
use anyhow::{Context, bail};
use dashboard::node::{About, Known, Report, Series, Step};
use io::Control;
use node::PublicKey;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Timeout of either end.
const PATIENCE: Duration = Duration::from_secs(2);
/// Timeout of a change: names may have to be looked up.
const CHANGED_WITHIN: Duration = Duration::from_secs(20);
/// The longest answer.
const ANSWER_BYTES: u64 = 64 << 20;
const STATUS: &str = "status";
const HISTORY: &str = "history";
const CAPTURE: &str = "capture";
const REVOKE: &str = "revoke";
const CHANGE: &str = "change";

/// Result of a revocation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revoked {
    /// The file of revoked keys.
    pub file: PathBuf,
    /// Reason why the key is not saved there.
    pub not_saved: Option<String>,
}

/// A bound socket, removed when dropped.
pub struct StatusSocket {
    listener: UnixListener,
    path: PathBuf,
}

impl StatusSocket {
    /// Fails if a node already answers at `path`, before anything shared is set up.
    pub fn refuse_taken(path: &Path, config: &Path) -> Result<(), Mistake> {
        if UnixStream::connect(path).is_ok() {
            let what =
                format!("a node answers on {} already; stop it or choose another path", path.display());
            return Err(mistake(config, what));
        }
        Ok(())
    }

    /// Creates the directory of `path` if needed.
    pub fn make_folder(path: &Path, config: &Path) -> Result<(), Mistake> {
        let Some(directory) = path.parent() else { return Ok(()) };
        fs::DirBuilder::new().recursive(true).mode(0o755).create(directory).map_err(|why| {
            let directory = directory.display();
            mistake(config, format!("cannot make the directory {directory}: {why}; choose another path"))
        })
    }

    /// Binds to `path` in an existing directory. A stale socket is replaced. The socket's presence means that
    /// the tunnel runs, so it comes last.
    pub fn bind(path: &Path, config: &Path) -> Result<Self, Mistake> {
        Self::refuse_taken(path, config)?;
        let bound = UnixListener::bind(path).or_else(|why| match why.kind() {
            ErrorKind::AddrInUse => fs::remove_file(path).and_then(|()| UnixListener::bind(path)),
            _ => Err(why),
        });
        let listener = bound.map_err(|why| {
            mistake(config, format!("cannot listen on {}: {why}; choose another path", path.display()))
        })?;
        let socket = StatusSocket { listener, path: path.to_owned() };
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))
            .map_err(|why| mistake(config, format!("cannot protect {}: {why}", path.display())))?;
        Ok(socket)
    }

    /// Answers requests in a thread of its own until the process ends.
    pub fn serve(
        &self,
        about: About,
        control: Control,
        known: Option<Arc<Known>>,
        (split, revocations, running): (Option<split::Watch>, Revocations, Running),
    ) -> anyhow::Result<()> {
        let listener = self.listener.try_clone().context("cannot share the status socket")?;
        std::thread::Builder::new()
            .name("status".to_owned())
            .spawn(move || {
                for stream in listener.incoming() {
                    let Ok(stream) = stream else { continue };
                    let more = (split.as_ref(), &revocations, &running);
                    if let Err(error) = answer(&stream, &about, &control, known.as_deref(), more) {
                        tracing::debug!("status: {error:#}");
                    }
                }
            })
            .context("cannot start the thread that answers status questions")?;
        Ok(())
    }
}

fn mistake(config: &Path, what: String) -> Mistake {
    Mistake::at(config, "[node] status_socket", what)
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
    known: Option<&Known>,
    (split, revocations, running): (Option<&split::Watch>, &Revocations, &Running),
) -> anyhow::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut question = String::new();
    BufReader::new(stream.take(CHANGE_BYTES)).read_line(&mut question)?;
    if let Some(change) = question.strip_prefix(CHANGE) {
        return change_here(stream.try_clone()?, change, running.clone());
    }
    let words: Vec<&str> = question.split_whitespace().collect();
    let answer = match (words.as_slice(), known) {
        ([STATUS], _) => {
            let (snapshot, split) = (control.status(PATIENCE)?, split.map(split::Watch::counts));
            let silent = known.map(Known::silent).unwrap_or_default();
            serde_json::to_vec(&Report { about: about.clone(), snapshot, split, silent })?
        }
        ([HISTORY, step, since], Some(known)) => {
            let step =
                step.parse().ok().and_then(Step::of_seconds).context("a step of so long is not kept")?;
            serde_json::to_vec(&known.series(step, since.parse()?))?
        }
        ([REVOKE, key], _) => serde_json::to_vec(&revoke_here(key, control, (revocations, running)))?,
        #[cfg(feature = "capture")]
        ([CAPTURE], _) => return capture_stream::begin(stream.try_clone()?, control, about.listen.parse()?),
        _ => bail!("asked for {question:?}"),
    };
    stream.write_all(&answer)?;
    Ok(())
}

/// Saves the key first, so that a node killed in between starts without the peer.
fn revoke_here(
    key: &str,
    control: &Control,
    (revocations, running): (&Revocations, &Running),
) -> Result<Revoked, String> {
    let key: PublicKey = key.parse().map_err(|why: node::NotAKey| why.to_string())?;
    let status = control.status(PATIENCE).map_err(|why| why.to_string())?;
    let text = key.to_string();
    let peer = status.node.peers.iter().find(|peer| peer.public_key == text).ok_or("no peer has this key")?;
    let not_saved = revocations.add(&key, &peer.name).err().map(|why| format!("{why:#}"));
    if !control.revoke(key, PATIENCE).map_err(|why| why.to_string())? {
        return Err("no peer has this key".to_owned());
    }
    running.note_revoked(key, not_saved.is_none());
    Ok(Revoked { file: revocations.file().to_owned(), not_saved })
}

/// Changes the peers in a thread of its own, because a look-up of a name may take longer than other requests
/// wait. One change at a time is made, and others are refused.
fn change_here(mut stream: UnixStream, change: &str, running: Running) -> anyhow::Result<()> {
    let change: Change = serde_json::from_str(change)?;
    let answer = move || {
        let changed = running.change(&change).map_err(Refusal::from);
        let written = serde_json::to_vec(&changed).map(|answer| stream.write_all(&answer));
        if !matches!(written, Ok(Ok(()))) {
            tracing::debug!("nobody waits for the answer to a change of peers");
        }
    };
    std::thread::Builder::new().name("change".to_owned()).spawn(answer).context("cannot start a thread")?;
    Ok(())
}

/// Makes the node at `path` change its peers.
///
/// # Errors
///
/// If no node answers, or it refuses; a [`Mistake`] if the change is wrong.
pub fn change(path: &Path, change: &Change) -> anyhow::Result<()> {
    let question = format!("{CHANGE} {}", serde_json::to_string(change)?);
    if question.len() as u64 >= CHANGE_BYTES {
        bail!(Mistake::new(format!("the change has more than {CHANGE_BYTES} bytes; write it into the file")));
    }
    let changed: Result<(), Refusal> = put(path, &question, CHANGED_WITHIN)?;
    changed.map_err(|Refusal { sentence, is_mistake }| match is_mistake {
        true => Mistake::new(sentence).into(),
        false => anyhow::anyhow!(sentence),
    })
}

/// Makes the node at `path` revoke a peer's key.
///
/// # Errors
///
/// If no node answers, or none of its peers has this key.
pub fn revoke(path: &Path, key: &str) -> anyhow::Result<Revoked> {
    let answer: Result<Revoked, String> = put(path, &format!("{REVOKE} {key}"), 2 * PATIENCE)?;
    answer.map_err(|why| anyhow::anyhow!("the key is not revoked: {why}"))
}

/// Requests the status of the node at `path`.
pub fn ask(path: &Path) -> anyhow::Result<Report> {
    put(path, STATUS, 2 * PATIENCE)
}

/// Requests the node's history since a second of its uptime.
pub fn ask_history(path: &Path, step: Step, since_seconds: f64) -> anyhow::Result<Series> {
    put(path, &format!("{HISTORY} {} {since_seconds}", step.seconds()), 2 * PATIENCE)
}

/// Requests all traffic as pcapng, until the stream is dropped.
pub fn capture(path: &Path) -> anyhow::Result<UnixStream> {
    let mut stream = open(path)?;
    writeln!(stream, "{CAPTURE}")
        .with_context(|| format!("the node on {} does not answer", path.display()))?;
    Ok(stream)
}

fn open(path: &Path) -> anyhow::Result<UnixStream> {
    let stream = UnixStream::connect(path).map_err(|why| match why.kind() {
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
    Ok(stream)
}

fn put<T: DeserializeOwned>(path: &Path, question: &str, patience: Duration) -> anyhow::Result<T> {
    let mut stream = open(path)?;
    stream.set_read_timeout(Some(patience))?;
    let no_answer = || format!("the node on {} does not answer", path.display());
    writeln!(stream, "{question}").with_context(no_answer)?;
    let mut text = String::new();
    stream.take(ANSWER_BYTES).read_to_string(&mut text).with_context(no_answer)?;
    serde_json::from_str(&text)
        .with_context(|| format!("the node on {} answers in a form that is not known here", path.display()))
}
