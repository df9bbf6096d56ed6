//! Detection of end-to-end encryption, which prevents savings: TLS (and DTLS), QUIC, SSH.
//!
//! Detection uses the bytes and not the port. A TLS stream shows the record with its hello (RFC 8446,
//! sections 4 and 5.1) anywhere in a connection (a proxy's CONNECT, STARTTLS). The port counts only if the
//! capture began within a connection, and only together with a record header.

use serde::Serialize;
use wire::inner::{TCP, UDP};

/// Encryption of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Encryption {
    /// TLS, and DTLS over UDP.
    Tls,
    /// QUIC, and Google's QUIC before it.
    Quic,
    /// Secure Shell.
    Ssh,
}

/// A payload's evidence of encryption.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sign {
    /// The flow is encrypted from here on.
    Begins(Encryption),
    /// The capture began within an encrypted flow.
    GoesOn(Encryption),
}

const CHANGE_CIPHER_SPEC: u8 = 20;
const HANDSHAKE: u8 = 22;
const APPLICATION_DATA: u8 = 23;
const CLIENT_HELLO: u8 = 1;
const SERVER_HELLO: u8 = 2;
/// The longest content of a record: 2^14 bytes, and 2,048 of expansion in TLS 1.2.
const MAX_RECORD_BYTES: u16 = (1 << 14) + 2048;
/// Ports on which TLS begins with the first byte.
const TLS_PORTS: [u16; 14] = [443, 465, 563, 636, 853, 989, 990, 992, 993, 995, 5061, 5223, 8443, 8883];

/// Examines a payload of a flow that is not known to be encrypted.
pub(crate) fn recognise(protocol: u8, ports: [u16; 2], payload: &[u8]) -> Option<Sign> {
    match protocol {
        TCP => recognise_tcp(ports, payload),
        UDP => recognise_udp(payload).map(Sign::Begins),
        _ => None,
    }
}

fn recognise_tcp(ports: [u16; 2], payload: &[u8]) -> Option<Sign> {
    if payload.starts_with(b"SSH-2.0-") || payload.starts_with(b"SSH-1.") {
        return Some(Sign::Begins(Encryption::Ssh));
    }
    if is_tls_hello(payload) {
        return Some(Sign::Begins(Encryption::Tls));
    }
    let on_tls_port = ports.iter().any(|port| TLS_PORTS.contains(port));
    (on_tls_port && is_tls_record(payload)).then_some(Sign::GoesOn(Encryption::Tls))
}

/// Content type 1, version 2, length 2.
fn is_tls_record(payload: &[u8]) -> bool {
    let Some(&[content_type, 3, minor, high, low]) = payload.first_chunk() else { return false };
    let length = u16::from_be_bytes([high, low]);
    (CHANGE_CIPHER_SPEC..=APPLICATION_DATA).contains(&content_type)
        && minor <= 4
        && (1..=MAX_RECORD_BYTES).contains(&length)
}

/// A handshake record that begins with a hello: type 1, length 3, version 2.
fn is_tls_hello(payload: &[u8]) -> bool {
    let Some(&[content_type, _, _, high, low, message, 0, _, _, 3, minor]) = payload.first_chunk() else {
        return false;
    };
    let length = u16::from_be_bytes([high, low]);
    is_tls_record(payload)
        && content_type == HANDSHAKE
        && length >= 6
        && matches!(message, CLIENT_HELLO | SERVER_HELLO)
        && minor <= 4
}

fn recognise_udp(payload: &[u8]) -> Option<Encryption> {
    if is_dtls_hello(payload) {
        return Some(Encryption::Tls);
    }
    (is_quic_long_header(payload) || is_google_quic(payload)).then_some(Encryption::Quic)
}

/// RFC 6347, section 4.1: content type, version FE FF or FE FD, epoch 0, sequence, length, handshake type.
fn is_dtls_hello(payload: &[u8]) -> bool {
    matches!(payload.first_chunk(), Some([HANDSHAKE, 0xfe, 0xff | 0xfd, 0, 0])) && {
        matches!(payload.get(13), Some(&(CLIENT_HELLO | SERVER_HELLO | 3)))
    }
}

/// RFC 9000, section 17.2: the long header's form and fixed bits, a known version, and connection ids of at
/// most 20 bytes.
fn is_quic_long_header(payload: &[u8]) -> bool {
    const VERSION_1: u32 = 1;
    const VERSION_2: u32 = 0x6b33_43cf;
    let Some(&[first, a, b, c, d, destination_id_bytes]) = payload.first_chunk() else { return false };
    let version = u32::from_be_bytes([a, b, c, d]);
    let is_draft = version >> 8 == 0x00ff_0000;
    let is_facebook = version >> 8 == 0x00fa_ceb0;
    let is_google = matches!([a, b], [b'Q' | b'T', b'0']) && c.is_ascii_digit() && d.is_ascii_digit();
    first & 0xc0 == 0xc0
        && (version == VERSION_1 || version == VERSION_2 || is_draft || is_facebook || is_google)
        && (destination_id_bytes <= 20 || is_google)
}

/// Google's QUIC up to version 43: flags with the version bit, a connection id of 8 bytes, the version.
fn is_google_quic(payload: &[u8]) -> bool {
    let (Some(&flags), Some(version)) = (payload.first(), payload.get(9..13)) else { return false };
    flags & 0x89 == 0x09 && matches!(version, [b'Q', b'0', c, d] if c.is_ascii_digit() && d.is_ascii_digit())
}
