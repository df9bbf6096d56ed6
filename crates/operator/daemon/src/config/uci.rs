//! OpenWrt's configuration (UCI): /etc/config/overheard becomes the TOML of one tunnel.
//!
//! A section `tunnel 'NAME'` has the keys of `[node]` and `[tunnel]`; NAME is the interface. Other sections
//! are the tables of the TOML file, and their options its keys. [`grammar`] reads the file, [`keys`] has the
//! type of each option, since all values of UCI are text.

mod grammar;
mod keys;

use super::Mistake;
use super::mistake::nearest;
use grammar::{Section, Values};
pub use keys::KEYS;
use keys::{Kind, Place};
use std::fmt::Write as _;
use std::path::Path;

/// The folder of relative paths. The TOML file is in memory, and keys are not.
const FOLDER: &str = "/etc/overheard";
/// The most bytes of a file.
const MAX_BYTES: usize = 256 << 10;
/// Sections that are no part of a tunnel: the service runs a web cache by its own file.
const OTHER_SECTIONS: [&str; 1] = ["cache"];
/// Options for the service and for this translation.
const OWN_OPTIONS: [&str; 2] = ["enabled", "tunnel"];

/// The TOML configuration of the tunnel with this name, from the text of the UCI file at `path`.
///
/// # Errors
///
/// If the file has a mistake. The sentence names the line and the option.
pub fn translate(path: &Path, text: &str, tunnel: &str) -> Result<String, Mistake> {
    let file = Uci { path };
    if text.len() > MAX_BYTES {
        return Err(
            file.mistake(1, format!("the file has more than {MAX_BYTES} bytes; remove what is unused"))
        );
    }
    let sections = grammar::parse(text).map_err(|(line, what)| file.mistake(line, what))?;
    sections.iter().try_for_each(|section| file.check(section))?;
    let tunnels: Vec<&str> = sections.iter().filter_map(Section::tunnel).collect();
    let Some(own) = sections.iter().find(|section| section.tunnel() == Some(tunnel)) else {
        let what = if tunnels.is_empty() { "none".to_owned() } else { tunnels.join(", ") };
        return Err(Mistake::new(format!(
            "{}: there is no section tunnel '{tunnel}'; the tunnels are: {what}",
            path.display()
        )));
    };
    let mut toml = format!("# Made from {} by `overheard uci {tunnel}`: change that file.\n", path.display());
    for place in [Place::Top, Place::Node, Place::Tunnel] {
        file.emit_place(own, place, &mut toml)?;
    }
    let mut single: Vec<&str> = Vec::new();
    for section in sections.iter().filter(|section| keys::is_table(&section.kind)) {
        if file.tunnel_of(section, &tunnels)? != tunnel {
            continue;
        }
        let kind = section.kind.as_str();
        if keys::repeats(kind) {
            let _ = writeln!(toml, "\n[[{kind}]]");
        } else if single.contains(&kind) {
            let what = format!("a second section {kind} of tunnel '{tunnel}'; join the two");
            return Err(file.mistake(section.line, what));
        } else {
            single.push(kind);
            let _ = writeln!(toml, "\n[{kind}]");
        }
        file.emit_options(section, Place::Table, &mut toml)?;
    }
    Ok(toml)
}

/// A file, for its mistakes.
struct Uci<'a> {
    path: &'a Path,
}

impl Uci<'_> {
    fn mistake(&self, line: usize, what: impl std::fmt::Display) -> Mistake {
        Mistake::new(format!("{}:{line}: {what}", self.path.display()))
    }

    /// Refuses unknown sections and options, also those of other tunnels.
    fn check(&self, section: &Section) -> Result<(), Mistake> {
        let kind = section.kind.as_str();
        if OTHER_SECTIONS.contains(&kind) {
            return Ok(());
        }
        if kind != "tunnel" && !keys::is_table(kind) {
            let known = keys::tables();
            return Err(self.mistake(section.line, unknown("section", kind, &known)));
        }
        match &section.name {
            None if kind == "tunnel" => {
                let what =
                    "a section tunnel has no name; write the interface behind it: config tunnel 'overheard0'";
                return Err(self.mistake(section.line, what));
            }
            _ => {}
        }
        for option in &section.options {
            let name = option.name.as_str();
            if !OWN_OPTIONS.contains(&name) && keys::find(kind, name).is_none() {
                let known: Vec<&str> = keys::of_section(kind).chain(OWN_OPTIONS).collect();
                let what = format!("{} in section {kind}", unknown("option", name, &known));
                return Err(self.mistake(option.line, what));
            }
        }
        Ok(())
    }

    /// The tunnel of a table.
    fn tunnel_of<'a>(&self, section: &'a Section, tunnels: &[&'a str]) -> Result<&'a str, Mistake> {
        let kind = &section.kind;
        match (section.text("tunnel"), tunnels) {
            (Some(name), _) if tunnels.contains(&name) => Ok(name),
            (Some(name), _) => {
                Err(self.mistake(section.line, unknown(&format!("tunnel of section {kind}:"), name, tunnels)))
            }
            (None, [only]) => Ok(only),
            (None, _) => {
                let what = format!(
                    "section {kind} names no tunnel, and there are several; add: option tunnel 'NAME'"
                );
                Err(self.mistake(section.line, what))
            }
        }
    }

    /// Writes one table of a section `tunnel`, with the values that OpenWrt's folders ask for.
    fn emit_place(&self, section: &Section, place: Place, toml: &mut String) -> Result<(), Mistake> {
        let name = section.name.as_deref().unwrap_or_default();
        match place {
            Place::Node => toml.push_str("\n[node]\n"),
            Place::Tunnel => {
                let _ = writeln!(toml, "\n[tunnel]\ninterface = {}", quoted(name));
            }
            Place::Top | Place::Table => {}
        }
        self.emit_options(section, place, toml)?;
        if place == Place::Node {
            // /var is in memory on a router: revoked keys have to outlive it.
            let revoked = format!("{name}.revoked");
            for (key, file) in [
                ("private_key_file", "keys/private.key"),
                ("network_key_file", "keys/network.key"),
                ("revoked_file", revoked.as_str()),
            ] {
                if section.text(key).is_none() {
                    let _ = writeln!(toml, "{key} = {}", quoted(&absolute(file)));
                }
            }
        }
        Ok(())
    }

    fn emit_options(&self, section: &Section, place: Place, toml: &mut String) -> Result<(), Mistake> {
        for option in &section.options {
            let Some(key) = keys::find(&section.kind, &option.name).filter(|key| key.place == place) else {
                continue;
            };
            let wrong = |what: String| self.mistake(option.line, format!("{}: {what}", option.name));
            let value = match (&option.values, key.kind) {
                (Values::One(text), _) if text.is_empty() => continue,
                (Values::One(text), Kind::List(of)) => {
                    format!("[{}]", of.value(text).map_err(wrong)?)
                }
                (Values::One(text), Kind::One(of)) => of.value(text).map_err(wrong)?,
                (Values::List(all), Kind::List(of)) => {
                    let all: Result<Vec<String>, String> = all.iter().map(|text| of.value(text)).collect();
                    format!("[{}]", all.map_err(wrong)?.join(", "))
                }
                (Values::List(_), Kind::One(_)) => {
                    return Err(wrong(
                        "is a list and has one value only; write option in place of list".to_owned(),
                    ));
                }
            };
            let _ = writeln!(toml, "{} = {value}", key.name);
        }
        Ok(())
    }
}

/// The sentence about an unknown name.
fn unknown(what: &str, name: &str, known: &[&str]) -> String {
    match nearest(name, known) {
        Some(meant) => format!("unknown {what} {name:?}; did you mean {meant:?}?"),
        None if known.is_empty() => format!("unknown {what} {name:?}; there are none"),
        None => format!("unknown {what} {name:?}; there are {}", known.join(", ")),
    }
}

/// TOML text in quotes.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// A path that does not depend on the place of the TOML file.
fn absolute(path: &str) -> String {
    Path::new(FOLDER).join(path).to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests;
