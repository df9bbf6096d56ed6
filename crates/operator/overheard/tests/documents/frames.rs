//! The dissector's tables and the specification's table have the frame types of the code.

#![allow(clippy::unwrap_used)] // a test fails by panicking

use crate::reference::hold_between;
use crate::support::documents::read;
use std::fmt::Write as _;
use wire::frame::{Class, FrameType};

/// A table of Lua with the numbers of the types for which `has` is true.
fn numbers(name: &str, has: impl Fn(FrameType) -> bool) -> String {
    let numbers = FrameType::ALL.iter().filter(|it| has(**it));
    let entries: Vec<String> = numbers.map(|it| format!("[{}] = true", *it as u8)).collect();
    format!("local {name} = {{ {} }}", entries.join(", "))
}

#[test]
fn the_dissector_knows_the_frame_types() {
    let mut made = String::from("local FRAMES = {\n");
    for frame_type in FrameType::ALL {
        writeln!(made, "    [{}] = {:?},", *frame_type as u8, frame_type.name()).unwrap();
    }
    made += "}\n-- Frames that take a link sequence, and those that name an earlier one.\n";
    made += &numbers("TAKES", FrameType::takes_sequence);
    made.push('\n');
    made += &numbers("NAMES", FrameType::names_sequence);
    let lines = ("-- made: BEGIN frame types", "-- made: END frame types");
    hold_between("packaging/wireshark/overheard.lua", lines, &made);
}

/// Number, name and sequence column of the rows below this head.
fn rows(page: &str, head: &str) -> Vec<(u8, String, String)> {
    let (_, table) = page.split_once(head).expect("the table is there");
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let cells = rows.map(|row| row.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>());
    cells.map(|cells| (cells[1].parse().unwrap(), cells[2].clone(), cells[3].clone())).collect()
}

#[test]
fn the_specification_has_the_frame_types() {
    let rows = rows(&read("docs/wire-format.md"), "| type | name | takes a sequence | body |");
    assert_eq!(rows.len(), FrameType::ALL.len());
    for ((number, name, takes), frame_type) in rows.into_iter().zip(FrameType::ALL) {
        assert_eq!((number, name.as_str()), (*frame_type as u8, frame_type.name()));
        let takes_one = matches!(frame_type.class(), Class::Packet | Class::Head);
        // coded repairs and natives say themselves when they take one
        assert!(takes_one == (takes == "yes") || ["coded", "natives"].contains(&frame_type.name()), "{name}");
    }
}
