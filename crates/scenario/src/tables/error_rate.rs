//! Words for losses by an error-rate table; separate from the channel, which would make a circular dependency.

use crossfade_phy as phy;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Fading of the SNR.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FadingWord {
    /// No fading, except shadowing.
    None,
    /// Flat Rayleigh fading: in time with fd_t (or speed and carrier), otherwise with an independent gain per
    /// transmission.
    Rayleigh,
}

/// Error rate of a block whose size is missing in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BlockSizesWord {
    /// 1 - (1 - p)^(n/m): n bytes are n/m blocks of the nearest size m, each of error rate p.
    Scaled,
    /// Error rate of the nearest size.
    Nearest,
}

impl From<BlockSizesWord> for phy::BlockSizes {
    fn from(word: BlockSizesWord) -> Self {
        match word {
            BlockSizesWord::Scaled => Self::Scaled,
            BlockSizesWord::Nearest => Self::Nearest,
        }
    }
}

/// Gray-labelled constellation of the mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum GrayModulation {
    /// 1 bit.
    #[serde(rename = "bpsk")]
    Bpsk,
    /// 2 bits.
    #[serde(rename = "qpsk")]
    Qpsk,
    /// 4 bits.
    #[serde(rename = "16-qam")]
    Qam16,
    /// 6 bits.
    #[serde(rename = "64-qam")]
    Qam64,
    /// 8 bits.
    #[serde(rename = "256-qam")]
    Qam256,
    /// 10 bits.
    #[serde(rename = "1024-qam")]
    Qam1024,
}

/// Combining of the receptions of a retransmitted frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CopiesWord {
    /// No combining of receptions.
    None,
    /// Chase combining: SNR values add up; where the table has curves per attempt, those are used.
    Chase,
}
