//! The compared systems.

use lab::Daemon;

use crate::pair::{GATEWAY, Node, Pair, Program, Role, STATION};

/// How packets are carried, and whether TCP knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    /// The tunnel without redundancy elimination.
    NoRe,
    /// Each segment is encoded and travels alone.
    IpRe,
    /// Encoded segments fill wire packets, and TCP's windows are larger by as many as go into one.
    Reboost,
    /// The letter's codec: whole chunks, named by their SHA-1. Each segment travels alone.
    IpReChunks,
    /// The same codec under what fills wire packets and tells senders.
    ReboostChunks,
    /// [`Reboost`](System::Reboost) for remote senders, whose connections end at the gateway.
    ReboostSplit,
    /// The default tunnel with repair of losses by the hop.
    Adaptive,
    /// The same, boosted.
    AdaptiveBoosted,
}

/// Windows of 32 bytes and every 16th fingerprint: the letter's file was left with .45 of its bytes.
const REDUCE: &str = "window_bytes = 32\nsample_bits = 4";
/// The letter's codec (section II-A), in chunks as short as it finds most by: boundaries at every 16th
/// position of a window of 32 bytes, chunks of 32 bytes at least.
const CHUNKS: &str = "form = \"hashed\"\nwindow_bytes = 32\nsample_bits = 4";

impl System {
    /// IP RE and REboost as printed, in the letter's codec, which its claims are judged on.
    pub const PRINTED: [Self; 2] = [Self::IpReChunks, Self::ReboostChunks];
    /// The same in our codec.
    pub const OURS: [Self; 2] = [Self::IpRe, Self::Reboost];

    /// What series call it.
    pub fn name(self) -> &'static str {
        match self {
            System::NoRe => "no RE",
            System::IpRe => "IP RE",
            System::Reboost => "REboost",
            System::IpReChunks => "IP RE, chunk-match",
            System::ReboostChunks => "REboost, chunk-match",
            System::ReboostSplit => "REboost, split",
            System::Adaptive => "default",
            System::AdaptiveBoosted => "default, boosted",
        }
    }

    fn reduce(self) -> String {
        match self {
            System::NoRe => "policy = \"off\"".to_owned(),
            System::IpRe | System::Reboost | System::ReboostSplit => format!("policy = \"acked\"\n{REDUCE}"),
            System::IpReChunks | System::ReboostChunks => format!("policy = \"acked\"\n{CHUNKS}"),
            System::Adaptive | System::AdaptiveBoosted => "policy = \"adaptive\"".to_owned(),
        }
    }

    fn boosts(self) -> bool {
        matches!(
            self,
            System::Reboost | System::ReboostChunks | System::ReboostSplit | System::AdaptiveBoosted
        )
    }

    /// The two nodes; the sender is at the gateway.
    pub fn daemons(self, pair: &Pair) -> Vec<Daemon> {
        let reduce = self.reduce();
        let program = match self {
            System::IpReChunks | System::ReboostChunks => Program::Laboratory,
            _ => Program::Shipped,
        };
        let tunnel = |own: u8, boost: &str| {
            format!("interface = \"oh0\"\naddresses = [\"10.80.0.{own}/24\", \"fd80::{own}/64\"]\n{boost}")
        };
        let allowed_ips = |other: u8| format!("\"10.80.0.{other}/32\", \"fd80::{other}/128\"");
        let node = |role, place, tunnel: &str, endpoint, allowed_ips: &str| {
            pair.node(&Node { role, place, tunnel, endpoint, allowed_ips, reduce: &reduce, program })
        };
        let boost = match self {
            System::ReboostSplit => "boost = true\n[split]",
            _ if self.boosts() => "boost = true",
            _ => "",
        };
        let beyond = format!("\"{}/32\", {}", Pair::far_server(), allowed_ips(1));
        vec![
            node(Role::Gateway, GATEWAY, &tunnel(1, boost), None, &allowed_ips(2)),
            node(Role::Station, STATION, &tunnel(2, ""), Some("10.77.0.1:4780"), &beyond),
        ]
    }
}
