//! The reference of commands as Markdown, generated from the command line's definition.

use clap::builder::StyledStr;
use clap::{Arg, ArgAction, Command};
use std::fmt::Write as _;

/// A chapter for `command`, with a section for each visible subcommand.
#[must_use]
pub fn markdown(mut command: Command) -> String {
    command.build();
    let mut page = String::new();
    section(&command, &mut page, 2);
    page
}

fn section(command: &Command, page: &mut String, depth: usize) {
    let name = command.get_bin_name().unwrap_or(command.get_name());
    let _ = writeln!(page, "{} {name}\n", "#".repeat(depth));
    if let Some(about) = command.get_long_about().or(command.get_about()) {
        let _ = writeln!(page, "{}\n", sentence(about));
    }
    let usage = command.clone().render_usage().to_string();
    let _ = writeln!(page, "```text\n{}\n```\n", usage.trim_start_matches("Usage: "));
    let arguments: Vec<&Arg> = command.get_arguments().filter(|argument| is_shown(argument, depth)).collect();
    if !arguments.is_empty() {
        page.push_str("| argument | default | |\n|---|---|---|\n");
        arguments.into_iter().for_each(|argument| row(argument, page));
        page.push('\n');
    }
    for subcommand in command.get_subcommands() {
        if !subcommand.is_hide_set() && subcommand.get_name() != "help" {
            section(subcommand, page, 3.max(depth + 1));
        }
    }
}

/// Whether an argument is shown: global options appear only at the program.
fn is_shown(argument: &Arg, depth: usize) -> bool {
    let of_clap = matches!(
        argument.get_action(),
        ArgAction::Help | ArgAction::HelpShort | ArgAction::HelpLong | ArgAction::Version
    );
    !argument.is_hide_set() && !of_clap && (depth == 2 || !argument.is_global_set())
}

fn row(argument: &Arg, page: &mut String) {
    let values = argument.get_value_names().unwrap_or_default();
    let value = values.iter().map(|name| format!("<{name}>")).collect::<Vec<_>>().join(" ");
    let takes_value = argument.get_action().takes_values();
    let name = match (argument.get_long(), argument.get_short()) {
        (Some(long), Some(short)) => format!("-{short}, --{long}"),
        (Some(long), None) => format!("--{long}"),
        (None, Some(short)) => format!("-{short}"),
        (None, None) => String::new(),
    };
    let name = if takes_value { format!("{name} {value}") } else { name };
    let defaults = argument.get_default_values().iter().map(|value| value.to_string_lossy());
    let default = match defaults.collect::<Vec<_>>().join(", ") {
        _ if !takes_value => "off".to_owned(),
        none if none.is_empty() => if argument.is_required_set() { "required" } else { "none" }.to_owned(),
        values => format!("`{values}`"),
    };
    let mut meaning = argument.get_long_help().or(argument.get_help()).map(sentence).unwrap_or_default();
    let possible = argument.get_possible_values();
    if takes_value && !possible.is_empty() {
        let possible = possible.iter().filter(|value| !value.is_hide_set());
        let possible: Vec<String> = possible.map(|value| format!("`{}`", value.get_name())).collect();
        let _ = write!(meaning, " One of {}.", possible.join(", "));
    }
    let _ = writeln!(page, "| `{}` | {default} | {} |", name.trim(), meaning.trim());
}

/// A help text as one line in which each paragraph ends with a full stop. Angle brackets are escaped for
/// HTML.
fn sentence(text: &StyledStr) -> String {
    let text = text.to_string().replace('|', "\\|").replace('<', "\\<");
    let paragraph = |paragraph: &str| {
        let line = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
        if line.is_empty() || line.ends_with(['.', '!', '?', ':']) { line } else { line + "." }
    };
    text.split("\n\n").map(paragraph).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_names_each_command_and_option_but_hidden_ones() {
        let folder = Arg::new("folder").long("out").value_name("DIR").help("The folder");
        let hidden = Arg::new("hidden").long("hidden").hide(true).action(ArgAction::SetTrue);
        let file = Arg::new("file").value_name("FILE").required(true).help("What is read");
        let make = Command::new("make").about("Make it").args([folder, hidden, file]);
        let page = markdown(Command::new("program").subcommand(make));
        assert!(page.contains("### program make\n\nMake it.\n"), "{page}");
        assert!(page.contains("| `--out <DIR>` | none | The folder. |\n"), "{page}");
        assert!(page.contains("| `<FILE>` | required | What is read. |\n"), "{page}");
        assert!(!page.contains("hidden") && !page.contains("--help"), "{page}");
    }
}
