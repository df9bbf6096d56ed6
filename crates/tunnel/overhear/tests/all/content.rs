//! Content that repeats at other offsets, and its addressees.

use overhear::{AirTime, Association, Settings, StationId};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Settings of one network.
pub fn settings() -> Settings {
    Settings { slot_bits: 18, ..Settings::new([5; 32]) }
}

/// An association at 54 Mbit/s, with the station's own key.
pub fn association(station: StationId) -> Association {
    let rate_bits_per_second = 54_000_000;
    Association {
        slot_bits: 18,
        rate_bits_per_second,
        rate_is_known: false,
        air_time: AirTime::of_rate(rate_bits_per_second),
        mac_key: Some([station.0; 32]),
    }
}

/// Content from a seed.
pub struct Content {
    rng: ChaCha8Rng,
    objects: Vec<Vec<u8>>,
}

impl Content {
    pub fn new(seed: u64) -> Self {
        Content { rng: ChaCha8Rng::seed_from_u64(seed), objects: Vec::new() }
    }

    /// Bytes that occur for the first time.
    pub fn random(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.rng.fill_bytes(&mut bytes);
        bytes
    }

    /// A packet that is partly new, and partly from any place of an earlier object.
    pub fn packet(&mut self, rng: &mut ChaCha8Rng) -> Vec<u8> {
        while self.objects.len() < 40 {
            let object = self.random(20_000);
            self.objects.push(object);
        }
        if rng.random_bool(0.002) {
            let which = rng.random_range(0..self.objects.len());
            self.objects[which] = self.random(20_000);
        }
        let fresh = rng.random_range(0..700);
        let mut packet = self.random(fresh);
        let object = &self.objects[rng.random_range(0..self.objects.len())];
        let start = rng.random_range(0..object.len() - 1400);
        packet.extend_from_slice(&object[start..start + rng.random_range(0..=1400 - fresh)]);
        packet
    }
}
