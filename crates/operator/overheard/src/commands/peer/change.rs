//! `overheard peer add` and `remove`.

use super::WhichOne;
use anyhow::Context;
use console::say;
use daemon::config::{Change, Mistake};
use daemon::sockets::only_node;
use daemon::status_socket::{ask, change};
use dashboard::node::Report;
use std::fs;
use std::path::PathBuf;

/// Changes the peers of one running node. `writes`: also in its configuration.
pub fn make(wanted: &Change, which: &WhichOne, writes: bool) -> anyhow::Result<()> {
    let socket = only_node(which.config.as_deref(), which.socket.as_deref())?;
    let report = ask(&socket)?;
    // Before anything changes, it is clear what the file will have.
    let file = if writes { Some(changed_file(wanted, which, &report)?) } else { None };
    change(&socket, wanted)?;
    let interface = &report.about.interface;
    match wanted {
        Change::Add(new) => say!("{interface}: {} is a peer now", new.name)?,
        Change::Remove(name) => say!("{interface}: {name} is no peer any more, and its session is over")?,
    }
    let Some((file, text)) = file else {
        return Ok(say!(
            "the configuration is as before: a reload or restart undoes this; --write changes it, too"
        )?);
    };
    Change::write(&file, &text).with_context(|| {
        let file = file.display();
        format!("the running node has the change, and {file} does not; write it there, or a reload undoes it")
    })?;
    Ok(say!("{}: the change is written", file.display())?)
}

/// The configuration of a node, and its text after a change.
fn changed_file(wanted: &Change, which: &WhichOne, report: &Report) -> anyhow::Result<(PathBuf, String)> {
    let named = which.config.as_ref().unwrap_or(&report.about.config);
    if which.config.is_none() && named.is_relative() {
        let what = format!(
            "--write needs the path of the configuration here: the node was started with {}, which is relative; name it \
             behind the peer",
            named.display()
        );
        return Err(Mistake::new(what).into());
    }
    let text = fs::read_to_string(named)
        .map_err(|why| Mistake::new(format!("cannot read the configuration {}: {why}", named.display())))?;
    let text = wanted.apply(named, &text)?;
    Ok((named.clone(), text))
}
