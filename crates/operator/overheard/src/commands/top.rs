//! `overheard top`: a node's live state.

use anyhow::{Context, bail};
use daemon::sockets::{cache_lines, only_node};
use daemon::status_socket::{ask, ask_history};
use dashboard::node::terminal::{Shown, View, draw};
use dashboard::node::{Gathered, Report};
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::{DefaultTerminal, restore};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Interval of requests.
const STEP: Duration = Duration::from_secs(1);

/// Show the traffic of a local node live: offered, sent, saved, lost and repaired, by station and by
/// mechanism, for the last ten minutes or the last hour
#[derive(clap::Args)]
pub struct Args {
    /// The configuration of the node; without it, the local node
    config: Option<PathBuf>,
    /// The node's status socket
    #[arg(long, conflicts_with = "config")]
    socket: Option<PathBuf>,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let socket = only_node(args.config.as_deref(), args.socket.as_deref())?;
    let mut seen = Seen { report: ask(&socket)?, gathered: Gathered::default(), notes: Vec::new() };
    if !std::io::stdout().is_terminal() {
        bail!("this draws on a terminal; `overheard status --json` tells the same to a program");
    }
    let mut view = View::default();
    seen.ask(&socket, view);
    let mut terminal = ratatui::try_init().context("cannot draw on this terminal")?;
    let watched = watch(&mut terminal, &socket, &mut view, &mut seen);
    restore();
    watched
}

/// State of the node.
struct Seen {
    report: Report,
    gathered: Gathered,
    notes: Vec<String>,
}

impl Seen {
    /// Requests newer data. Without an answer, the old data stays.
    fn ask(&mut self, socket: &Path, view: View) {
        self.notes = cache_lines();
        let asked = ask(socket).and_then(|report| {
            let silent = report.silent.iter().map(|it| format!("{} is silent: {}", it.peer, it.reason));
            self.notes.splice(0..0, silent);
            self.report = report;
            ask_history(socket, view.step, self.gathered.since_seconds())
        });
        match asked {
            Ok(series) => self.gathered.take(&series),
            Err(why) => self.notes.push(format!("what is shown is old: {why:#}")),
        }
    }
}

fn watch(
    terminal: &mut DefaultTerminal,
    socket: &Path,
    view: &mut View,
    seen: &mut Seen,
) -> anyhow::Result<()> {
    let mut next = Instant::now() + STEP;
    loop {
        let Seen { report, gathered, notes } = &*seen;
        terminal.draw(|frame| draw(frame, *view, Shown { report, gathered, notes }))?;
        if event::poll(next.saturating_duration_since(Instant::now()))? {
            let Event::Key(key) = event::read()? else { continue };
            let before = view.step;
            if ends(key) {
                return Ok(());
            }
            choose(view, key.code, gathered.peers.len());
            if view.step != before {
                seen.gathered = Gathered::default();
                seen.ask(socket, *view);
            }
        } else {
            seen.ask(socket, *view);
            next = Instant::now() + STEP;
        }
    }
}

fn ends(key: KeyEvent) -> bool {
    let interrupts = key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c');
    key.kind == KeyEventKind::Press && (interrupts || matches!(key.code, KeyCode::Char('q') | KeyCode::Esc))
}

fn choose(view: &mut View, key: KeyCode, peers: usize) {
    match key {
        KeyCode::Down | KeyCode::Char('j') | KeyCode::Tab => view.go(true, peers),
        KeyCode::Up | KeyCode::Char('k') | KeyCode::BackTab => view.go(false, peers),
        KeyCode::Char('t') => view.change_step(),
        KeyCode::Char('?') => view.legend = !view.legend,
        _ => {}
    }
}
