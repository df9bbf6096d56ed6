//! Curve25519 that remembers its results: a search for faults repeats equal handshakes, and most of its time
//! goes into them. Only builds with `--cfg fuzzing` have it.

use snow::Error;
use snow::params::DHChoice;
use snow::resolvers::{CryptoResolver, DefaultResolver};
use snow::types::{Dh, Random};
use std::cell::RefCell;
use std::collections::HashMap;

/// Results that one thread remembers.
const MAX_RESULTS: usize = 4096;

type Key = [u8; 32];

thread_local! {
    /// By private key and point.
    static RESULTS: RefCell<HashMap<(Key, Key), Option<Key>>> = RefCell::default();
}

/// Stands for the curve's base point; as a point it is not canonical, and no key pair has it.
const BASE: Key = [0xff; 32];

/// The product of a private key and a point.
fn product(private: Key, point: Key) -> Option<Key> {
    RESULTS.with_borrow_mut(|results| {
        if results.len() >= MAX_RESULTS {
            results.clear();
        }
        *results.entry((private, point)).or_insert_with(|| {
            let mut dh = DefaultResolver.resolve_dh(&DHChoice::Curve25519)?;
            dh.set(&private);
            let mut result = [0; 32];
            if point == BASE {
                result.copy_from_slice(dh.pubkey());
            } else {
                dh.dh(&point, &mut result).ok()?;
            }
            Some(result)
        })
    })
}

/// A key pair.
#[derive(Default)]
pub struct Curve25519 {
    private: Key,
    public: Key,
}

impl Dh for Curve25519 {
    fn name(&self) -> &'static str {
        "25519"
    }

    fn pub_len(&self) -> usize {
        32
    }

    fn priv_len(&self) -> usize {
        32
    }

    fn set(&mut self, private: &[u8]) {
        self.private.copy_from_slice(private);
        self.public = product(self.private, BASE).expect("a private key has a public one");
    }

    fn generate(&mut self, rng: &mut dyn Random) -> Result<(), Error> {
        let mut private = [0; 32];
        rng.try_fill_bytes(&mut private)?;
        self.set(&private);
        Ok(())
    }

    fn pubkey(&self) -> &[u8] {
        &self.public
    }

    fn privkey(&self) -> &[u8] {
        &self.private
    }

    fn dh(&self, public: &[u8], out: &mut [u8]) -> Result<(), Error> {
        let point = public.get(..32).and_then(|key| key.try_into().ok()).ok_or(Error::Dh)?;
        let result = product(self.private, point).ok_or(Error::Dh)?;
        out.get_mut(..32).ok_or(Error::Dh)?.copy_from_slice(&result);
        Ok(())
    }
}
