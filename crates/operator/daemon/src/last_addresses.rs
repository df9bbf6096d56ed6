//! Addresses of peers over a restart for a changed configuration.
//!
//! A gateway does not know where its stations are. After a restart on another port, they would look for it at
//! the old one. So the program that starts again gets their last addresses in its environment, and begins a
//! handshake with each. Nothing else is believed of them.

use node::PublicKey;
use std::net::SocketAddr;
use std::process::Command;

const VARIABLE: &str = "OVERHEARD_LAST_ADDRESSES";
/// The most addresses: a variable has at most 128 KiB.
const MOST: usize = 1000;

/// Gives them to the program that is executed again.
pub fn hand_on(peers: &[(PublicKey, SocketAddr)], command: &mut Command) {
    let words = peers.iter().take(MOST).map(|(key, address)| format!("{key}@{address}"));
    command.env(VARIABLE, words.collect::<Vec<_>>().join(" "));
}

/// Those of the program that ran before in this process.
pub fn handed_on() -> Vec<(PublicKey, SocketAddr)> {
    read(&std::env::var(VARIABLE).unwrap_or_default())
}

fn read(words: &str) -> Vec<(PublicKey, SocketAddr)> {
    let pair = |word: &str| {
        let (key, address) = word.split_once('@')?;
        Some((key.parse().ok()?, address.parse().ok()?))
    };
    words.split_ascii_whitespace().take(MOST).filter_map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_handed_on_and_nonsense_is_left_out() {
        let peers = [
            (PublicKey::from_bytes([1; 32]), "192.0.2.1:4780".parse().unwrap()),
            (PublicKey::from_bytes([2; 32]), "[2001:db8::1%3]:9".parse().unwrap()),
        ];
        let mut command = Command::new("true");
        hand_on(&peers, &mut command);
        let value = command.get_envs().next().unwrap().1.unwrap().to_str().unwrap().to_owned();
        assert_eq!(read(&format!("nonsense {value} a@b")), peers);
    }
}
