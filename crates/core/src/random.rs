//! Named random streams.
//!
//! Every consumer of randomness names its stream (`"channel.dl"`, `"mac.backoff.3"`). A stream depends on
//! (seed, run, name) and on nothing else: neither the thread that runs it nor a consumer added elsewhere can
//! shift its draws.
//!
//! With the feature `testing`, which only dev-dependencies enable, the environment variable `CROSSFADE_TEST_SALT` (a
//! whole number; no effect if 0 or unset) changes every stream. This reveals tests whose success depends on the seed.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_pcg::Pcg64;

/// Random number generator of one named stream: PCG XSL RR 128/64, seeded from `ChaCha8`.
pub type Stream = Pcg64;

/// Seed of an experiment and number of the run (replication) in it, which together determine all random streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RunSeed {
    /// Seed of the experiment, equal in all its runs.
    pub seed: u64,
    /// Number of the run (replication), counted from 0.
    pub run: u64,
}

impl RunSeed {
    /// Random stream named `name` of this run.
    pub fn stream(self, name: &str) -> Stream {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&salted(self.seed).to_le_bytes());
        key[8..16].copy_from_slice(&self.run.to_le_bytes());
        key[16..].copy_from_slice(&fnv1a_128(name.as_bytes()).to_le_bytes());
        // ChaCha spreads keys that differ in one bit over the whole state of the generator.
        let mut spread = ChaCha8Rng::from_seed(key);
        let mut state = [0; 32];
        spread.fill_bytes(&mut state);
        Pcg64::from_seed(state)
    }
}

#[cfg(not(any(test, feature = "testing")))]
fn salted(seed: u64) -> u64 {
    seed
}

#[cfg(any(test, feature = "testing"))]
fn salted(seed: u64) -> u64 {
    // An odd factor keeps different salts different, and a salt of 1 far from the seeds that a test counts through.
    seed ^ crate::testing::salt().wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// 128-bit FNV-1a hash (draft-eastlake-fnv), chosen since it never changes, unlike the hasher of `std`.
fn fnv1a_128(bytes: &[u8]) -> u128 {
    const OFFSET: u128 = 0x6c62272e07bb014262b821756295c58d;
    const PRIME: u128 = 0x0000000001000000000000000000013b;
    bytes.iter().fold(OFFSET, |hash, &byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;

    #[test]
    fn fnv_matches_its_published_vectors() {
        // Test vectors of draft-eastlake-fnv: the empty string, "a", "foobar".
        assert_eq!(fnv1a_128(b""), 0x6c62272e07bb014262b821756295c58d);
        assert_eq!(fnv1a_128(b"a"), 0xd228cb696f1a8caf78912b704e4a8964);
        assert_eq!(fnv1a_128(b"foobar"), 0x343e1662793c64bf6f0d3597ba446f18);
    }

    #[test]
    fn streams_are_fixed_for_all_time() {
        // A change here changes every result: raise the results version and say so in CHANGES.
        let mut stream = RunSeed { seed: 1, run: 0 }.stream("channel.dl");
        let draws: Vec<u64> = (0..3).map(|_| stream.next_u64()).collect();
        assert_eq!(draws == FIRST_DRAWS, crate::testing::salt() == 0, "{draws:?}");
    }
    const FIRST_DRAWS: [u64; 3] = [3204005541147436577, 8871243177027687509, 1224960616482202602];

    #[test]
    fn streams_of_other_names_runs_and_seeds_are_unrelated() {
        let base = RunSeed { seed: 1, run: 0 };
        let n = 10_000;
        let uniform = |seed: RunSeed, name: &str| -> Vec<f64> {
            let mut stream = seed.stream(name);
            (0..n).map(|_| stream.random::<f64>() - 0.5).collect()
        };
        let reference = uniform(base, "a");
        for other in [
            uniform(base, "b"),
            uniform(RunSeed { run: 1, ..base }, "a"),
            uniform(RunSeed { seed: 2, ..base }, "a"),
        ] {
            let correlation: f64 =
                12.0 * reference.iter().zip(&other).map(|(x, y)| x * y).sum::<f64>() / f64::from(n);
            // Four standard errors of a correlation of 10,000 independent pairs.
            assert!(correlation.abs() < 0.04, "correlation {correlation}");
        }
    }
}
