//! Words about losses by an error-rate table; apart from what they make of a channel, which would close a circle with it.

use crossfade_phy as phy;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the signal-to-noise ratio changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FadingWord {
    /// Not at all, but for shadowing.
    None,
    /// By flat Rayleigh fading: with fd_t (or speed and carrier) in time, without it each transmission has a gain of its own.
    Rayleigh,
}

/// The error rate of a block whose size is not in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BlockSizesWord {
    /// 1 - (1 - p)^(n/m): n bytes fare as n/m blocks of the nearest size m, each of which fails with probability p.
    Scaled,
    /// That of the nearest size.
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

/// A Gray labelled constellation.
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

/// How the receptions of a frame that is sent several times are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CopiesWord {
    /// Not at all.
    None,
    /// Their ratios add up (Chase combining); where the table has curves for each attempt, those are used.
    Chase,
}
