//! Keys of a slotted cell with many users, whose channels are predicted: table `cell`.

use super::adaptation::{CellFeedback, OuterLoop};
use super::base::{absent, json, named, positive_time};
use super::error_rate::BlockSizesWord;
use super::prediction::{LevelKeys, Measured, Prediction};
use super::propagation::{ProfileKeys, ProfileWord, Shadowing};
use super::radio::{Radio, RadioSetup};
use super::scheduler::SchedulerWord;
use super::uplink::Uplink;
use crate::error::ScenarioError;
use crate::files::Files;
use crate::quantity::{FileName, Frequency, Retransmissions, Span};
use crossfade_cell::{Allocation, ArqConfig, CellConfig, UserConfig};
use crossfade_core::SimTime;
use crossfade_link::QueueLimit;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Slotted downlink in place of the link: adaptive OFDM, one flow for each user. The base station knows predictions
/// of the users' channels. A slot of the scenario is then a TTI of the cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Cell {
    /// System that gives the defaults of slot, symbols, bins, bin_width and carrier.
    #[schemars(extend("x-default" = "wip"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<Preset>,

    /// Carrier frequency of the cell. With the speed of a user it gives the Doppler frequency.
    #[schemars(extend("x-default" = "2 GHz; 3.5 GHz with preset \"nr-30k\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub carrier: Option<Frequency>,

    /// Duration of a TTI. Channels are constant within it.
    #[schemars(extend("x-default" = "666667 ns (wip), 1 ms (lte), 500 us (nr-30k)"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slot: Option<Span>,

    /// Payload symbols in one bin and TTI: the length of a frame.
    #[schemars(range(min = 1, max = 100_000), extend("x-default" = "108 (wip), 120 (lte), 132 (nr-30k)"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub symbols: Option<u32>,

    /// Number of frequency bins (resource blocks) of the band.
    #[schemars(range(min = 1, max = 1024), extend("x-default" = "25; 106 with preset \"nr-30k\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bins: Option<u32>,

    /// Bandwidth of a bin. Channels are constant within it.
    #[schemars(extend("x-default" = "200 kHz (wip), 180 kHz (lte), 360 kHz (nr-30k)"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bin_width: Option<Frequency>,

    /// Power delay profile of the channels.
    #[schemars(extend("x-default" = "typical-urban, without cell.delays_ns"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<ProfileWord>,

    /// Root mean square delay spread of TDL-A, TDL-B and TDL-C.
    #[schemars(extend("x-default" = "100 ns, with profile \"TDL-A\", \"TDL-B\" or \"TDL-C\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_spread: Option<Span>,

    /// Delays of a profile of your own in nanoseconds, in rising order. Contradicts cell.profile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delays_ns: Option<Vec<f64>>,

    /// Powers at the delays of delays_ns in dB; they are normalised to a sum of 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub powers_db: Option<Vec<f64>>,

    /// Log-normal shadowing along the path of a user.
    #[serde(skip_serializing_if = "Shadowing::is_absent")]
    pub shadowing: Shadowing,

    /// Allocation of bins to users: for good, or TTI by TTI.
    #[schemars(extend("x-default" = "scheduled"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allocation: Option<AllocationWord>,

    /// Scheduler that gives bins to users, with allocation "scheduled".
    #[schemars(extend("x-default" = "best-bin"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<SchedulerWord>,

    /// Number of bins, spread evenly, among which best-bin chooses.
    #[schemars(range(min = 1, max = 1024), extend("x-default" = "cell.bins, with scheduler \"best-bin\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub candidates: Option<u32>,

    /// Averaging window of the scheduler proportional-fair.
    #[schemars(extend("x-default" = "100 slots, with scheduler \"proportional-fair\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<Span>,

    /// Switch levels: the predicted SNR from which each modulation is used.
    #[serde(skip_serializing_if = "LevelKeys::is_absent")]
    pub levels: LevelKeys,

    /// File of error rates over SNR, in place of those of uncoded symbols. It is CSV with the columns mode (bpsk,
    /// qpsk, 16-qam, ... as in levels), snr_db and error_rate, and optionally bytes. Modulations missing in the file
    /// are not used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table: Option<FileName>,

    /// Error rate of a frame whose size is missing in the table.
    #[schemars(extend("x-default" = "scaled, with cell.table"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_sizes: Option<BlockSizesWord>,

    /// Channel prediction at the base station.
    #[serde(skip_serializing_if = "Prediction::is_absent")]
    pub prediction: Prediction,

    /// Delay and quantisation of reported predictions. Without this table the base station knows them at once and
    /// exactly.
    #[serde(skip_serializing_if = "CellFeedback::is_absent")]
    pub feedback: CellFeedback,

    /// Outer-loop link adaptation, which corrects predictions by frame outcomes. Without this table there is none.
    #[serde(skip_serializing_if = "OuterLoop::is_absent")]
    pub outer_loop: OuterLoop,

    /// ARQ of the cell's frames.
    #[serde(skip_serializing_if = "CellArq::is_absent")]
    pub arq: CellArq,

    /// Uplink in the cell's own bins and TTIs. Without this table ACKs take the links of `reverse`.
    #[serde(skip_serializing_if = "Uplink::is_absent")]
    pub uplink: Uplink,

    /// Radio of users whose flow has no radio table of its own.
    #[serde(skip_serializing_if = "Radio::is_absent")]
    pub radio: Radio,
}

/// ARQ of the cell's frames.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CellArq {
    /// Time after which a failed frame can be retransmitted.
    #[schemars(extend("x-default" = "3 slots"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Span>,

    /// Largest number of retransmissions of bits, or "unlimited". After the last their packets are lost.
    #[schemars(extend("x-default" = "infinity"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_retransmissions: Option<Retransmissions>,

    /// Whether a frame is split in two when the modulation has to go down. Otherwise it is retransmitted unchanged.
    #[schemars(extend("x-default" = "true"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split: Option<bool>,
}

absent!(Cell, CellArq);

/// System that gives the defaults of a cell's keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// The Wireless IP proposal of 2003: 1500 slots a second, 25 bins of 200 kHz.
    Wip,
    /// 5 MHz of LTE: subframes of 1 ms, resource blocks of 180 kHz, three symbols of control.
    Lte,
    /// 40 MHz of 5G NR at a subcarrier spacing of 30 kHz: slots of 500 us, resource blocks of 360 kHz.
    #[serde(rename = "nr-30k")]
    Nr30k,
}

/// Allocation of bins to users.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AllocationWord {
    /// Each user keeps one bin for the whole run.
    Static,
    /// Bins are allocated TTI by TTI.
    Scheduled,
}

/// Resolved cell with many users, apart from its seed.
#[derive(Clone, Debug)]
pub struct CellModel {
    /// Configuration of the cell, apart from its seed.
    pub config: CellConfig,
    /// Prediction horizon in slots; `None` if the scenario gives none.
    pub horizon_slots: Option<f64>,
    /// True if the scenario gives a prediction error or a prediction horizon.
    pub is_prediction_given: bool,
    /// Recorded channels (SNR traces) of users, by flow.
    pub recorded: Vec<Recorded>,
}

/// Recorded channel of a flow's users.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// Scenario key of the file, for messages.
    pub key: String,
    /// Time of the last row of the recording.
    pub lasts: SimTime,
    /// True if the recording repeats after its period.
    pub repeats: bool,
}

impl Cell {
    /// Fills in the values of the preset, and returns the duration of a slot.
    pub(crate) fn resolve_slot(&mut self) -> Result<SimTime, ScenarioError> {
        let preset = *self.preset.get_or_insert(Preset::Wip);
        let (slot, symbols, bins, bin_width, carrier) = match preset {
            Preset::Wip => (SimTime::from_nanos(666_667), 108, 25, 200e3, 2e9),
            Preset::Lte => (SimTime::from_millis(1), 120, 25, 180e3, 2e9),
            Preset::Nr30k => (SimTime::from_micros(500), 132, 106, 360e3, 3.5e9),
        };
        self.symbols.get_or_insert(symbols);
        self.bins.get_or_insert(bins);
        self.bin_width.get_or_insert(Frequency(bin_width));
        self.carrier.get_or_insert(Frequency(carrier));
        let given = *self.slot.get_or_insert(Span::exactly(slot));
        let slot = positive_time("cell.slot", given, slot)?;
        if (SimTime::from_micros(10)..=SimTime::from_millis(100)).contains(&slot) {
            Ok(slot)
        } else {
            Err(ScenarioError::value("cell.slot", &json(given), "must be between 10 us and 100 ms"))
        }
    }

    /// Fills in the defaults of a cell. `radios` holds, for each flow, the key of its radio table, the table, and the
    /// number of users.
    pub(crate) fn resolve(
        &mut self,
        slot: SimTime,
        radios: &mut [(String, &mut Radio, usize)],
        queue: Option<QueueLimit>,
        files: &Files<'_>,
    ) -> Result<CellModel, ScenarioError> {
        let profile = ProfileKeys {
            profile: &mut self.profile,
            delay_spread: &mut self.delay_spread,
            delays_ns: self.delays_ns.as_deref(),
            powers_db: self.powers_db.as_deref(),
        };
        let profile = profile.resolve(slot)?;
        let shadowing = self.shadowing.resolve("cell.shadowing")?;
        let allocation = self.resolve_allocation(slot)?;
        let bins = self.bins.unwrap_or_default() as usize;
        let uplink = self.uplink.resolve(slot, bins, (allocation, self.scheduler))?;
        let prediction = self.prediction.resolve(slot)?;
        let carrier_hz = self.carrier.map_or(0.0, |carrier| carrier.0);
        let symbols = self.symbols.unwrap_or_default();
        let feedback = self.feedback.resolve(slot)?;
        let outer_loop = self.outer_loop.resolve(self.levels.target_fer)?;
        let measured = self.resolve_table(files)?;
        let mut levels = self.levels.resolve(&mut self.prediction, symbols, measured.as_ref())?;
        let (mut users, mut recorded) = (Vec::new(), Vec::new());
        self.radio.check("cell.radio")?;
        for (table, radio, count) in radios {
            let radio = radio.resolve(table, &self.radio, slot, files)?;
            if let RadioSetup::Recorded { key, trace } = &radio {
                let (columns, bins) = (trace.columns(), self.bins.unwrap_or_default());
                if columns != 1 && columns != bins as usize {
                    let problem =
                        format!("{columns} ratios on a line: must be 1, or {bins}, the bins of the cell");
                    return Err(ScenarioError::key(key.clone(), problem));
                }
                recorded.push(Recorded { key: key.clone(), lasts: trace.lasts(), repeats: trace.repeats() });
            }
            for i in 0..*count {
                users.push(match &radio {
                    RadioSetup::Recorded { trace, .. } => UserConfig {
                        mean_snr_db: trace.mean_db(),
                        speed_mps: 0.0,
                        fd_t: 0.0,
                        nmse: 0.0,
                        levels: levels.of(0.0)?,
                        trace: Some(trace.clone()),
                    },
                    RadioSetup::Modelled(modelled) => {
                        let (mean_snr_db, speed_mps, fd_t) =
                            modelled.user(table, i, *count, carrier_hz, slot)?;
                        let nmse = prediction.nmse_of(fd_t, mean_snr_db);
                        let levels = levels.of(nmse)?;
                        UserConfig { mean_snr_db, speed_mps, fd_t, nmse, levels, trace: None }
                    }
                });
            }
        }
        let config = CellConfig {
            slot,
            symbols,
            bins,
            bin_width_hz: self.bin_width.map_or(0.0, |width| width.0),
            profile,
            shadowing,
            users,
            allocation,
            feedback,
            outer_loop,
            arq: self.arq.resolve(slot)?,
            queue,
            uplink,
        };
        config.check().map_err(|error| named("cell", &error))?;
        Ok(CellModel {
            config,
            horizon_slots: prediction.horizon_slots,
            is_prediction_given: prediction.is_given,
            recorded,
        })
    }

    /// Measured error rates of frames, with the name of their file; `None` for uncoded symbols.
    fn resolve_table(&mut self, files: &Files<'_>) -> Result<Option<Measured>, ScenarioError> {
        let Some(FileName(name)) = &self.table else {
            return match self.block_sizes {
                Some(_) => Err(ScenarioError::missing("cell.table", "a file, with cell.block_sizes")),
                None => Ok(None),
            };
        };
        let table = files.error_rates("cell.table", name)?;
        let sizes = (*self.block_sizes.get_or_insert(BlockSizesWord::Scaled)).into();
        Ok(Some(Measured { name: name.clone(), table, sizes }))
    }

    fn resolve_allocation(&mut self, slot: SimTime) -> Result<Allocation, ScenarioError> {
        if *self.allocation.get_or_insert(AllocationWord::Scheduled) == AllocationWord::Static {
            // In a sweep over allocations these keys are present at all points.
            (self.scheduler, self.candidates, self.window) = (None, None, None);
            return Ok(Allocation::Static);
        }
        let scheduler = *self.scheduler.get_or_insert(SchedulerWord::BestBin);
        if scheduler != SchedulerWord::BestBin {
            self.candidates = None;
        }
        if scheduler != SchedulerWord::ProportionalFair {
            self.window = None;
        }
        Ok(match scheduler {
            SchedulerWord::BestBin => {
                let all = self.bins.unwrap_or_default();
                Allocation::BestBin { candidates: *self.candidates.get_or_insert(all) as usize }
            }
            SchedulerWord::RoundRobin => Allocation::RoundRobin,
            SchedulerWord::MaxSinr => Allocation::MaxSinr,
            SchedulerWord::ProportionalFair => {
                let window = *self.window.get_or_insert(Span::exactly(slot * 100));
                let window = positive_time("cell.window", window, slot)?;
                Allocation::ProportionalFair {
                    window_slots: (window.as_nanos() as f64 / slot.as_nanos() as f64).max(1.0),
                }
            }
        })
    }
}

impl CellArq {
    fn resolve(&mut self, slot: SimTime) -> Result<ArqConfig, ScenarioError> {
        let delay = *self.delay.get_or_insert(Span::exactly(slot * 3));
        let time = positive_time("cell.arq.delay", delay, slot)?;
        let delay_slots = time.as_nanos().div_ceil(slot.as_nanos());
        if delay_slots > 1000 {
            return Err(ScenarioError::value("cell.arq.delay", &json(delay), "must be at most 1000 slots"));
        }
        let max_retransmissions = self.max_retransmissions.get_or_insert(Retransmissions(None)).0;
        Ok(ArqConfig { delay_slots, max_retransmissions, split: *self.split.get_or_insert(true) })
    }
}
