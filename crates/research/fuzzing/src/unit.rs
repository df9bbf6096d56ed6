//! Datagrams as they arrive: a row of units, handshake messages and resets among them.

use crate::Seed;
use wire::challenge::{Asks, Challenge};
use wire::handshake::{Initiation, InitiationWithCookie, Response};
use wire::reset;
use wire::unit::{self, Kind, PLAIN, Unit, UnitError, VERSION};

/// Every unit that is read writes itself again to the same bytes.
pub fn check(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    let mut accepted = !bytes.is_empty();
    while !rest.is_empty() {
        let before = rest;
        match unit::parse(&mut rest) {
            Ok(unit) => {
                let whole = &before[..before.len() - rest.len()];
                assert!(!whole.is_empty(), "a unit takes at least a byte");
                assert_eq!([unit.header, unit.body].concat(), whole);
                writes_its_header_again(&unit, rest.is_empty());
                accepted &= check_body(&unit);
            }
            Err(UnitError::OtherVersion(version)) => {
                assert_eq!(version, before[0] >> 4);
                let spoken = if before[0] & 7 == 0 { PLAIN..=VERSION } else { 1..=1 };
                assert!(!spoken.contains(&version), "{version}");
                return false;
            }
            Err(UnitError::Malformed(_)) => return false,
        }
    }
    accepted
}

fn writes_its_header_again(unit: &Unit<'_>, last: bool) {
    let header = |followed_by| {
        let mut out = Vec::new();
        unit::emit_header(unit.kind, unit.key_id, followed_by, &mut out);
        out
    };
    let with_length = u16::try_from(unit.body.len()).ok().map(|length| header(Some(length)));
    let says_length = with_length.as_deref() == Some(unit.header);
    assert!(says_length || last && header(None) == unit.header, "{unit:?}");
}

fn check_body(unit: &Unit<'_>) -> bool {
    let mut out = Vec::new();
    match unit.kind {
        Kind::Sealed { .. } | Kind::Group { .. } => return true,
        Kind::Initiation => match Initiation::parse(unit.body) {
            Ok(initiation) => initiation.emit(&mut out),
            Err(_) => return false,
        },
        Kind::InitiationWithCookie => match InitiationWithCookie::parse(unit.body) {
            Ok(initiation) => initiation.emit(&mut out),
            Err(_) => return false,
        },
        Kind::Challenge => match Challenge::parse(unit.body) {
            Ok(challenge) => challenge.emit(&mut out),
            Err(_) => return false,
        },
        Kind::Response => match Response::parse(unit.body) {
            Ok(response) => response.emit(&mut out),
            Err(_) => return false,
        },
        Kind::Reset => match reset::parse(unit.body) {
            Ok(token) => reset::emit(token, &mut out),
            Err(_) => return false,
        },
    }
    assert_eq!(out, unit.body);
    true
}

/// Each kind of unit, and two in one datagram.
pub fn seeds() -> Vec<Seed> {
    let sealed = Kind::Sealed { version: 1, counter: 0x0102_0304 };
    let body = [0x5a; 40];
    vec![
        Seed::of("sealed", |out| {
            unit::emit_header(sealed, 7, None, out);
            out.extend_from_slice(&body);
        }),
        Seed::of("group", |out| {
            unit::emit_header(Kind::Group { counter: 5 }, 6, None, out);
            out.extend_from_slice(&body);
        }),
        Seed::of("two-units", |out| {
            unit::emit_header(sealed, 7, Some(40), out);
            out.extend_from_slice(&body);
            unit::emit_header(Kind::Reset, 8, None, out);
            reset::emit([9; 16], out);
        }),
        Seed::of("initiation", |out| {
            unit::emit_header(Kind::Initiation, 0x00ff_ffff, None, out);
            Initiation { mark: [1; 16], noise: &[2; 136] }.emit(out);
        }),
        Seed::of("initiation-with-cookie", |out| {
            unit::emit_header(Kind::InitiationWithCookie, 0x00ff_ffff, None, out);
            InitiationWithCookie { mark: [1; 16], cookie_mark: [5; 16], noise: &[2; 136] }.emit(out);
        }),
        Seed::of("challenge", |out| {
            unit::emit_header(Kind::Challenge, 1, None, out);
            Challenge { salt: [6; 16], asks: Asks::Cookie([7; 32]) }.emit(out);
        }),
        Seed::of("response", |out| {
            unit::emit_header(Kind::Response, 1, None, out);
            Response { key_id: 2, mark: [3; 16], noise: &[4; 88] }.emit(out);
        }),
        Seed::of("reset", |out| {
            unit::emit_header(Kind::Reset, 1, None, out);
            reset::emit([9; 16], out);
        }),
    ]
}
