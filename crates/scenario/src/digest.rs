//! Hashes as text.

use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// The first 32 hex digits.
pub(crate) fn hex(hash: Sha256) -> String {
    hash.finalize().iter().take(16).fold(String::with_capacity(32), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
