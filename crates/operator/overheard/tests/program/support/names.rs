//! A name server that knows one name and answers no other.

use std::net::{Ipv4Addr, UdpSocket};

/// Octets of a message's head (RFC 1035 section 4.1.1).
const HEAD: usize = 12;

/// Answers on port 53 of every address in the calling thread's namespace, as long as the process lives.
pub fn serve(name: &'static str, address: Ipv4Addr) {
    let socket = UdpSocket::bind("0.0.0.0:53").unwrap();
    std::thread::spawn(move || {
        let mut question = [0; 512];
        while let Ok((length, from)) = socket.recv_from(&mut question) {
            if let Some(answer) = answer(&question[..length], name, address) {
                let _ = socket.send_to(&answer, from);
            }
        }
    });
}

/// An answer; `None` for another name or a malformed query.
fn answer(question: &[u8], name: &str, address: Ipv4Addr) -> Option<Vec<u8>> {
    let (mut at, mut labels) = (HEAD, Vec::new());
    while let length @ 1.. = usize::from(*question.get(at)?) {
        labels.push(String::from_utf8_lossy(question.get(at + 1..at + 1 + length)?).into_owned());
        at += 1 + length;
    }
    if !labels.join(".").eq_ignore_ascii_case(name) {
        return None;
    }
    // The name's end, the type, the class.
    let end = at + 5;
    let is_of_ipv4 = *question.get(at + 2)? == 1;
    let mut answer = question.get(..end)?.to_vec();
    // A response with recursion available and no error; one question, and the answers.
    answer[2..HEAD].copy_from_slice(&[0x81, 0x80, 0, 1, 0, u8::from(is_of_ipv4), 0, 0, 0, 0]);
    if is_of_ipv4 {
        answer.extend_from_slice(&[0xc0, HEAD as u8, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4]);
        answer.extend_from_slice(&address.octets());
    }
    Some(answer)
}
