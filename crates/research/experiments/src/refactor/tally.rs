//! The results of a run in the paper's three metrics (section 5.3), and their components.

/// One run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tally {
    /// By station.
    pub stations: Vec<StationTally>,
}

/// What went to and from one station.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct StationTally {
    /// Transmissions to it, requests for missing chunks, replies and receipts.
    pub air_seconds: f64,
    /// Of that, receipts.
    pub receipt_seconds: f64,
    /// IP packets that reached it.
    pub packets: u64,
    /// Their bytes.
    pub packet_bytes: u64,
    /// Of these, payload.
    pub payload_bytes: u64,
    /// Payload as it was sent.
    pub encoded_bytes: u64,
    /// Payload that was not sent.
    pub removed_bytes: u64,
    /// Transmissions to it, repeated ones too.
    pub tries: u64,
    /// Those that it lost.
    pub lost: u64,
    /// Packets that it could not restore without asking.
    pub requests: u64,
    /// Packets that it restored to other bytes, where no MAC proves them.
    pub wrong: u64,
}

impl Tally {
    /// The paper's *total air time*: the time spent in transmission to any client, requests for missing
    /// chunks and their replies included. Receipts too, where there are any.
    #[must_use]
    pub fn air_seconds(&self) -> f64 {
        self.stations.iter().map(|station| station.air_seconds).sum()
    }

    /// The saved share of all payload, minus overhead.
    #[must_use]
    pub fn saved_share(&self) -> f64 {
        let sum = |of: fn(&StationTally) -> u64| self.stations.iter().map(of).sum::<u64>() as f64;
        1.0 - sum(|station| station.encoded_bytes) / sum(|station| station.payload_bytes).max(1.0)
    }
}

impl StationTally {
    /// The paper's *goodput of a client*, in bytes a second: what reached it, by the time in which it did.
    #[must_use]
    pub fn goodput(&self) -> f64 {
        self.packet_bytes as f64 / self.air_seconds.max(f64::MIN_POSITIVE)
    }

    /// The paper's *packet loss rate*.
    #[must_use]
    pub fn loss_rate(&self) -> f64 {
        self.lost as f64 / self.tries.max(1) as f64
    }
}
