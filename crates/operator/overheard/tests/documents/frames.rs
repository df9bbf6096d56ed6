//! The dissector's tables and the specification's table have the frame types of the code.

#![allow(clippy::unwrap_used)] // a test fails by panicking

use crate::reference::hold_between;
use crate::support::documents::{read, workspace};
use crate::support::has;
use capture::{AnnotatedWriter, Interface, LinkType};
use std::fmt::Write as _;
use std::process::Command;
use std::time::Duration;
use wire::frame::{self, Class, FrameType};
use wire::stream::{Abort, Cause, Credit, Data, End, Name, Open, Stored};

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

/// A unit as the interface `opened` of a capture has it, with a frame of each type of streams.
fn opened_unit_of_streams() -> Vec<u8> {
    let name = Name { number: 300, is_own: true };
    let mut bodies: [Vec<u8>; 7] = Default::default();
    let [open, open_ipv6, data, end, credit, abort, stored] = &mut bodies;
    let ends = |source: &str, destination: &str| Open {
        name,
        source: source.parse().unwrap(),
        destination: destination.parse().unwrap(),
    };
    ends("10.0.0.2:5000", "10.0.0.1:80").emit(open);
    ends("[fd00::2]:5001", "[fd00::1]:443").emit(open_ipv6);
    Data::emit_front(name, 4000, data);
    data.extend_from_slice(b"content");
    End::emit(name, 4007, end);
    Credit::emit(name.of_other_end(), 16_384, credit);
    Abort { name, cause: Cause::Silent }.emit(abort);
    Stored { first: 7, count: 300 }.emit(stored);
    // version 1, sealed; key id; counter
    let mut unit = vec![0x10, 0, 0, 9, 0, 0, 7];
    frame::emit_sequence(100, &mut unit);
    let types = [
        FrameType::StreamOpen,
        FrameType::StreamOpen,
        FrameType::StreamData,
        FrameType::StreamEnd,
        FrameType::StreamCredit,
        FrameType::StreamAbort,
        FrameType::StreamStored,
    ];
    types.iter().zip(&bodies).for_each(|(frame_type, body)| frame::emit(*frame_type, body, &mut unit));
    unit
}

#[test]
fn the_dissector_reads_the_fields_of_streams() {
    if !has("tshark", "tshark") {
        return;
    }
    let folder = tempfile::TempDir::new().unwrap();
    let file = folder.path().join("streams.pcapng");
    let interface = Interface { name: "opened", description: "units", link_type: LinkType(147) };
    let mut bytes = Vec::new();
    let mut writer = AnnotatedWriter::new(&mut bytes, "test", &[interface]).unwrap();
    writer.write(0, Duration::ZERO, &opened_unit_of_streams(), "").unwrap();
    writer.flush().unwrap();
    std::fs::write(&file, bytes).unwrap();
    let script = workspace().join("packaging/wireshark/overheard.lua");
    let fields = |names: &[&str]| -> String {
        let mut tshark = Command::new("tshark");
        tshark.arg("-X").arg(format!("lua_script:{}", script.display())).arg("-r").arg(&file);
        tshark.args(["-T", "fields", "-E", "separator= "]);
        names.iter().for_each(|name| _ = tshark.args(["-e", name]));
        let output = tshark.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    };
    assert_eq!(
        fields(&["overheard.frame", "overheard.stream"]),
        "37,37,38,39,40,41,42 300,300,300,300,300,300"
    );
    let source = ["source", "source_ipv6", "source_port"].map(|name| format!("overheard.stream.{name}"));
    assert_eq!(fields(&source.each_ref().map(String::as_str)), "10.0.0.2 fd00::2 5000,5001");
    let destination = source.map(|name| name.replace("source", "destination"));
    assert_eq!(fields(&destination.each_ref().map(String::as_str)), "10.0.0.1 fd00::1 80,443");
    let rest = ["offset", "bytes", "end", "limit", "cause", "record", "records"]
        .map(|name| format!("overheard.stream.{name}"));
    assert_eq!(fields(&rest.each_ref().map(String::as_str)), "4000 636f6e74656e74 4007 16384 2 7 300");
    assert_eq!(fields(&["overheard.malformed", "_ws.lua.error"]), "", "each frame makes sense");
}
