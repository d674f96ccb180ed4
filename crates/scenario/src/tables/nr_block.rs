//! Keys of a transport block of an NR cell that method phy codes and decodes.

use super::base::{absent, json, named};
use crate::error::ScenarioError;
use crossfade_nr::ldpc::Schedule;
use crossfade_nr::{BlockChannel, BlockConfig, BlockSize, CodedModulation, McsTable, NrConfig};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Transport block of method phy, coded and decoded bit by bit. The cell gives MCS table, layers, HARQ, channel and
/// SNR.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NrBlock {
    /// MCS index of the block in the table of nr.mcs_table. Required unless nr.block.cqi is given.
    #[schemars(range(min = 0, max = 28))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcs: Option<u32>,

    /// Channel quality indicator (CQI) whose scheme the block has, in place of nr.block.mcs.
    #[schemars(range(min = 1, max = 15))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cqi: Option<u32>,

    /// Number of resource blocks of the transport block, which give its size. Its slot has the most symbols for data.
    #[schemars(range(min = 1, max = 275), extend("x-default" = "all of the carrier, with nr.block and without nr.block.bits"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prbs: Option<u32>,

    /// Size of the transport block in bits without checksums. Contradicts nr.block.prbs. The block takes as many
    /// symbols as its code rate needs.
    #[schemars(range(min = 24, max = 1_277_992))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bits: Option<u32>,

    /// Channel of the block's transmissions: that of the cell, or independent Rayleigh fading.
    #[schemars(extend("x-default" = "cell, with nr.block"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<NrBlockChannel>,

    /// Schedule of the sum-product decoder of the block's LDPC code.
    #[schemars(extend("x-default" = "layered, with nr.block"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decoder: Option<NrDecoder>,

    /// Largest number of iterations of the LDPC decoder.
    #[schemars(range(min = 1, max = 200), extend("x-default" = "20, with nr.block"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iterations: Option<u32>,
}

absent!(NrBlock);

/// Channel of the copies of a transport block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NrBlockChannel {
    /// Channel of nr.profile, with the Doppler frequency of the user and a HARQ RTT between transmissions.
    Cell,
    /// One Rayleigh gain for each transmission, independent of the others.
    Flat,
    /// One Rayleigh gain for each symbol, independent of the others, as behind an ideal interleaver.
    Interleaved,
}

/// Schedule of a sum-product decoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NrDecoder {
    /// Layer by layer: each layer of checks uses the results of earlier layers of the same iteration.
    Layered,
    /// All check nodes at once, then all bit nodes.
    Flooding,
}

impl NrBlock {
    /// Fills in the defaults of the transport block; `None` if the table is absent.
    pub(super) fn resolve(&mut self, cell: &NrConfig) -> Result<Option<BlockConfig>, ScenarioError> {
        if self.is_absent() {
            return Ok(None);
        }
        let scheme = self.scheme(cell.table)?;
        let size = match (self.prbs, self.bits) {
            (Some(_), Some(_)) => {
                let reason = "the resource blocks give the size";
                return Err(ScenarioError::contradiction("nr.block.bits", "nr.block.prbs", reason));
            }
            (None, Some(bits)) => BlockSize::Bits(bits),
            (prbs, None) => BlockSize::ResourceBlocks(*self.prbs.insert(prbs.unwrap_or(cell.prbs))),
        };
        let channel = match *self.channel.get_or_insert(NrBlockChannel::Cell) {
            NrBlockChannel::Cell => BlockChannel::Cell,
            NrBlockChannel::Flat => BlockChannel::Flat,
            NrBlockChannel::Interleaved => BlockChannel::Interleaved,
        };
        let schedule = match *self.decoder.get_or_insert(NrDecoder::Layered) {
            NrDecoder::Layered => Schedule::Layered,
            NrDecoder::Flooding => Schedule::Flooding,
        };
        let decoder = (schedule, *self.iterations.get_or_insert(20));
        let block = BlockConfig { scheme, size, channel, decoder };
        block.check(cell).map_err(|error| named("nr", &error))?;
        Ok(Some(block))
    }

    fn scheme(&self, table: McsTable) -> Result<CodedModulation, ScenarioError> {
        let number = table.number();
        let last = table.schemes().len() - 1;
        match (self.mcs, self.cqi) {
            (Some(_), Some(_)) => {
                let reason = "one of the two gives the scheme";
                Err(ScenarioError::contradiction("nr.block.cqi", "nr.block.mcs", reason))
            }
            (None, None) => {
                let what = format!("an index of MCS table {number}, 0 to {last}");
                Err(ScenarioError::missing("nr.block.mcs", &what))
            }
            (Some(mcs), None) => table.schemes().get(mcs as usize).copied().ok_or_else(|| {
                let problem = format!("must be between 0 and {last}, the indices of MCS table {number}");
                ScenarioError::value("nr.block.mcs", &json(mcs), problem)
            }),
            (None, Some(cqi)) => {
                let schemes = table.quality_indicators();
                (cqi as usize).checked_sub(1).and_then(|place| schemes.get(place)).copied().ok_or_else(|| {
                    let problem = format!("must be between 1 and {}", schemes.len());
                    ScenarioError::value("nr.block.cqi", &json(cqi), problem)
                })
            }
        }
    }
}
