//! Words for losses by an error-rate table, in a module apart from the channel to avoid a circular dependency.

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
    /// Error rate 1 - (1 - p)^(n/m): n bytes count as n/m blocks of the nearest size m with error rate p.
    Scaled,
    /// Error rate of the nearest size in the table.
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
    /// BPSK with 1 bit per symbol.
    #[serde(rename = "bpsk")]
    Bpsk,
    /// QPSK with 2 bits per symbol.
    #[serde(rename = "qpsk")]
    Qpsk,
    /// 16-QAM with 4 bits per symbol.
    #[serde(rename = "16-qam")]
    Qam16,
    /// 64-QAM with 6 bits per symbol.
    #[serde(rename = "64-qam")]
    Qam64,
    /// 256-QAM with 8 bits per symbol.
    #[serde(rename = "256-qam")]
    Qam256,
    /// 1024-QAM with 10 bits per symbol.
    #[serde(rename = "1024-qam")]
    Qam1024,
}

/// Combining of the receptions of a retransmitted frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CopiesWord {
    /// No combining of receptions.
    None,
    /// Chase combining: SNR values add up; curves per attempt are used if the table has them.
    Chase,
}
